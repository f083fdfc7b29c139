"""The stories of clients/stories.json, as the runners read them."""

import base64
import json
from pathlib import Path
from typing import Any

Story = dict[str, Any]

CLIENTS = Path(__file__).parent.parent.parent / "clients"
BOOK = json.loads((CLIENTS / "stories.json").read_text())
DEFAULTS: dict[str, Any] = BOOK["defaults"]
STORIES: list[Story] = BOOK["stories"]
NOW: int = DEFAULTS["now"]


def of_python(side: str) -> list[Story]:
    """Return the stories of a side that Python clients have."""
    return [
        each for each in STORIES if each["side"] == side and "python" in each.get("languages", ["python"])
    ]


def named(name: str) -> Story:
    return next(each for each in STORIES if each["name"] == name)


def client_options(story: Story) -> dict[str, Any]:
    """Return key, bot_id, timeout, longest_wait and base_url; `{address}` is the server's address."""
    return {"base_url": "{address}", **DEFAULTS["client"], **story.get("options", {})}


def body_bytes(body: str | dict[str, Any]) -> bytes:
    """Return the body of a delivery."""
    if isinstance(body, str):
        return body.encode()
    if "base64" in body:
        return base64.b64decode(body["base64"])
    return f"{body['before']}{'x' * body['filler']}{body['after']}".encode()


def header_lines(headers: dict[str, str | list[str]]) -> list[tuple[str, str]]:
    """Return one line for each header, and for each value of a list."""
    return [
        (name, value)
        for name, values in headers.items()
        for value in ([values] if isinstance(values, str) else values)
    ]
