"""Out of a data folder: files that other programs read, and that are read back as they were or not at all."""

import csv
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import Event, ListingSaved, VoteCast
from snapshot.export import MANIFEST, ExportCorrupt, Format, NotEmpty, export_state
from snapshot.recovery import recover
from snapshot.restore import read_export, restore_into
from tests.support.examples import ALL_EXAMPLES, examples
from tests.support.exports import (
    POSITION,
    SOME,
    Cut,
    DiskUntil,
    assert_same,
    by_format,
    data_folder,
    exported,
    full,
    state_of,
)
from tests.support.folder_bytes import bytes_of, flips, overwrite
from tests.support.generated_events import sequences
from tests.support.made_listings import MADE_ROWS
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, listed, voted

Edit = Callable[[bytes], bytes]

SOME_CUTS, SOME_BITS = (3, 41) if ALL_EXAMPLES else (11, 131)
"""Every so many bytes a file is cut, and every so many bits one is flipped: each time all of it is read."""


def edit_file(path: Path, edit: Edit) -> None:
    overwrite(path, edit(path.read_bytes()))


def refusal(out: Path) -> str:
    with pytest.raises(ExportCorrupt) as raised:
        read_export(out, empty_state)
    assert str(out) in str(raised.value)
    assert "\n" not in str(raised.value)
    return str(raised.value)


# -- there and back --------------------------------------------------------------------------------------


@by_format
def test_a_like_counts_once_in_its_day_after_a_restore(tmp_path: Path, written_as: Format) -> None:
    listing, user = next(row for row in MADE_ROWS if row.ref.startswith("themes/")), "7"
    ref = listing.ref
    events: list[Event] = [
        ListingSaved(ref, "8", listing.profile, "approved", NOW_MS),
        VoteCast(ref, user, 1, NOW_MS),
    ]
    out, state = exported(tmp_path, written_as, events)
    restored = read_export(out, empty_state).state
    assert [*state.vote_counts.days(ref).values()] == [1]
    assert restored.vote_counts.days(ref) == state.vote_counts.days(ref)


@by_format
@examples(80)
@given(events=sequences, position=st.integers(1, 1 << 62))
def test_an_export_is_restored_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, written_as: Format, events: list[Event], position: int
) -> None:
    folder, state = tmp_path_factory.mktemp("export"), state_of(events)
    export_state(state, position, folder / "out", written_as)

    source = read_export(folder / "out", empty_state)
    data = data_folder(folder / "data")
    restore_into(data, source, NOW_MS)

    recovered = recover(data, empty_state)
    assert_same(state, recovered.state)
    assert (source.position, recovered.tail.head, recovered.chain.position) == (position,) * 3
    assert recovered.tail.closed


@by_format
def test_a_state_without_anything_is_exported_and_restored(tmp_path: Path, written_as: Format) -> None:
    export_state(empty_state(), 0, tmp_path / "out", written_as)
    data = data_folder(tmp_path / "data")
    restore_into(data, read_export(tmp_path / "out", empty_state), NOW_MS)
    recovered = recover(data, empty_state)
    assert (recovered.state.digest(), recovered.tail.head) == (empty_state().digest(), 0)


# -- what an export looks like ---------------------------------------------------------------------------


def test_other_programs_can_read_the_lines(tmp_path: Path) -> None:
    out, state = exported(tmp_path, "ndjson")
    votes = [json.loads(line) for line in (out / "votes.ndjson").read_text().splitlines()]
    assert votes == [
        {"ref": BOT_REF, "user": "7", "count": 3, "last_ms": NOW_MS},
        {"ref": OTHER_REF, "user": "18446744073709551615", "count": 1, "last_ms": NOW_MS},
    ]
    assert json.loads((out / MANIFEST).read_bytes()) == {
        "version": 5,
        "format": "ndjson",
        "position": POSITION,
        "digest": state.digest(),
        "rows": {"listings": 2, "votes": 2, "deliveries": 1, "users": 1, "counts": 0},
        "files": [],
    }


def test_texts_stand_in_their_cells_and_all_else_as_json(tmp_path: Path) -> None:
    out, _ = exported(tmp_path, "csv")
    assert (out / "votes.csv").read_bytes().splitlines() == [
        b"ref,user,count,last_ms",
        b"bots/111111111111111111,7,3,1750000000000",
        b"bots/222222222222222222,18446744073709551615,1,1750000000000",
    ]
    assert (out / "deliveries.csv").read_bytes().splitlines() == [
        b"id,ref,user,test,queued_ms,next_attempt_ms,made,tries,delivered,attempts,round_ms,dropped,dropped_ms,"
        b"owner,owned_ms,kind,reason,stars",
        b"first,bots/111111111111111111,7,false,1750000000000,1750000000000,0,0,false,[],null,null,null,,0,null,null,0",
    ]
    with (out / "listings.csv").open(newline="") as file:
        listing = next(csv.DictReader(file))
    assert (json.loads(listing["review"])["state"], listing["change"]) == ("approved", "null")
    assert json.loads(listing["webhook"])["token"] == 'a "token", of\r\ntwo\rlines\x00'


@by_format
def test_an_export_is_for_one_user_only(tmp_path: Path, written_as: Format) -> None:
    (tmp_path / "out").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        out, _ = exported(tmp_path, written_as)
    finally:
        os.umask(before)
    assert out.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o600}


@by_format
def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path, written_as: Format) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes").write_text("mine")
    with pytest.raises(NotEmpty, match="is not empty"):
        exported(tmp_path, written_as)
    assert bytes_of(tmp_path / "out") == {"notes": b"mine"}


