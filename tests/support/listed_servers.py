"""Servers that people list through the pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.platform_stand_in import ADA, BOT_TOKEN, GOOD_SERVER

NEW = "/servers/new"
TYPED: dict[str, Any] = {
    "id": GOOD_SERVER,
    "name": "Ada's workshop",
    "description": "Where things are made.",
    "keywords": "tools\nwood",
    "category": "Community",
}
"""The fields of the form, filled in."""


@contextmanager
def serving_servers(folder: Path, **settings: object) -> Iterator[PeopleGateway]:
    """Serve with a bot token."""
    with serving(folder, **{"chat_platform.bot_token": BOT_TOKEN, **settings}) as gateway:
        yield gateway


def reader(gateway: PeopleGateway, user: str = ADA) -> Person:
    """Sign a user in, which reads the user's list of servers. Return the browser."""
    gateway.clock.advance(600)  # also past every limit of the user
    person = gateway.person(None)
    assert person.sign_in_as(user, NEW).headers["Location"] == NEW
    return person


def unlist(gateway: PeopleGateway, *servers: str) -> None:
    for server in servers:
        gateway.operate("DELETE", f"/manage/servers/{server}")


def listed(
    gateway: PeopleGateway, server: str = GOOD_SERVER, *, decision: str | None = None, **typed: str
) -> Person:
    """Remove a server and list it again through the pages. Return the browser of its owner."""
    unlist(gateway, server)
    person = reader(gateway)
    answer = person.post(NEW, {**TYPED, "id": server, **typed})
    assert answer.status_code == 303, answer.text
    if decision is not None:
        gateway.done("POST", f"/manage/servers/{server}/{decision}", {})
    return person


def shown(gateway: PeopleGateway, server: str = GOOD_SERVER) -> Any:
    return gateway.done("GET", f"/manage/servers/{server}")


def outcomes(gateway: PeopleGateway, server: str = GOOD_SERVER) -> dict[str, str]:
    return {each["name"]: each["outcome"] for each in shown(gateway, server)["eligibility"]["checks"]}
