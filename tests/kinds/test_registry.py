"""kinds/registry.py: every listing has one kind, and no code falls through to another."""

import re

import msgspec
import pytest

from kinds.bots import BOTS, BotProfile
from kinds.registry import KINDS, AnyProfile, id_pattern, kind_of
from kinds.servers import SERVERS


def test_the_kind_of_a_ref_is_that_of_its_first_part() -> None:
    assert kind_of("bots/111111111111111111") is BOTS
    assert kind_of("servers/111111111111111111") is SERVERS


@pytest.mark.parametrize("ref", ["users/111111111111111111", "bot/1", "", "111111111111111111"])
def test_a_ref_of_no_kind_has_none(ref: str) -> None:
    with pytest.raises(KeyError):
        kind_of(ref)


def test_a_cursor_takes_every_id_of_every_kind() -> None:
    for kind in KINDS:
        assert re.fullmatch(id_pattern("[0-9]{17,20}"), kind.id.sample)


def test_names_are_of_one_kind_alone() -> None:
    names = [name for kind in KINDS for name in (kind.plural, kind.singular)]
    assert len(set(names)) == len(names)


def test_a_profile_is_read_again_as_that_of_its_kind() -> None:
    for kind in KINDS:
        assert msgspec.json.schema(kind.profile)
    stored = msgspec.msgpack.encode(BotProfile("A", "s", "d", ("No category of today",)))
    assert isinstance(msgspec.msgpack.decode(stored, type=AnyProfile), BotProfile)
