"""Encryption at rest: without a key of the ring nothing on disk can be read, or changed unseen."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.segments import list_segments
from storage.folder import Folder
from storage.sealing import (
    KEY_BYTES,
    KEY_ID_BYTES,
    NONCE_BYTES,
    SALT_BYTES,
    TAG_BYTES,
    BadKeys,
    KeyMissing,
    Keyring,
    Seal,
    Unsealable,
    keyring_of,
)
from tests.support.coroutines import run
from tests.support.examples import examples
from tests.support.folder_bytes import bytes_of, flips
from tests.support.journals import KEYS, append_all, journalling, key_ids_of, records_of, write_segment

OLD, NEW = bytes(range(32)), b"\xff\xfe" * 16  # in base64, the new one has characters that URLs have not
BOTH = Keyring([NEW, OLD])
SEAL = KEYS.new_seal()
WHOLE = SEAL.seal(b"a piece", b"where it stands")


@examples(100)
@given(st.binary(max_size=100), st.binary(max_size=50))
def test_a_sealed_piece_opens_where_it_stands(piece: bytes, associated: bytes) -> None:
    sealed = SEAL.seal(piece, associated)
    assert len(sealed) == NONCE_BYTES + len(piece) + TAG_BYTES
    assert SEAL.unseal(sealed, associated) == piece


@examples(50)
@given(st.binary(max_size=50), st.binary(max_size=20), st.binary(max_size=20))
def test_a_sealed_piece_opens_nowhere_else(piece: bytes, associated: bytes, other: bytes) -> None:
    sealed = SEAL.seal(piece, associated)
    if other != associated:
        with pytest.raises(Unsealable):
            SEAL.unseal(sealed, other)


@pytest.mark.parametrize(
    "other",
    [Seal(NEW, SEAL.key_id, SEAL.salt), Seal(OLD, SEAL.key_id, bytes(SALT_BYTES))],
    ids=["key", "salt"],
)
def test_a_sealed_piece_does_not_open_with_another(other: Seal) -> None:
    with pytest.raises(Unsealable):
        other.unseal(WHOLE, b"where it stands")


def test_no_bit_of_a_sealed_piece_can_flip_unseen() -> None:
    for _, flipped in flips(WHOLE):
        with pytest.raises(Unsealable):
            SEAL.unseal(flipped, b"where it stands")


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_sealed_piece_that_was_cut_does_not_open(length: int) -> None:
    with pytest.raises(Unsealable):
        SEAL.unseal(WHOLE[:length], b"where it stands")


def test_the_same_piece_is_never_sealed_alike() -> None:
    sealed = [SEAL.seal(b"a piece", b"") for _ in range(100)]
    assert len({piece[:NONCE_BYTES] for piece in sealed}) == 100
    assert len({piece[NONCE_BYTES:] for piece in sealed}) == 100


def test_every_new_file_has_a_salt_and_with_it_a_key_of_its_own() -> None:
    one, other = KEYS.new_seal(), KEYS.new_seal()
    assert (one.key_id, len(one.salt)) == (other.key_id, SALT_BYTES)
    assert one.salt != other.salt
    with pytest.raises(Unsealable):
        other.unseal(one.seal(b"a piece", b""), b"")


def test_an_id_belongs_to_its_key_for_good_and_tells_nothing_of_it() -> None:
    """It is in every file: one that came out otherwise would make them all unreadable."""
    assert Keyring([OLD]).newest.hex() == "e922d17f4df53361"
    assert Keyring([NEW]).newest.hex() == "d1dfe7b0f4c90c4d"
    assert len(KEYS.newest) == KEY_ID_BYTES


def test_a_file_of_an_earlier_day_opens() -> None:
    """The derivation of a file's key, and what is sealed with it, never change."""
    sealed = bytes.fromhex("8a38e8f7bb39551cd7f198f6de6f0a08f6db5206a902aa411b5a6071881fdefd6dce2e")
    seal = KEYS.seal_of(Path("file"), KEYS.newest, bytes(SALT_BYTES))
    assert seal.unseal(sealed, b"where it stands") == b"a piece"


def test_a_ring_seals_with_its_newest_key_and_opens_what_any_of_its_keys_sealed() -> None:
    old = Keyring([OLD]).new_seal()
    assert BOTH.key_ids == [Keyring([NEW]).newest, Keyring([OLD]).newest]
    assert BOTH.new_seal().key_id == BOTH.newest == BOTH.key_ids[0]
    found = BOTH.seal_of(Path("file"), old.key_id, old.salt)
    assert found.unseal(old.seal(b"a piece", b""), b"") == b"a piece"


def test_a_ring_is_changed_by_making_another() -> None:
    assert KEYS.with_newest(NEW).key_ids == BOTH.key_ids
    assert BOTH.without([BOTH.newest]).key_ids == KEYS.key_ids
    assert BOTH.without([]).key_ids == BOTH.key_ids


def test_a_missing_key_is_named_by_its_id_with_the_file_that_needs_it() -> None:
    with pytest.raises(KeyMissing) as raised:
        Keyring([NEW]).seal_of(Path("folder/file"), KEYS.newest, bytes(SALT_BYTES))
    assert str(raised.value).startswith(f"folder/file is sealed with key {KEYS.newest.hex()}, which is not")


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("between", ["\n", " ", "\r\n  "])
def test_keys_are_listed_in_base64_newest_first(between: str, encode: Callable[[bytes], bytes]) -> None:
    text = between.join(["", encode(NEW).decode(), encode(OLD).decode(), ""])
    assert keyring_of(text).key_ids == BOTH.key_ids


