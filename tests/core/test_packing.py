"""core/packing.py: unpacking a packed row gives an equal row."""

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from core.actors import user_actor
from core.events import ListingMerged
from core.packing import PackedRow, brief_of, pack, shape_of, unpack
from core.rows import Eligibility, Key, Listing, OwnerMessage, Review, Reviewed, ServerCheck
from kinds.bots import BOTS
from kinds.kind import Kind
from kinds.registry import KINDS
from tests.support.examples import examples
from tests.support.generated_events import OF_TYPE
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER

ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))


@examples(50)
@given(OF_TYPE[ListingMerged])
def test_a_row_is_unpacked_as_it_was_packed(event: ListingMerged) -> None:
    assert unpack(pack(event.row)) == event.row


def test_a_row_without_a_message_has_the_bytes_of_older_versions() -> None:
    assert b"message" not in pack(ROW)
    assert b"message" not in msgspec.json.encode(ROW)
    told = OwnerMessage(user_actor(OWNER), "approved", None, NOW_MS, None)
    assert b"message" in pack(replace(ROW, message=told))


def test_a_row_without_a_check_has_the_bytes_of_older_versions() -> None:
    assert b"eligib" not in pack(ROW) + msgspec.json.encode(ROW)
    checked = replace(ROW, eligibility=Eligibility(NOW_MS, (ServerCheck("age", "pass", 20, 14, NOW_MS),)))
    assert unpack(pack(checked)) == checked
    assert b"hidden" not in pack(checked)


def test_a_brief_says_whether_everybody_may_see_a_listing() -> None:
    cases: list[tuple[int | None, Review, bool]] = [
        *((None, "approved", True), (NOW_MS, "approved", False), (None, "in_review", False)),
    ]
    for hidden_ms, review, is_public in cases:
        checked = Eligibility(NOW_MS, (), None, hidden_ms)
        row = replace(ROW, review=Reviewed(review, NOW_MS), eligibility=checked)
        assert PackedRow(BOT_REF, pack(row)).brief == brief_of(row, BOTS)
        assert (row.is_public, brief_of(row, BOTS).is_public) == (is_public, is_public)
    assert PackedRow(BOT_REF, pack(ROW)).brief.is_public


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_packed_row_of_each_kind_tells_what_lists_look_at(kind: Kind) -> None:
    row = replace(ROW, ref=kind.ref(kind.id.sample), profile=kind.sample)
    assert PackedRow(row.ref, pack(row)).brief == brief_of(row, kind)


def test_a_packed_row_tells_how_many_keys_it_has() -> None:
    keys = tuple(Key(f"k{number}", "a key", f"d{number}", "d", NOW_MS) for number in range(3))
    assert PackedRow(BOT_REF, pack(ROW)).keys == 0
    assert PackedRow(BOT_REF, pack(replace(ROW, keys=keys))).keys == 3


def row_type(docstring: str, *fields: str) -> type[msgspec.Struct]:
    inner = msgspec.defstruct("Inner", [(name, str) for name in fields], namespace={"__doc__": docstring})
    return msgspec.defstruct("Row", [("inner", inner)], namespace={"__doc__": docstring})


def test_a_reworded_docstring_leaves_the_shape_alone() -> None:
    shape = shape_of(row_type("The profile of a bot.", "name", "description"))
    assert shape_of(row_type("A bot's profile.", "name", "description")) == shape
    assert shape_of(row_type("The profile of a bot.", "name")) != shape
    assert shape_of(row_type("The profile of a bot.", "name", "summary")) != shape
