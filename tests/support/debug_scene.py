"""A gateway with something to see on every debug page."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from operators.operator_site import PAGES
from tests.support.contract import set_webhook, users, webhook
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OTHER_BOT,
    OWNER,
    SERVER,
    USER,
    ThreadGateway,
    eventually,
    running,
)
from tests.support.webhook_receiver import Receiver, status

NEW_BOT = "777777777777777777"
LONG_NAME = "A bot with quite a long name, as some of them are"
DESCRIPTION = f"""
## Music for **everyone**

Plays ~~anything~~ what you like, see [its site](https://bot.example), http://bot.example and
https://bot.example/{"a-long-path/" * 20}. ![A screenshot](https://bot.example/screenshot.png)

#### Commands

| command | what it does |{" column |" * 12}
| ------- | -----------: |{" -: |" * 12}
| `/play` | plays a {"very" * 20} long name |
| `/stop` | stops |

```python
print("{"a line that is too long for a phone " * 6}")
```

> 1. A quote
>    * with a list

# The end
"""


@contextmanager
def filled_scene(folder: Path, receiver: Receiver, **settings: object) -> Iterator[ThreadGateway]:
    """Serve a bot whose endpoint is suspended, one in review, one with limits, a server, a user under
    quarantine, and some calls."""
    own: dict[str, Any] = {"webhooks.retries": 0, "webhooks.suspend_after": 3, **settings}
    with running(folder, **own) as gateway:
        key = gateway.list_bot()
        gateway.list_bot(OTHER_BOT)
        gateway.list_server()
        submission = {**BOT_SUBMISSION, "id": NEW_BOT, "name": LONG_NAME, "description": DESCRIPTION}
        gateway.done("POST", "/manage/bots", submission)
        limits = {"voters": {"requests": 1_000, "window_seconds": 300}}
        gateway.done("PUT", f"/manage/bots/{OTHER_BOT}/limits", limits)
        set_webhook(gateway, f"{receiver.url}/votes", token="token-of-the-owner")
        gateway.cast(OWNER)
        eventually(lambda: webhook(gateway)["pending"] == 0)
        suspend_all(gateway, receiver)
        gateway.cast(USER)
        gateway.cast(USER, f"/manage/servers/{SERVER}")
        gateway.stats(key, {"server_count": 1_000, "commands_count": 3})
        for user in (USER, OWNER, "1"):
            gateway.voters(key, user=user)
        gateway.voters("vg_wrong")
        gateway.done("PUT", f"/manage/users/{USER}/moderator")
        gateway.done("PUT", f"/manage/users/{USER}/quarantines/submit", {"reason": "Sent a bot three times."})
        logging.getLogger("votegate").error("something that went wrong, to be shown")
        yield gateway


def suspend_all(gateway: ThreadGateway, receiver: Receiver) -> None:
    """Let three events of the bot fail, so that its endpoint is suspended."""
    receiver.default = status(500)
    for user in users(3):
        gateway.cast(user)
    eventually(lambda: webhook(gateway)["suspension"])
    receiver.default = status(204)


def paths() -> list[str]:
    """The pages of the scene."""
    ids = {
        "/debug/users/{id}": [f"/debug/users/{USER}"],
        "/debug/listings/{kind}/{id}": [
            f"/debug/listings/bots/{BOT}",
            f"/debug/listings/bots/{NEW_BOT}",
            f"/debug/listings/servers/{SERVER}",
        ],
        "/debug/find": ["/debug/find?q=bot"],
    }
    asked = [row.path for row in PAGES if row.method == "GET" and row.path != "/debug/live"]
    found = [path for row in asked if "{" not in row or row in ids for path in ids.get(row, [row])]
    questions = [f"/debug/listings/bots/{BOT}/{slug}" for slug in ("limits", "counts", "probe")]
    return [*found, *questions, f"/debug/listings/bots/{NEW_BOT}/deny"]
