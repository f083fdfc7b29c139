"""The actual server count of a bot, as the operator sets it. Law: a number, or None if none is known."""

from core.state import State
from kinds.bots import BOTS


class NoCounts:
    """The source `none`: bots cannot update their server_count."""

    async def actual(self, ref: str) -> int | None:  # noqa: ARG002 (the protocol's signature)
        return None

    def missing(self, ref: str) -> str:  # noqa: ARG002 (the protocol's signature)
        return (
            "The bot cannot push server_count, only command_count: guild_counts.source is none. "
            "Set it to operator, http or platform in the gateway's settings."
        )

    def retry_seconds(self, ref: str) -> None:
        """Return None: nothing is on its way."""


class OperatorCounts:
    """The source `operator`: `PUT /manage/bots/{id}/actual-server-count` sets the counts."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def actual(self, ref: str) -> int | None:
        listing = self._state.listings.get(ref)
        return listing.actual if listing is not None else None

    def missing(self, ref: str) -> str | None:
        listing = self._state.listings.get(ref)
        if listing is not None and listing.actual is not None:
            return None
        return f"The bot cannot push server_count before its actual server count is set. {how_to_set(ref)}"

    def retry_seconds(self, ref: str) -> None:
        """Return None: nobody knows when the operator sets it."""


def how_to_set(ref: str) -> str:
    """Say to the operator how the count of a bot is set."""
    return (
        f"Set it: votegate admin counts {ref.removeprefix(BOTS.prefix)} <number>, "
        f'or PUT /manage/{ref}/actual-server-count with {{"server_count": <number>}}.'
    )
