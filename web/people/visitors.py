"""Users who have signed in, as pages see them. Law: a page knows no value of a session."""

from typing import Protocol

from msgspec import Struct

from chatplatform.answers import PlatformUser
from languages.language_names import Language


class Person(Struct, frozen=True):
    """A user with a session.

    Args:
        language: that of the account at the platform, if it is one of ours.
        session_digest: names the session among those of the user.
        signed_in_ms: when the session began (Unix milliseconds).
        reminders: how many the user has not seen yet.
    """

    id: str
    name: str
    avatar_url: str | None
    is_moderator: bool
    language: Language | None
    session_digest: str
    signed_in_ms: int
    reminders: int = 0


class People(Protocol):
    """The users and their sessions."""

    def known(self, value: str | None) -> Person | None:
        """Return who has a session of this value. None for a value that is of no session any more."""

    async def sign_in(self, user: PlatformUser, label: str, ends: str | None) -> str:
        """Open a session and return its value, once that is durable.

        Raises Unavailable, and the refusals of the rules on users.

        Args:
            label: the browser, as the user will recognise it.
            ends: the value that the browser had before; its session ends.
        """

    async def sign_out(self, value: str | None) -> None:
        """End the session of this value, if there is one. Raises Unavailable."""
