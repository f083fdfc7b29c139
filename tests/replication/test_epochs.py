"""replication/epochs.py: a node id is never used for two journals, and a later one is greater."""

import pytest

from core.fleet_table import FleetTable, name_and_epoch
from core.rows import FleetRow
from replication.epochs import later_node_id, node_id_at_start


def fleet_of(node_id: str, *, is_copy: bool = False) -> FleetTable:
    fleet = FleetTable()
    if node_id:
        fleet.load(FleetRow(node_id, (node_id,), {}, {}, {}, {}, 0, is_copy))
    return fleet


@pytest.mark.parametrize(
    ("known", "is_copy", "node_id"),
    [
        ("", False, "oslo.100"),  # a new folder
        ("oslo.7", False, None),  # the same node again
        ("rome.7", False, "oslo.100"),  # it got another name
        ("oslo.7", True, "oslo.100"),  # its data were restored
        ("oslo.100", True, "oslo.101"),  # in the same millisecond
        ("oslo.900", True, "oslo.901"),  # its clock was set back
    ],
)
def test_a_node_takes_a_new_id_at_the_start_unless_the_journal_is_its_own(
    known: str, is_copy: bool, node_id: str | None
) -> None:
    assert node_id_at_start(fleet_of(known, is_copy=is_copy), "oslo", 100) == node_id


@pytest.mark.parametrize("now_ms", [0, 6, 7, 8, 1_000])
def test_a_later_node_id_has_a_later_epoch_whatever_the_clock_says(now_ms: int) -> None:
    assert name_and_epoch(later_node_id("oslo", 7, now_ms))[1] > 7
