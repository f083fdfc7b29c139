"""A bot whose description has images, and a site of others that serves them over https."""

import re
from typing import Any

import requests

from tests.support.gateways import BOT, BOT_SUBMISSION, Client
from tests.support.page_visitor import PageVisitor

BOT_PAGE = f"/bots/{BOT}"
_IMAGE = re.compile(r'<img src="(/bots/[^"]+/images/[0-9a-f]{32})"([^>]*)>')


def describe(gateway: Client, *urls: str, bot: str = BOT) -> None:
    """Give a listed bot a description with these images."""
    images = " ".join(f"![picture {number}](<{url}>)" for number, url in enumerate(urls))
    form: dict[str, Any] = {
        **BOT_SUBMISSION,
        "description": f"A bot with many pictures in its text.\n\n{images}",
    }
    del form["id"]
    gateway.done("PUT", f"/manage/bots/{bot}", form)


def shown_images(gateway: Client, path: str = BOT_PAGE) -> list[str]:
    """Return the paths of the images that a page shows from the gateway."""
    return [found[0] for found in _IMAGE.findall(page(gateway, path).text)]


def page(gateway: Client, path: str = BOT_PAGE) -> requests.Response:
    answer = PageVisitor(gateway).get(path)
    assert answer.status_code == 200
    return answer
