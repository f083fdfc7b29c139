"""listings/keys.py: a key is shown once, opens one listing, and ends when somebody ends it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.actors import OPERATOR
from core.events import KeyUsed, ListingRemoved
from core.ledger import Ledger
from core.rows import Key, Review
from core.state import State
from languages.refusals import Refusal
from listings.keys import (
    FINGERPRINT,
    KEY_BYTES,
    KeyDigester,
    NewKey,
    delete_key,
    is_granted,
    issue_key,
    key_value,
    rotate_key,
    used_keys,
)
from tests.support.committed_rows import a_key, a_listing
from tests.support.examples import examples
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF

LATER_MS = NOW_MS + 60_000
KEYS = 3
DIGESTER = KeyDigester(b"a secret of the deployment")


def issue(ledger: Ledger, key_id: str = "k1", *, digest: str = "d1" * 32, ref: str = BOT_REF) -> None:
    ledger.commit(
        issue_key(
            ledger.state,
            ref,
            NewKey(key_id, "production", digest),
            now_ms=NOW_MS,
            keys_per_listing=KEYS,
            by=OPERATOR,
        )
    )


def rotate(ledger: Ledger, digest: str, *, overlap_seconds: int = 0, now_ms: int = LATER_MS) -> None:
    ledger.commit(
        rotate_key(
            ledger.state,
            BOT_REF,
            "k1",
            digest=digest,
            overlap_seconds=overlap_seconds,
            now_ms=now_ms,
            by=OPERATOR,
        )
    )


def granted(state: State, digest: str, *, ref: str = BOT_REF, now_ms: int = LATER_MS) -> bool:
    return is_granted(state, ref, digest, now_ms)


@examples(100)
@given(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES))
def test_a_key_is_vg_and_43_url_safe_characters(random: bytes) -> None:
    assert re.fullmatch(r"vg_[A-Za-z0-9_-]{43}", key_value(random))


@examples(100)
@given(st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES), st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES))
def test_other_random_bytes_are_another_key(one: bytes, other: bytes) -> None:
    assert (key_value(one) == key_value(other)) == (one == other)


@examples(100)
@given(st.text() | st.text(st.characters(categories=["Cs", "L"])), st.text())
def test_any_text_has_a_digest_and_another_text_has_another(value: str, other: str) -> None:
    digest = DIGESTER.digest(value)
    assert re.fullmatch(r"[0-9a-f]{64}", digest)
    assert digest == DIGESTER.digest(value)
    assert (digest == DIGESTER.digest(other)) == (value == other)


def test_a_digest_depends_on_the_secret_and_the_secret_is_not_shown() -> None:
    other = KeyDigester(b"another secret")
    assert DIGESTER.digest("vg_key") != other.digest("vg_key")
    assert "secret of the deployment" not in repr(DIGESTER)


def test_an_issued_key_opens_its_listing(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    issue(ledger)
    digest = "d1" * 32
    key = Key("k1", "production", digest, digest[:FINGERPRINT], NOW_MS, makers=(OPERATOR,))
    assert state.listings[BOT_REF].keys == (key,)
    assert granted(state, digest)


def test_a_key_opens_no_other_listing(ledger: Ledger, state: State) -> None:
    a_listing(ledger, BOT_REF)
    a_listing(ledger, OTHER_REF)
    issue(ledger)
    assert not granted(state, "d1" * 32, ref=OTHER_REF)


def test_an_unknown_key_opens_nothing(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    issue(ledger)
    assert not granted(state, "d2" * 32)


@pytest.mark.parametrize("review", ["in_review", "denied"])
def test_keys_are_for_approved_listings_only(ledger: Ledger, review: Review) -> None:
    a_listing(ledger, review=review)
    with pytest.raises(Refusal) as refusal:
        issue(ledger)
    assert refusal.value.code == "keys_need_approval"


def test_a_listing_has_several_keys_but_not_too_many(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    for number in range(KEYS):
        issue(ledger, f"k{number}", digest=f"d{number}")
    assert all(granted(state, f"d{number}") for number in range(KEYS))
    with pytest.raises(Refusal) as refusal:
        issue(ledger, "one too many", digest="d9")
    assert (refusal.value.code, refusal.value.facts) == ("too_many_keys", {"most": KEYS})
    ledger.commit(delete_key(state, BOT_REF, "k0", NOW_MS, by=OPERATOR))
    issue(ledger, "k3", digest="d3")
    assert granted(state, "d3")


def test_a_rotated_key_stops_at_once(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    issue(ledger, digest="d1")
    rotate(ledger, "d2" * 32)
    (key,) = state.listings[BOT_REF].keys
    assert not granted(state, "d1")
    assert granted(state, "d2" * 32)
    assert (key.id, key.name, key.created_ms) == ("k1", "production", NOW_MS)
    assert (key.fingerprint, key.rotated_ms) == ("d2d2d2d2", LATER_MS)
    assert (key.old_digest, key.old_until_ms) == (None, 0)


@pytest.mark.parametrize(("passed_ms", "open_still"), [(0, True), (29_999, True), (30_000, False)])
def test_with_an_overlap_the_old_key_goes_on_until_its_end(
    ledger: Ledger, state: State, passed_ms: int, open_still: bool
) -> None:
    a_listing(ledger)
    issue(ledger, digest="d1")
    rotate(ledger, "d2", overlap_seconds=30)
    assert granted(state, "d1", now_ms=LATER_MS + passed_ms) == open_still
    assert granted(state, "d2", now_ms=LATER_MS + passed_ms)


@pytest.mark.parametrize("overlap_seconds", [0, 30])
def test_rotating_again_stops_the_key_before_the_last(
    ledger: Ledger, state: State, overlap_seconds: int
) -> None:
    a_listing(ledger)
    issue(ledger, digest="d1")
    rotate(ledger, "d2", overlap_seconds=30)
    rotate(ledger, "d3", overlap_seconds=overlap_seconds)
    assert [granted(state, digest) for digest in ("d1", "d2", "d3")] == [False, overlap_seconds > 0, True]


def test_rotating_one_key_leaves_the_others_alone(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    issue(ledger, "k1", digest="d1")
    other = a_key(ledger, "k2", digest="d2")
    rotate(ledger, "d3")
    assert granted(state, "d2")
    assert state.listings[BOT_REF].key("k2") == other


def test_a_deleted_key_opens_nothing_also_by_its_old_value(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    issue(ledger, digest="d1")
    rotate(ledger, "d2", overlap_seconds=30)
    ledger.commit(delete_key(state, BOT_REF, "k1", NOW_MS, by=OPERATOR))
    assert not granted(state, "d1")
    assert not granted(state, "d2")
    assert state.listings[BOT_REF].key("k1") is None


def test_the_keys_of_a_removed_listing_open_nothing(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    issue(ledger, digest="d1")
    ledger.commit([ListingRemoved(BOT_REF)])
    a_listing(ledger)
    assert not granted(state, "d1")


def test_a_key_that_does_not_exist_is_neither_rotated_nor_deleted(ledger: Ledger, state: State) -> None:
    a_listing(ledger, BOT_REF)
    a_listing(ledger, OTHER_REF)
    a_key(ledger, "k1", ref=OTHER_REF)
    with pytest.raises(Refusal) as refusal:
        rotate(ledger, "d2")
    assert refusal.value.code == "no_such_key"
    with pytest.raises(Refusal, match="no_such"):
        delete_key(state, BOT_REF, "k1", NOW_MS, by=OPERATOR)


def test_a_listing_that_does_not_exist_has_no_keys(ledger: Ledger, state: State) -> None:
    with pytest.raises(Refusal) as refusal:
        issue(ledger)
    assert refusal.value.code == "no_such_listing"
    with pytest.raises(Refusal, match="no_such"):
        rotate(ledger, "d2")
    with pytest.raises(Refusal, match="no_such"):
        delete_key(state, BOT_REF, "k1", NOW_MS, by=OPERATOR)


def test_a_use_is_news_once_a_day(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    issue(ledger, digest="d1")
    assert used_keys(state, ["d1", "unknown"], 7) == [KeyUsed(BOT_REF, "k1", 7)]
    ledger.commit(used_keys(state, ["d1"], 7))
    assert used_keys(state, ["d1"], 7) == used_keys(state, ["d1"], 6) == []
    assert used_keys(state, ["d1"], 8) == [KeyUsed(BOT_REF, "k1", 8)]


def test_both_values_of_a_rotated_key_are_used_as_one_and_a_rotation_keeps_the_day(
    ledger: Ledger, state: State
) -> None:
    a_listing(ledger)
    issue(ledger, digest="d1")
    ledger.commit(used_keys(state, ["d1"], 7))
    rotate(ledger, "d2", overlap_seconds=30)
    assert state.listings[BOT_REF].keys[0].used_day == 7
    assert used_keys(state, ["d1", "d2"], 8) == [KeyUsed(BOT_REF, "k1", 8)]
