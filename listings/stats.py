"""The counts that a bot pushes. Invariant: an update with one wrong field changes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from core.events import StatsUpdated
from core.rows import Listing, StatsWindow
from core.state import State
from kinds.registry import PUSHED
from languages.refusals import Refusal
from listings.rules import listing_of

_ServerCount = Annotated[
    int,
    Meta(
        ge=0,
        le=PUSHED["server_count"],
        description=(
            "The number of servers that the bot is in. It must not differ from the actual count by "
            "more than the larger of $max_difference and 10% of the actual count."
        ),
    ),
]
_CommandCount = Annotated[
    int, Meta(ge=0, le=PUSHED["command_count"], description="The number of the bot's commands.")
]


class StatsBody(Struct):
    """The bodies that `read_stats` takes, as the API's description has them: one of the subclasses."""


class StatsWithServerCount(StatsBody):
    """The server count, perhaps with the command count. Other fields are ignored, and shown to the owner."""

    server_count: _ServerCount
    command_count: _CommandCount | UnsetType = UNSET


class StatsWithCommandCount(StatsBody):
    """The command count, perhaps with the server count. Other fields are ignored, and shown to the owner."""

    command_count: _CommandCount
    server_count: _ServerCount | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class StatsUpdate:
    """The counts of one update. None leaves a count as it is."""

    server_count: int | None
    command_count: int | None


def read_stats(body: Mapping[str, Any]) -> StatsUpdate:
    """Read the counts of a request body, in the order of the contract's checks. Unknown fields are ignored.

    Raises Refusal.
    """
    if "server_count" not in body and "command_count" not in body:
        raise Refusal("no_count_given")
    server_count = command_count = None
    if "server_count" in body:
        server_count = _integer(body["server_count"], PUSHED["server_count"])
        if server_count is None:
            raise Refusal("server_count_out_of_range")
    if "command_count" in body:
        command_count = _integer(body["command_count"], PUSHED["command_count"])
        if command_count is None:
            raise Refusal("command_count_out_of_range")
    return StatsUpdate(server_count, command_count)


def check_difference(given: int, actual: int, max_difference: int) -> None:
    """Check a server count. Raises Refusal.

    The allowed difference is the larger of `max_difference` and a tenth of the actual count.
    """
    allowed = max(max_difference, actual // 10)
    if abs(given - actual) > allowed:
        raise Refusal("server_count_too_far_off", given=given, max_difference=allowed, actual=actual)


def committed_window(listing: Listing, window_seconds: int) -> StatsWindow | None:
    """Return the newest window of committed updates, over all nodes of a fleet.

    Windows of several nodes are the same if they start within half a window of each other.
    """
    known = [StatsWindow(window.started_ms, window.used) for window in listing.windows]
    if listing.window is not None:
        known.append(listing.window)
    newest_ms = max((window.started_ms for window in known), default=0)
    same = [window for window in known if (newest_ms - window.started_ms) * 2 < window_seconds * 1_000]
    if not same:
        return None
    return StatsWindow(min(window.started_ms for window in same), sum(window.used for window in same))


def update_stats(
    state: State, ref: str, update: StatsUpdate, *, window_started_ms: int, window_seconds: int, now_ms: int
) -> list[StatsUpdated]:
    """Return an event with the new counts and the updates committed in the limiter's window. Raises Refusal.

    `window_started_ms` is the start of the limiter's window. Monotonic and wall clock drift apart, so the
    start of one window varies. Two windows start at least a window apart, so a start within half a window of
    the known one means the same window.
    """
    listing = listing_of(state, ref)
    known = listing.window
    window = StatsWindow(window_started_ms, 1)
    if known is not None and abs(window_started_ms - known.started_ms) * 2 < window_seconds * 1_000:
        window = StatsWindow(known.started_ms, known.used + 1)
    elif known is not None and window_started_ms < known.started_ms:  # the clock was set back
        window = StatsWindow(known.started_ms + 1, 1)  # other nodes take the latest
    servers, commands = update.server_count, update.command_count
    if listing.counts is not None:
        servers = servers if servers is not None else listing.counts.server_count
        commands = commands if commands is not None else listing.counts.command_count
    return [StatsUpdated(ref, servers, commands, window, now_ms)]


def _integer(value: object, maximum: int) -> int | None:
    """Return the integer from 0 to `maximum` that a JSON value stands for (1.0 is 1), or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= maximum or value != int(value):
        return None
    return int(value)
