"""When and by whom. Law: what a node writes is stamped later than all it has heard of.

Times of stamps follow the wall clock, but never go back, and never stay: a hybrid logical clock (Kulkarni et
al., "Logical Physical Clocks", 2014) of one number.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from core.clock import Clock
from core.events import Event, Merged, Stamped
from core.fleet import FleetView, label_of, name_and_epoch


class Stamper:
    def __init__(self, fleet: FleetView, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock

    def __call__(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events of a record with their stamps; those of other nodes have theirs."""
        if isinstance(events[0], Merged):
            return events
        ms = max(self._clock.now_ms(), self._fleet.latest_ms + 1)
        return [replace(event, stamp_ms=ms) if isinstance(event, Stamped) else event for event in events]


def new_label(fleet: FleetView, name: str, now_ms: int) -> str | None:
    """What the node has to be called from now on; None if it is called so already."""
    if not fleet.label:
        return label_of(name, now_ms)
    known_name, epoch = name_and_epoch(fleet.label)
    if known_name == name and not fleet.is_copy:
        return None
    return label_of(name, max(now_ms, epoch + 1))
