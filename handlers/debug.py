"""The debug endpoints together: the inside of the process, for operators. Law: no secret is ever shown.

Each part stands in a module of its own, with the types of its answers. A page that shows the same calls the
part's `view`.
"""

from dataclasses import dataclass

from handlers.debug_disk import DebugDisk
from handlers.debug_listing import DebugListings
from handlers.debug_process import DebugProcess


@dataclass(frozen=True)
class Debug:
    """The parts of the debug endpoints."""

    process: DebugProcess
    disk: DebugDisk
    listings: DebugListings
