"""The actual server count of a bot, as the operator sets it. Law: a number, or None if none is known."""

from core.rows import BOTS
from core.state import State


class NoCounts:
    """The source `none`: bots cannot update their server_count."""

    async def actual(self, ref: str) -> int | None:  # noqa: ARG002 (the protocol's signature)
        return None

    def missing(self, ref: str) -> str:  # noqa: ARG002 (the protocol's signature)
        return (
            "The bot cannot push server_count, only command_count: guild_counts.source is none. "
            "Set it to operator or to http in the gateway's settings."
        )


class OperatorCounts:
    """The source `operator`: `PUT /manage/bots/{id}/actual-server-count` sets the counts."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def actual(self, ref: str) -> int | None:
        listing = self._state.listings.get(ref)
        return listing.actual_server_count if listing is not None else None

    def missing(self, ref: str) -> str | None:
        listing = self._state.listings.get(ref)
        if listing is not None and listing.actual_server_count is not None:
            return None
        return (
            "The bot cannot push server_count before its actual server count is set. "
            f"Set it: votegate admin counts {ref.removeprefix(BOTS)} <number>, "
            f'or PUT /manage/{ref}/actual-server-count with {{"server_count": <number>}}.'
        )
