"""core/packing.py: unpacking a packed row gives an equal row."""

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from core.events import ListingMerged
from core.packing import PackedRow, brief_of, pack, pack_user, shape_of, unpack, unpack_user
from core.rows import Eligibility, Key, Listing, Review, Reviewed
from core.user_rows import Rating, UserProfile, UserRow, UserSession, user_ref
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


def test_a_packed_row_holds_no_names_of_fields() -> None:
    assert b"owner_id" in msgspec.json.encode(ROW)
    assert b"owner_id" not in pack(ROW)
    assert b"short_description" not in pack(ROW)


def test_a_user_is_unpacked_as_it_was_packed() -> None:
    session = UserSession("d1", "Firefox", NOW_MS, NOW_MS)
    row = UserRow(
        user_ref(OWNER), NOW_MS, UserProfile("ada"), (session,), ratings=(Rating(BOT_REF, NOW_MS, 5),)
    )
    assert unpack_user(pack_user(row)) == row


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
