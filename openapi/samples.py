"""Requests as commands and programs, made from the document. Invariant: a sample needs only its language, and
no secret is written in it.

A sample takes the address of the gateway and the secret from the environment: `API`, and `API_KEY` or
`OPERATOR_TOKEN`. It fails if the gateway refuses.
"""

import json
import re
from collections.abc import Callable, Mapping
from shlex import quote
from typing import Any, NamedTuple
from urllib.parse import urlencode

from handlers.reply import JSON
from openapi.lookup import Node, found

FILE = "picture.png"
"""The file that a sample sends."""
SAVED = "backup"
"""The file that a sample writes, if the answer is no text."""
LONGEST_LINE = 40


class SampleRequest(NamedTuple):
    """A request with the values of the document's examples.

    Args:
        body: None for a request without one.
        secret: the variable with the secret; empty for a request that needs none.
        scheme: the word before the secret in `Authorization`, with its space.
        media_type: the type of the answer.
    """

    method: str
    target: str
    body: Any
    takes_file: bool
    secret: str
    scheme: str
    media_type: str

    @property
    def headers(self) -> Mapping[str, str]:
        """The header of the body."""
        return {"Content-Type": JSON} if self.body is not None else {}


def sample_of(document: Node, method: str, path: str, operation: Node) -> SampleRequest:
    """Return the request of an operation, without its optional parameters."""
    query = {}
    for parameter in operation.get("parameters", ()):
        each = found(document, parameter)
        if each["in"] == "path":
            path = path.replace(f"{{{each['name']}}}", each["example"])
        elif each["required"]:
            query[each["name"]] = each["example"]
    content = operation.get("requestBody", {"content": {}})["content"]
    examples = content.get(JSON, {}).get("examples", {})
    body = next((found(document, each)["value"] for each in examples.values()), None)
    schemes = [scheme for either in operation["security"] for scheme in either]
    secret, scheme = _SECRETS[schemes[0]] if schemes else ("", "")
    answer = next(each for status, each in operation["responses"].items() if status < "300")
    return SampleRequest(
        method,
        f"{path}?{urlencode(query)}" if query else path,
        body or None,
        takes_file=bool(content) and JSON not in content,
        secret=secret,
        scheme=scheme,
        media_type=next(iter(answer["content"])),
    )


_SECRETS: Mapping[str, tuple[str, str]] = {
    "apiKey": ("API_KEY", ""),
    "operator": ("OPERATOR_TOKEN", "Bearer "),
}


def curl(sample: SampleRequest) -> str:
    method = f" -X {sample.method}" if sample.method != "GET" else ""
    lines = [f"curl --fail-with-body{method}", f'"$API{sample.target}"']
    if sample.secret:
        lines.append(f'-H "Authorization: {sample.scheme}${sample.secret}"')
    lines += [f"-H '{name}: {value}'" for name, value in sample.headers.items()]
    if sample.takes_file:
        lines.append(f"--data-binary @{FILE}")
    if sample.body is not None:
        lines.append(f"-d {quote(_json(sample.body, 2))}")
    if not _is_text(sample):
        lines.append(f"-o {SAVED}")
    return " \\\n  ".join(lines)


def python(sample: SampleRequest) -> str:
    headers = [f'"{name}": "{value}"' for name, value in sample.headers.items()]
    if sample.secret:
        scheme = f'"{sample.scheme}" + ' if sample.scheme else ""
        headers.insert(0, f'"Authorization": {scheme}os.environ["{sample.secret}"]')
    address = f'os.environ["API"] + {json.dumps(sample.target)}'
    lines = [f'    method="{sample.method}",'] if sample.method != "GET" else []
    if headers:
        lines += ["    headers={", *(f"        {each}," for each in headers), "    },"]
    if sample.body is not None:
        lines.append(f"    data=json.dumps({_indented(_python(sample.body), 4)}).encode(),")
    if sample.takes_file:
        lines.append(f'    data=Path("{FILE}").read_bytes(),')
    is_json = sample.media_type == JSON
    imports = ["import json"] if is_json or sample.body is not None else []
    read = "json.load(answer)" if is_json else "answer.read().decode()"
    does = f"print({read})" if _is_text(sample) else f'Path("{SAVED}").write_bytes(answer.read())'
    return "\n".join(
        (
            *imports,
            "import os",
            *(["from pathlib import Path"] if sample.takes_file or not _is_text(sample) else ()),
            "from urllib.request import Request, urlopen",
            "",
            *(("request = Request(", f"    {address},", *lines, ")") if lines else (f"request = {address}",)),
            "with urlopen(request, timeout=30) as answer:",
            f"    {does}",
        )
    )


def node(sample: SampleRequest) -> str:
    headers = [f'"{name}": "{value}"' for name, value in sample.headers.items()]
    if sample.secret:
        value = f"process.env.{sample.secret}"
        value = f"`{sample.scheme}${{{value}}}`" if sample.scheme else value
        headers.insert(0, f"Authorization: {value}")
    lines = [f'  method: "{sample.method}",'] if sample.method != "GET" else []
    if headers:
        lines += ["  headers: {", *(f"    {each}," for each in headers), "  },"]
    if sample.body is not None:
        lines.append(f"  body: JSON.stringify({_indented(_json(sample.body, 2), 2)}),")
    if sample.takes_file:
        lines.append(f'  body: await readFile("{FILE}"),')
    used = [*(["readFile"] if sample.takes_file else ()), *([] if _is_text(sample) else ["writeFile"])]
    read = "await answer.json()" if sample.media_type == JSON else "await answer.text()"
    saved = f'await writeFile("{SAVED}", Buffer.from(await answer.arrayBuffer()));'
    options = f", {{\n{chr(10).join(lines)}\n}}" if lines else ""
    return "\n".join(
        (
            *([f'import {{ {", ".join(used)} }} from "node:fs/promises";', ""] if used else ()),
            f"const answer = await fetch(`${{process.env.API}}{sample.target}`{options});",
            "if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);",
            f"console.log({read});" if _is_text(sample) else saved,
        )
    )


LANGUAGES: Mapping[str, tuple[str, Callable[[SampleRequest], str]]] = {
    "curl": ("curl", curl),
    "python": ("Python", python),
    "node": ("Node", node),
}
"""The languages of samples: their names, and the functions that write them."""


def _is_text(sample: SampleRequest) -> bool:
    return sample.media_type == JSON or sample.media_type.startswith("text/")


def _json(value: Any, spaces: int, depth: int = 0) -> str:
    """Return JSON. A list or an object that is too long for a line has a line for each part."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + depth * spaces <= LONGEST_LINE or not isinstance(value, dict | list):
        return line
    keys = [f"{json.dumps(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    parts = value.values() if isinstance(value, dict) else value
    lines = [f"{key}{_json(part, spaces, depth + 1)}" for key, part in zip(keys, parts, strict=True)]
    first, last = "{}" if isinstance(value, dict) else "[]"
    margin = "\n" + " " * spaces * depth
    return first + ",".join(f"{margin}{' ' * spaces}{each}" for each in lines) + margin + last


_PYTHON = {"true": "True", "false": "False", "null": "None"}


def _python(value: Any) -> str:
    """Return a value as Python writes it. Texts are the same as in JSON."""
    return re.sub(
        r'"(?:[^"\\]|\\.)*"|true|false|null', lambda found: _PYTHON.get(found[0], found[0]), _json(value, 4)
    )


def _indented(text: str, spaces: int) -> str:
    return text.replace("\n", "\n" + " " * spaces)
