"""Applications at the chat platform, as pages show them. Law: a user asks a few times a minute."""

from typing import NamedTuple

from chatplatform.answers import PlatformApplication, application_icon_url, created_ms
from chatplatform.platform_client import ChatPlatform, Told
from core.clock import Clock
from core.rows import Policy
from languages.texts import Text
from web.people.user_limit import UserLimit

LOOK_UPS = Policy(5, 60)
"""How often a user may have an application looked up."""


AWAY = Text("The chat platform gives no answer that can be used right now. Try again in a moment.")
NO_APPLICATION = Text("The chat platform knows no application with this id any more.")


class ApplicationCard(NamedTuple):
    """What is known of an application, and when the platform said it (Unix milliseconds)."""

    application: PlatformApplication
    icon_url: str | None
    created_ms: int
    at_ms: int


class Applications:
    """Looks applications up.

    Args:
        cdn_url: where the chat platform has its pictures.
    """

    def __init__(self, platform: ChatPlatform, clock: Clock, cdn_url: str) -> None:
        self._platform = platform
        self._cdn_url = cdn_url
        self._limit = UserLimit(LOOK_UPS, clock)

    async def ask(self, user_id: str, application_id: str, *, anew: bool = False) -> Told:
        """Return what the platform says of an application.

        Args:
            user_id: who wants to know.
            anew: true to ask even if the platform has answered recently.

        Raises PlatformAway, and TooMany for a user who asks too often.
        """
        self._limit.take(user_id)
        return await self._platform.application(application_id, refresh=anew)

    def card(self, application_id: str) -> ApplicationCard | None:
        """Return what the platform last said; None if it said nothing, or knows no such application."""
        told = self._platform.last_answer(application_id)
        if told is None or told.application is None:
            return None
        icon_url = application_icon_url(self._cdn_url, told.application)
        return ApplicationCard(told.application, icon_url, created_ms(application_id), told.at_ms)
