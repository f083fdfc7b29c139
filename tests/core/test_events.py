"""core/events.py: a restart reads exactly the events that were committed, or it fails."""

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from core.actors import OPERATOR, user_actor
from core.events import (
    Event,
    KeyDeleted,
    Merged,
    SlotsSet,
    UnknownEvent,
    UserErased,
    VoteCast,
    VotesMerged,
    decode_record,
    encode_record,
)
from core.rows import Listing, Webhook
from core.sharing import SET_SLOTS
from tests.support.examples import examples
from tests.support.generated_events import OF_TYPE
from tests.support.sample_rows import BOT_REF, NOW_MS, USER

TYPES: tuple[type[msgspec.Struct], ...] = get_args(Event)
anything = st.one_of(*OF_TYPE.values(), *map(st.from_type, TYPES))


@examples(300)
@given(st.lists(anything, max_size=5))
def test_a_record_decodes_to_the_events_that_were_encoded(events: list[Event]) -> None:
    decoded = decode_record(encode_record(events))
    assert decoded == events
    assert [type(event) for event in decoded] == [type(event) for event in events]


@examples(100)
@given(st.lists(anything, max_size=3))
def test_a_record_is_one_line_of_json(events: list[Event]) -> None:
    record = encode_record(events)
    assert b"\n" not in record
    assert len(json.loads(record)) == len(events)


def test_every_type_is_generated() -> None:
    assert set(OF_TYPE) == set(TYPES)


def test_a_record_reads_like_this() -> None:
    """Records outlive the program that wrote them: this spelling may not change without a new version."""
    vote = VoteCast(BOT_REF, USER, 7, NOW_MS)
    spelt = {"type": "vote_cast.1", "ref": BOT_REF, "user": USER, "count": 7, "at_ms": NOW_MS}
    assert json.loads(encode_record([vote])) == [spelt]
    assert decode_record(json.dumps([spelt]).encode()) == [vote]


def test_every_tag_names_its_type_and_version() -> None:
    tags = [event_type.__struct_config__.tag for event_type in TYPES]
    snake = ["".join(f"_{c.lower()}" if c.isupper() else c for c in t.__name__)[1:] for t in TYPES]
    assert tags == [f"{name}.1" for name in snake]


def test_an_event_of_the_operator_and_one_of_a_user_read_like_this() -> None:
    by_user = KeyDeleted(BOT_REF, "k1", at_ms=NOW_MS, by=user_actor(USER))
    spelling = {"type": "key_deleted.1", "ref": BOT_REF, "key_id": "k1", "at_ms": NOW_MS}
    assert spelt(by_user) == {**spelling, "by": f"users/{USER}"}
    assert spelt(replace(by_user, by=OPERATOR)) == spelling


def test_an_event_sets_the_slots_of_the_table_whose_rules_are_their_own_alone() -> None:
    fields = {field.name: field for field in msgspec.structs.fields(SlotsSet)}
    slots = set(fields) - {"ref", "at_ms", "action", "about", "by", "stamp_ms"}
    assert slots == set(SET_SLOTS)
    rows = {field.name: field.type for field in msgspec.structs.fields(Listing)}
    for slot in slots:
        assert set(get_args(fields[slot].type)) == {*get_args(rows[slot]), UnsetType}
        assert fields[slot].default is UNSET


def test_a_slot_that_is_left_alone_is_not_written_and_one_that_is_emptied_is_null() -> None:
    event = SlotsSet(BOT_REF, NOW_MS, "webhook_removed", webhook=None)
    spelling = {"type": "slots_set.1", "ref": BOT_REF, "at_ms": NOW_MS, "action": "webhook_removed"}
    assert spelt(event) == {**spelling, "webhook": None}
    assert decode_record(encode_record([event])) == [event]


def test_no_event_can_be_changed() -> None:
    assert all(event_type.__struct_config__.frozen for event_type in TYPES)


def spelt(event: Event) -> dict[str, Any]:
    record: list[dict[str, Any]] = json.loads(encode_record([event]))
    return record[0]


