"""A whole gateway with pages for people, a stand-in for the chat platform, and browsers that sign in."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import requests

from tests.support.cutting_proxy import held_port
from tests.support.gateways import ThreadGateway
from tests.support.page_visitor import PageVisitor
from tests.support.platform_stand_in import (
    ADA,
    CLEO,
    CLIENT_ID,
    CLIENT_SECRET,
    StandIn,
    decided_at,
    standing_in,
)

FROM_PLATFORM = {"Sec-Fetch-Site": "cross-site"}


class PeopleGateway(ThreadGateway):
    """Cleo moderates."""

    stand_in: StandIn

    def person(self, user: str | None = ADA) -> "Person":
        """Return a browser of the user, signed in; None for a stranger's."""
        person = Person(self)
        if user is not None:
            assert person.sign_in_as(user).status_code == 303
        return person


class Person(PageVisitor):
    """A browser that signs in at the stand-in."""

    def started(self, to: str = "/") -> str:
        """The address at the platform to which a new sign-in leads."""
        answer = self.post("/signin", {"to": to})
        assert answer.status_code == 303, answer.text
        return answer.headers["Location"]

    def come_back(self, address: str) -> requests.Response:
        parts = urlsplit(address)
        return self.request("GET", f"{parts.path}?{parts.query}", FROM_PLATFORM)

    def sign_in_as(self, user: str = ADA, to: str = "/", decision: str = "approve") -> requests.Response:
        return self.come_back(decided_at(self.started(to), user, decision))


def site_settings(public_url: str, stand_in: StandIn) -> dict[str, object]:
    return {
        "web.public_url": public_url,
        "web.moderators": CLEO,
        "web.acts_per_minute": 10_000,
        "server.kept_bytes": 0,  # a test sees each change at once
        "chat_platform.authorize_url": stand_in.authorize_url,
        "chat_platform.api_url": f"{stand_in.url}/api/v10",
        "chat_platform.cdn_url": stand_in.url,
        "chat_platform.invite_url": f"{stand_in.url}/join",
        "chat_platform.template_url": f"{stand_in.url}/use",
        "chat_platform.client_id": CLIENT_ID,
        "chat_platform.client_secret": CLIENT_SECRET,
        "chat_platform.cache_seconds": 0,
    }


@contextmanager
def serving(folder: Path, **settings: object) -> Iterator[PeopleGateway]:
    held = held_port()
    port = held.getsockname()[1]
    public_url = f"http://127.0.0.1:{port}"
    with standing_in(f"{public_url}/signin/callback") as stand_in:
        own = {"server.port": port, **site_settings(public_url, stand_in)}
        gateway = PeopleGateway(folder, **{**own, **settings})
        gateway.stand_in = stand_in
        try:
            gateway.start()
            yield gateway
        finally:
            gateway.stop()
            held.close()
