"""The node id: a name and an epoch.

Invariant: no node id is ever used for two histories, and a later one is greater.

A node begins a new epoch when its journal is not the one that the others know under its node id: the folder
is new, restored or a copy, or another process has written to the stream.
"""

from core.fleet_table import FleetView, label_of, name_and_epoch


def node_id_at_start(fleet: FleetView, name: str, now_ms: int) -> str | None:
    """Return the node id to take at the start; None if the node has the right one already."""
    if not fleet.label:
        return label_of(name, now_ms)
    known_name, epoch = name_and_epoch(fleet.label)
    if known_name == name and not fleet.is_copy:
        return None
    return later_node_id(name, epoch, now_ms)


def later_node_id(name: str, epoch: int, now_ms: int) -> str:
    """Return the node id of a new epoch behind `epoch`."""
    return label_of(name, max(now_ms, epoch + 1))
