"""All that the stand-in remembers while it runs."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from stand_in.known import BOT_TOKEN, CLIENT_ID, CLIENT_SECRET, READY_BOT, SERVERS, application


@dataclass
class Grant:
    """What a user has allowed: a code that was not exchanged yet."""

    user_id: str
    redirect_uri: str
    scope: str
    challenge: str | None
    until: float


@dataclass
class Message:
    """A direct message. `shown` is what the API answers."""

    to: str
    nonce: str | None
    at: float
    shown: dict[str, Any]


@dataclass
class Platform:
    """All that the stand-in knows."""

    redirect_uris: tuple[str, ...]
    client_id: str = CLIENT_ID
    client_secret: str = field(default=CLIENT_SECRET, repr=False)
    applications: dict[str, dict[str, Any]] = field(default_factory=dict)
    directory: dict[str, int | None] = field(default_factory=lambda: {READY_BOT: 1_200})
    """How many servers each application is in that is in the directory."""
    servers: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {each["id"]: dict(each) for each in SERVERS}
    )
    codes: dict[str, Grant] = field(default_factory=dict)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    """(user, scope) of each access token."""
    bot_token: str = field(default=BOT_TOKEN, repr=False)
    channels: dict[str, str] = field(default_factory=dict)
    """The user of each channel of direct messages."""
    messages: list["Message"] = field(default_factory=list)
    allowed: set[str] = field(default_factory=set)
    """Users who have said yes before."""
    faults: list[tuple[str, str]] = field(default_factory=list)
    """(path, fault) of answers to come."""
    asked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for each in (
            application(1, "Ready bot"),
            application(2, "Private bot", bot_public=False),
            application(3, "Silent bot", flags=0),
            application(4, "No bot", bot_public=None, bot_require_code_grant=None),
            application(5, "Fresh bot"),
        ):
            shown = {name: value for name, value in each.items() if value is not None or name == "type"}
            self.applications[each["id"]] = shown

    def fault(self, path: str) -> str | None:
        """Return how the answer for this path goes wrong, if it does."""
        for index, (faulty, fault) in enumerate(self.faults):
            if faulty == path:
                del self.faults[index]
                return fault
        return None
