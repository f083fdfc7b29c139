"""The timestamps of changes. Invariant: a timestamp is later than all that the node has read before.

A hybrid logical clock (Kulkarni et al., "Logical Physical Clocks", 2014) in one number: it follows the wall
clock, but never goes back and never gives one time twice.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from core.clock import Clock
from core.events import Event, Merged, Stamped
from core.fleet_table import FleetView


class HybridClock:
    def __init__(self, fleet: FleetView, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock

    def __call__(self, events: Sequence[Event]) -> Sequence[Event]:
        """Return the events of a record with timestamps; merged events keep those of their authors."""
        if isinstance(events[0], Merged):
            return events
        ms = max(self._clock.now_ms(), self._fleet.latest_ms + 1)
        return [replace(event, stamp_ms=ms) if isinstance(event, Stamped) else event for event in events]