@by_format
def test_an_export_takes_no_memory_for_all_its_rows(tmp_path: Path, written_as: Format) -> None:
    state = state_of([*listed(), *(voted(user) for user in range(1, 30_001))])
    state.digest()
    tracemalloc.start()
    try:
        export_state(state, 1, tmp_path / "out", written_as)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000 * 32, "so little holds a part of the rows only"


# -- exports that are none -------------------------------------------------------------------------------


@by_format
@pytest.mark.parametrize("name", ["listings", "votes", "deliveries"])
def test_a_missing_file_is_named(tmp_path: Path, written_as: Format, name: str) -> None:
    out, _ = exported(tmp_path, written_as)
    (out / f"{name}.{written_as}").unlink()
    assert f"{name}.{written_as} is missing" in refusal(out)


def test_a_folder_without_its_last_file_is_no_export(tmp_path: Path) -> None:
    out, _ = exported(tmp_path, "ndjson")
    (out / MANIFEST).unlink()
    assert "is no export: it has no export.json" in refusal(out)


@by_format
def test_no_cut_file_is_read_over(tmp_path: Path, written_as: Format) -> None:
    out, state = exported(tmp_path, written_as)
    for path in sorted(out.iterdir()):
        content = path.read_bytes()
        for length in range(0, len(content.rstrip()), SOME_CUTS):
            overwrite(path, content[:length])
            refusal(out)
        overwrite(path, content)
    assert_same(state, read_export(out, empty_state).state)


@by_format
def test_no_flipped_bit_of_a_row_is_read_over(tmp_path: Path, written_as: Format) -> None:
    out, state = exported(tmp_path, written_as)
    for path in sorted(out.glob(f"*.{written_as}")):
        content = path.read_bytes()
        for _, flipped in flips(content, every=SOME_BITS):
            overwrite(path, flipped)
            try:
                read = read_export(out, empty_state)
            except ExportCorrupt:
                continue
            assert_same(state, read.state)  # the bit was of no account
        overwrite(path, content)


@pytest.mark.parametrize(
    ("name", "edit", "why"),
    [
        (MANIFEST, lambda content: content.replace(b'"digest": "', b'"digest": "0'), "have the digest"),
        (MANIFEST, lambda content: content.replace(b'"votes": 2', b'"votes": 3'), "holds 2 rows, and"),
        (MANIFEST, lambda content: content.replace(b'"version": 5', b'"version": 2'), "of another version"),
        (MANIFEST, lambda content: content.replace(b'"position": 6', b'"position": -1'), "cannot be read"),
        (MANIFEST, lambda content: content.replace(b"ndjson", b"../../x"), "cannot be read"),
        (MANIFEST, lambda _: b"\xff", "cannot be read"),
        ("votes.ndjson", lambda content: content + content.splitlines(True)[0], "holds 3 rows, and"),
        ("votes.ndjson", lambda content: content.splitlines(True)[0] * 2, "are doubled"),
        ("votes.ndjson", lambda content: content.replace(b'"7"', b'"-7"'), "has a row that is no vote"),
        ("votes.ndjson", lambda content: content.replace(b'"7"', b'"99999999999999999999"'), "is no vote"),
        ("votes.ndjson", lambda content: content.replace(b":3,", b":-3,"), "has a row that is no vote"),
        ("votes.ndjson", lambda content: content.replace(b":3,", b":4,"), "have the digest"),
        (
            "votes.ndjson",
            lambda content: content.replace(b"bots/1", b"bots/3"),
            "doubled, or of listings",
        ),
        (
            "deliveries.ndjson",
            lambda content: content.replace(b"bots/1", b"bots/3"),
            "not among the list",
        ),
        ("listings.ndjson", lambda content: content.splitlines(True)[0] * 2, "are doubled"),
        (
            "listings.ndjson",
            lambda content: content.replace(b":17500", b":99999999999917500"),
            "have the digest",
        ),
    ],
)
def test_a_changed_export_is_refused_with_the_reason(tmp_path: Path, name: str, edit: Edit, why: str) -> None:
    out, _ = exported(tmp_path, "ndjson")
    edit_file(out / name, edit)
    assert why in refusal(out)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda content: content.replace(b"ref,user", b"user,ref"), "row 1 cannot be read: the columns must"),
        (lambda content: content + b"one,two\r\n", "row 3 cannot be read: it has 2 cells instead of 4"),
        (lambda content: content + b'"one', "row 3 cannot be read"),
        (lambda content: content.replace(b",3,", b",three,"), "row 1 cannot be read"),
        (lambda content: content.replace(b",3,", b",,"), "row 1 cannot be read"),
        (lambda content: content.replace(b",7,", b",\xff,"), "row 1 cannot be read"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_by_its_number(tmp_path: Path, edit: Edit, why: str) -> None:
    out, _ = exported(tmp_path, "csv")
    edit_file(out / "votes.csv", edit)
    assert why in refusal(out)


# -- a disk that fails, a process that is cut off


@by_format
def test_a_full_disk_leaves_nothing_of_an_export(tmp_path: Path, written_as: Format) -> None:
    for calls in range(100):
        out, disk = tmp_path / str(calls), DiskUntil(calls, full())
        try:
            export_state(state_of(SOME), POSITION, out, written_as, disk)
        except OSError:
            assert list(out.iterdir()) == []
        else:
            break
    assert calls > 10
    assert disk.left == 0


@by_format
def test_an_export_that_was_cut_off_is_none(tmp_path: Path, written_as: Format) -> None:
    for calls in range(100):
        out = tmp_path / str(calls)
        try:
            export_state(state_of(SOME), POSITION, out, written_as, DiskUntil(calls, Cut()))
        except Cut:
            if not (out / MANIFEST).exists() or not (out / MANIFEST).read_bytes().endswith(b"}\n"):
                refusal(out)
            else:
                assert_same(state_of(SOME), read_export(out, empty_state).state)
        else:
            break
    assert calls > 10
