"""Has this user voted? Law: an answer is a look-up and a subtraction."""

from typing import NamedTuple

from core.state import State


class VoteStatus(NamedTuple):
    """`vote` is the cumulative count, `last_ms` the last vote in Unix milliseconds, None for never."""

    voted: bool
    vote: int
    last_ms: int | None


NEVER = VoteStatus(voted=False, vote=0, last_ms=None)


def vote_status(state: State, ref: str, user: str, now_ms: int, window_ms: int) -> VoteStatus:
    """The user's standing with a listing. A vote counts while fewer than `window_ms` have passed."""
    vote = state.votes.get(ref, int(user))
    if vote is None:
        return NEVER
    count, last_ms = vote
    return VoteStatus(now_ms - last_ms < window_ms, count, last_ms)