def test_the_text_of_a_ring_lists_its_keys() -> None:
    assert keyring_of(BOTH.to_text()).key_ids == BOTH.key_ids
    assert keyring_of(keyring_of(BOTH.to_text()).to_text()).to_text() == BOTH.to_text()


def test_a_key_that_is_listed_twice_is_one_key() -> None:
    assert keyring_of(f"{BOTH.to_text()} {BOTH.to_text()}").key_ids == BOTH.key_ids


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_text_without_a_key_is_refused(text: str) -> None:
    with pytest.raises(BadKeys, match="no sealing key"):
        keyring_of(text)


@pytest.mark.parametrize(
    "bad",
    [
        "no base64!",
        "schlüssel",
        b64encode(bytes(KEY_BYTES - 1)).decode(),
        b64encode(bytes(KEY_BYTES + 1)).decode(),
        b64encode(OLD).decode()[:-1],  # without its padding
        OLD.hex(),
        "!" + b64encode(OLD).decode(),
        b64encode(OLD).decode() + "=",
        b64encode(OLD).decode() + "," + b64encode(NEW).decode(),
    ],
)
def test_a_text_without_a_key_is_refused_and_not_repeated(bad: str) -> None:
    with pytest.raises(BadKeys) as raised:
        keyring_of(f"{BOTH.to_text()} {bad}")
    assert str(raised.value) == "a sealing key is 32 bytes in base64, newest key first"


def test_no_key_can_be_seen_where_a_ring_or_a_seal_is_printed() -> None:
    for shown in (repr(BOTH), repr(SEAL), repr(Folder(Path("folder"), BOTH))):
        assert not any(str(key)[2:-1] in shown for key in (OLD, NEW))


def test_a_journal_goes_on_with_the_newest_key_in_a_new_segment(tmp_path: Path) -> None:
    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"old"])
        async with journalling(tmp_path, keys=BOTH) as journal:
            await append_all(journal, [b"new", b"newer"])

    run(main())
    assert [first for first, _ in list_segments(tmp_path)] == [1, 2]
    assert key_ids_of(tmp_path) == [KEYS.newest, BOTH.newest]
    assert records_of(tmp_path, keys=BOTH) == [b"old", b"new", b"newer"]
    assert records_of(tmp_path, after=1, keys=Keyring([NEW])) == [b"new", b"newer"]


def test_a_journal_whose_last_segment_holds_no_record_has_it_sealed_anew(tmp_path: Path) -> None:
    """As after every clean stop that took a snapshot: the next record is not sealed with the old key."""

    async def main() -> None:
        async with journalling(tmp_path) as journal:
            await append_all(journal, [b"old"])
            journal.rotate()
        assert key_ids_of(tmp_path) == [KEYS.newest, KEYS.newest]
        async with journalling(tmp_path, keys=BOTH) as journal:
            await append_all(journal, [b"new"])

    run(main())
    assert [first for first, _ in list_segments(tmp_path)] == [1, 2]
    assert key_ids_of(tmp_path) == [KEYS.newest, BOTH.newest]
    assert records_of(tmp_path, keys=BOTH) == [b"old", b"new"]


def test_a_journal_whose_only_segment_holds_no_record_has_it_sealed_anew(tmp_path: Path) -> None:
    async def main() -> None:
        for keys in (KEYS, BOTH):
            async with journalling(tmp_path, keys=keys) as journal:
                journal.begin()
        async with journalling(tmp_path, keys=BOTH) as journal:
            await append_all(journal, [b"new"])

    run(main())
    assert key_ids_of(tmp_path) == [BOTH.newest]
    assert records_of(tmp_path, keys=BOTH) == [b"new"]


def test_a_journal_whose_key_is_missing_is_refused_and_not_touched(tmp_path: Path) -> None:
    seed = write_segment(tmp_path, 1, 0, [[b"1"]], continued=True)
    write_segment(tmp_path, 2, seed, [[b"2"]])
    before = bytes_of(tmp_path)
    with pytest.raises(KeyMissing, match=f"journal-0*1 is sealed with key {KEYS.newest.hex()}"):
        records_of(tmp_path, keys=Keyring([NEW]))
    assert bytes_of(tmp_path) == before


def test_no_record_can_be_read_in_the_files_of_a_journal(tmp_path: Path) -> None:
    records = [b"a secret of user %d" % number for number in range(20)]

    async def main() -> None:
        async with journalling(tmp_path, crash=True) as journal:
            await append_all(journal, records[:10])
        *_, (_, newest) = list_segments(tmp_path)
        with newest.open("r+b") as file:
            file.truncate(newest.stat().st_size - 1)  # a torn write, which is set aside
        async with journalling(tmp_path) as journal:
            await append_all(journal, records[10:])

    run(main())
    assert records_of(tmp_path) == records[:9] + records[10:]
    files = bytes_of(tmp_path)
    assert [name for name in files if name.endswith(".torn")]
    assert not any(b"secret" in content or b"user" in content for content in files.values())
