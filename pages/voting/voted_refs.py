"""The listings that a person may have voted for. Invariant: only one full search runs at a time."""

import asyncio

from handlers.slices import in_slices
from votes.voted import VotedListings


class VotedRefs:
    """Knows them, or searches for them once.

    Args:
        voted: remembers what users have voted for.
    """

    def __init__(self, voted: VotedListings) -> None:
        self._voted = voted
        self._turn = asyncio.Lock()

    async def of(self, user_id: str) -> set[str]:
        """Return the refs of the listings."""
        known = self._voted.known(user_id)
        if known is not None:
            return known
        async with self._turn:
            known = self._voted.known(user_id)  # another request of this user may have searched meanwhile
            if known is not None:
                return known
            with self._voted.search(user_id) as search:
                await in_slices(search.slices())
            return search.refs