@pytest.mark.parametrize("tag", ["vote_cast.2", "vote_cast.0", "vote_cast", "vote_recast.1", "", None, 1])
def test_an_unknown_type_or_version_is_refused(tag: object) -> None:
    with pytest.raises(UnknownEvent):
        decode_record(json.dumps([{**spelt(VoteCast(BOT_REF, USER, 7, NOW_MS)), "type": tag}]).encode())


def in_a_fleet(event_type: type[msgspec.Struct]) -> set[str]:
    """The names of the fields that have a default."""
    return {field.name for field in msgspec.structs.fields(event_type) if not field.required}


@pytest.mark.parametrize("event_type", TYPES)
@examples(10)
@given(choice=st.data())
def test_an_event_without_one_of_its_fields_is_refused(
    event_type: type[msgspec.Struct], choice: st.DataObject
) -> None:
    fields = spelt(choice.draw(OF_TYPE[event_type]))
    missing = choice.draw(st.sampled_from(sorted(set(fields) - in_a_fleet(event_type))))
    del fields[missing]
    with pytest.raises(UnknownEvent):
        decode_record(json.dumps([fields]).encode())


@pytest.mark.parametrize("event_type", [each for each in TYPES if in_a_fleet(each)])
@examples(20)
@given(choice=st.data())
def test_what_is_only_of_a_fleet_is_not_written_outside_of_one(
    event_type: type[msgspec.Struct], choice: st.DataObject
) -> None:
    event = choice.draw(OF_TYPE[event_type])
    defaults = {each.name: each.default for each in msgspec.structs.fields(event_type) if not each.required}
    alone = msgspec.structs.replace(event, **defaults)
    assert set(spelt(alone)) & set(defaults) == set()
    assert decode_record(encode_record([alone])) == [alone]


def test_an_event_of_a_fleet_reads_like_this() -> None:
    events: list[Event] = [
        KeyDeleted(BOT_REF, "k1", stamp_ms=NOW_MS),
        VoteCast(BOT_REF, USER, 7, NOW_MS, "b.1"),
        UserErased(USER, (), "mark", stamp_ms=NOW_MS),
        VotesMerged(BOT_REF, ("a.1", "b.2"), b"\x01\x02", ((5, "a.1", 2, NOW_MS),)),
        Merged("b.1", 7),
    ]
    spellings = [
        {"type": "key_deleted.1", "stamp_ms": NOW_MS, "ref": BOT_REF, "key_id": "k1"},
        {"type": "vote_cast.1", "ref": BOT_REF, "user": USER, "count": 7, "at_ms": NOW_MS, "node": "b.1"},
        {"type": "user_erased.1", "stamp_ms": NOW_MS, "user": USER, "refs": [], "pseudonym": "mark"},
        {
            "type": "votes_merged.1",
            "ref": BOT_REF,
            "nodes": ["a.1", "b.2"],
            "leaf": "AQI=",
            "parts": [[5, "a.1", 2, NOW_MS]],
        },
        {"type": "merged.1", "label": "b.1", "position": 7},
    ]
    assert json.loads(encode_record(events)) == spellings
    assert decode_record(json.dumps(spellings).encode()) == events


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"[", id="cut off"),
        pytest.param(b"{}", id="no list"),
        pytest.param(b"[{}]", id="no type"),
        pytest.param(b"[]]", id="more than a list"),
        pytest.param(b'[{"type":"user_erased.1","user":1}]', id="a number for a text"),
        pytest.param(b'[{"type":"user_erased.1","user":"\xff"}]', id="not UTF-8"),
    ],
)
def test_a_record_that_is_none_is_refused(record: bytes) -> None:
    with pytest.raises(UnknownEvent):
        decode_record(record)


def test_one_unknown_event_refuses_the_whole_record() -> None:
    record = encode_record([UserErased(USER, (BOT_REF,)), VoteCast(BOT_REF, USER, 7, NOW_MS)])
    with pytest.raises(UnknownEvent):
        decode_record(record.replace(b"vote_cast.1", b"vote_cast.9"))


def test_a_webhook_never_shows_its_secrets_when_printed() -> None:
    shown = repr(Webhook("https://receiver.example/secret-path", NOW_MS, "a shared secret"))
    assert "secret" not in shown
    assert "receiver" not in shown
