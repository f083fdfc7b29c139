"""What the deliveries of a webhook say of a vote: was its bot or server told? Law: what they do not say is
called unknown.
"""

from typing import Literal, NamedTuple

from actions.deliveries import text_of_error
from core.rows import Listing
from core.state import State
from languages.texts import Text, Words

_SAID_TO_VOTERS = frozenset({"expired", "overflow"})
SOONEST_SECONDS, LATEST_SECONDS = 2, 60

ToldState = Literal["no webhook", "waiting", "held", "retrying", "told", "failed", "unknown", "no vote"]


class Telling(NamedTuple):
    """The outcome of the delivery of a vote, so far.

    `held` means that its endpoint is suspended. `at_ms` is the time of the last attempt, or of the next one
    while it is retried (Unix ms).
    """

    state: ToldState
    at_ms: int | None = None
    status: int | None = None
    error: str | None = None

    @property
    def is_open(self) -> bool:
        return self.state in {"waiting", "held", "retrying"}


NOT_TOLD = Telling("no vote")


def telling_of(state: State, row: Listing, user: str, cast_ms: int) -> Telling:
    """Return the outcome of the delivery of the user's latest vote, which was cast at that time."""
    found = state.deliveries.of_vote(row.ref, user, cast_ms)
    if found is None:
        is_told = row.webhook is not None and "vote" in row.webhook.taken
        return Telling("unknown" if is_told else "no webhook")
    last = found.attempts[-1] if found.attempts else None
    status = last.status if last is not None else None
    error = found.dropped or (last.error if last is not None else None)
    if found.state != "pending":
        at_ms = last.at_ms if last is not None else found.dropped_ms
        return Telling("told" if found.state == "delivered" else "failed", at_ms, status, error)
    if row.webhook is not None and row.webhook.suspension is not None:
        return Telling("held")
    return Telling("waiting") if last is None else Telling("retrying", found.next_attempt_ms, status, error)


def look_again_seconds(cast_ms: int, now_ms: int) -> int:
    """Return when a page looks again whether the owner was told: soon, and the later the older the vote. So
    a page that stays open for hours costs nothing."""
    return min(max((now_ms - cast_ms) // 4_000, SOONEST_SECONDS), LATEST_SECONDS)


def text_for_voters(error: str | None) -> Words:
    """Return the text of an error of a delivery for people who can do nothing about it."""
    if error is not None and (error in _SAID_TO_VOTERS or error.startswith("http_")):
        return text_of_error(error)
    return Text("no answer came")
