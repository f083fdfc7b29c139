"""`snapshot`: what each command does and prints."""

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

from journal.frames import HEADER_BYTES
from journal.segments import list_segments
from snapshot.files import list_snapshots
from storage.folder import DIGEST_SECRET, KEYS, OPERATOR_TOKEN, kept_keys
from tests.support.folder_bytes import overwrite
from tests.support.gateways import OTHER_USER, ROOT, WAIT_SECONDS, running
from tests.support.kept_folder import (
    WARNING,
    Kept,
    done,
    flip,
    process,
    refused,
    shown,
    snapshot,
    without_lock,
)

pytestmark = pytest.mark.usefixtures("no_settings_around")


# -- inspect ---------------------------------------------------------------------------------------------


def test_the_files_of_a_folder_are_told_without_its_key_and_beside_a_gateway(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as gateway:
        gateway.list_bot()
        gateway.done("POST", "/debug/snapshot")
        gateway.list_server()
        key_id = kept_keys(data, needed=True).newest.hex()
        (data / KEYS).rename(tmp_path / KEYS)
        found = shown("inspect", "--data-dir", data)["files"]
        lines = done("inspect", "--data-dir", data).stdout.splitlines()
        (tmp_path / KEYS).rename(data / KEYS)
    wrote_ms = gateway.clock.now_ms()
    assert [(one["kind"], one["position"], one["created_ms"], one["key_id"]) for one in found] == [
        ("snapshot", 4, wrote_ms, key_id),
        ("segment", 1, None, key_id),
        ("segment", 5, None, key_id),
    ]
    assert len(lines) == 3
    assert lines[0].endswith(f"  position 4  of 2025-06-15 15:06:40 UTC  key {key_id}")


def test_torn_and_unfinished_and_damaged_files_are_told_apart(kept: Kept) -> None:
    (kept.path / "journal-00000000000000000001-78.torn").write_bytes(b"torn")
    (kept.path / "snapshot-00000000000000000099.tmp").write_bytes(b"some")
    flip(list_segments(kept.path)[-1][1], 20)
    overwrite(list_snapshots(kept.path)[0][1], b"something else")

    found = shown("inspect", "--data-dir", kept.path)["files"]
    text = done("inspect", "--data-dir", kept.path).stdout

    (torn,) = [one for one in found if one["kind"] == "torn"]
    assert (torn["cut_from"], torn["cut_at"], torn["bytes"]) == ("journal-00000000000000000001", 78, 4)
    assert [one["bytes"] for one in found if one["kind"] == "unfinished"] == [4]
    problems = [one["problem"] for one in found if one["problem"]]
    assert len(problems) == 2
    assert "is not a snapshot" in problems[0]
    assert problems[1] == "the segment header fails its checksum"
    assert text.count("BAD: ") == 2


def test_what_is_in_a_backup_is_told_with_its_key_alone(kept: Kept, tmp_path: Path) -> None:
    command = ("inspect", kept.backup, "--data-dir")
    told = shown(*command, kept.path)
    assert told["contents"]["listings"] == 2
    assert told["contents"]["votes"] == 2
    assert told["contents"]["last_position"] == kept.position
    assert f"last position {kept.position}" in done(*command, kept.path).stdout

    keyless = shown(*command, tmp_path / "nowhere")
    assert keyless == {"header": told["header"], "contents": None}
    assert "--keys-file" in done(*command, tmp_path / "nowhere").stdout
    assert shown(*command, tmp_path / "nowhere", "--keys-file", kept.path / KEYS) == told
    assert not (tmp_path / "nowhere").exists()


# -- verify ----------------------------------------------------------------------------------------------


def test_a_good_folder_is_called_good_and_left_as_it_is(kept: Kept) -> None:
    before = without_lock(kept.path)
    verified = shown("verify", "--data-dir", kept.path)
    text = done("verify", "--data-dir", kept.path).stdout
    assert (verified["good"], verified["digest"], verified["position"]) == (True, kept.digest, kept.position)
    assert text.endswith(f"position {kept.position}, digest {kept.digest}\n")
    assert without_lock(kept.path) == before


def test_the_folder_may_be_named_by_a_file_of_settings(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(f"data_dir: {kept.path}\n")
    assert shown("verify", "--config", tmp_path / "config.yaml")["digest"] == kept.digest


def test_everything_that_is_bad_is_named_with_its_place(kept: Kept) -> None:
    snapshots = [path for _, path in list_snapshots(kept.path)]
    segment = list_segments(kept.path)[0][1]
    flip(snapshots[-1], -1)
    flip(segment, HEADER_BYTES + 50)
    before = without_lock(kept.path)

    result = snapshot("verify", "--data-dir", kept.path)

    assert result.exit_code == 1
    bad = [line for line in result.stdout.splitlines() if line.startswith("BAD ")]
    assert bad[0].startswith(f"BAD   {snapshots[-1].name}: {snapshots[-1]} is damaged at byte ")
    assert f"{segment}: the frame fails its checksum (at byte {HEADER_BYTES})" in bad[1]
    assert [line for line in result.stdout.splitlines() if line.startswith("good")] == [
        f"good  {path.name}: whole, of position {int(path.name[-20:])}" for path in snapshots[:-1]
    ]
    assert without_lock(kept.path) == before


def test_an_unfinished_write_is_told_and_is_no_fault(kept: Kept) -> None:
    with list_segments(kept.path)[-1][1].open("ab") as file:
        file.write(b"unfinished")
    before = without_lock(kept.path)
    assert "an unfinished write of a crash" in done("verify", "--data-dir", kept.path).stdout
    assert without_lock(kept.path) == before


def test_a_backup_is_verified_by_itself(kept: Kept, tmp_path: Path) -> None:
    verified = shown("verify", kept.backup, "--data-dir", tmp_path / "none", "--keys-file", kept.path / KEYS)
    assert (verified["good"], verified["digest"], verified["position"]) == (True, kept.digest, kept.position)

    flip(kept.backup, -1)
    result = snapshot("verify", kept.backup, "--data-dir", kept.path)
    assert result.exit_code == 1
    assert f"{kept.backup} is damaged at byte " in result.stdout


# -- export and restore ----------------------------------------------------------------------------------


def assert_serves(folder: Path, kept: Kept) -> None:
    """A gateway goes on from the folder, with the old keys."""
    shutil.copy(kept.path / "key-digest.secret", folder)
    with running(folder) as gateway:
        live = gateway.done("GET", "/debug/data.json")
        assert (live["digest"], live["positions"]["head"]) == (kept.digest, kept.position)
        assert gateway.voters(kept.api_key, user=OTHER_USER).json()["voted"] is True
        gateway.done("POST", "/debug/snapshot")
        assert gateway.done("POST", "/debug/verify")["equal"] is True
        gateway.list_bot("777777777777777777")


@pytest.mark.parametrize("written_as", ["ndjson", "csv"])
@pytest.mark.parametrize("from_backup", [False, True])
def test_a_gateway_goes_on_from_what_was_exported_and_restored(
    kept: Kept, tmp_path: Path, written_as: str, from_backup: bool
) -> None:
    out, new = tmp_path / "out", tmp_path / "new"
    source = ["--from", kept.backup] if from_backup else []
    exported = done("export", out, "--format", written_as, "--data-dir", kept.path, *source)
    assert exported.stdout.endswith(f"position {kept.position}, digest {kept.digest}\n")
    assert exported.stderr == WARNING

    restored = done("restore", out, "--data-dir", new, "--allow-missing")

    assert restored.stdout == f"position {kept.position}, digest {kept.digest}\n"
    assert "key-digest.secret  MISSING: no API key works without it" in restored.stderr
    assert_serves(new, kept)


def test_a_gateway_goes_on_from_a_restored_backup(kept: Kept, tmp_path: Path) -> None:
    new = tmp_path / "new"
    restored = shown(
        "restore", kept.backup, "--data-dir", new, "--keys-file", kept.path / KEYS, "--allow-missing"
    )
    assert (restored["digest"], restored["position"]) == (kept.digest, kept.position)
    assert kept_keys(new, needed=True).newest != kept_keys(kept.path, needed=True).newest
    assert_serves(new, kept)


def test_a_backup_is_restored_with_the_keys_that_are_in_the_new_folder(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    shutil.copy(kept.path / KEYS, tmp_path / "new")
    done("restore", kept.backup, "--data-dir", tmp_path / "new", "--allow-missing")
    assert_serves(tmp_path / "new", kept)


def test_a_restored_folder_has_the_operator_token_that_it_is_given(kept: Kept, tmp_path: Path) -> None:
    new, token = tmp_path / "new", "a-token-that-was-kept-apart"
    new.mkdir()
    for name in (KEYS, DIGEST_SECRET):
        shutil.copy(kept.path / name, new)
    (new / OPERATOR_TOKEN).touch(mode=0o600)
    (new / OPERATOR_TOKEN).write_text(f"{token}\n")

    restored = done("restore", kept.backup, "--data-dir", new)

    assert "MISSING" not in restored.stderr
    assert restored.stderr.count(f"  in {new}\n") == 3
    with running(new, **{"operator.token": None}) as gateway:
        gateway.operator_token = token
        assert gateway.done("GET", "/debug/data.json")["digest"] == kept.digest
    assert (new / OPERATOR_TOKEN).read_text() == f"{token}\n"


def test_a_restore_says_which_secrets_are_missing_and_counts_those_of_the_settings(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOTEGATE_SEALING__KEYS", (kept.path / KEYS).read_text())
    arguments = ("restore", kept.backup, "--data-dir")
    line = refused(*arguments, tmp_path / "one")
    assert line.startswith("nothing was restored: operator.token missing; name a file with --secrets, ")

    monkeypatch.setenv("VOTEGATE_OPERATOR__TOKEN_FILE", str(kept.path / DIGEST_SECRET))
    line = refused(*arguments, tmp_path / "one")
    assert line.startswith("nothing was restored: key-digest.secret missing; ")
    assert not (tmp_path / "one").exists()

    monkeypatch.setenv("VOTEGATE_KEYS__DIGEST_SECRET", "x" * 40)
    assert done(*arguments, tmp_path / "other").stderr.count("  in the settings\n") == 3


def test_keys_of_the_settings_open_and_seal_too(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOTEGATE_SEALING__KEYS", (kept.path / KEYS).read_text())
    done("restore", kept.backup, "--data-dir", tmp_path / "new", "--allow-missing")
    assert not (tmp_path / "new" / KEYS).exists()
    assert shown("verify", "--data-dir", tmp_path / "new")["digest"] == kept.digest


def test_bars_are_shown_on_a_terminal_and_nowhere_else(kept: Kept, tmp_path: Path) -> None:
    export = ("export", "--format", "csv", "--data-dir", kept.path)
    ours, theirs = pty.openpty()
    piped = subprocess.run(
        process(*export, tmp_path / "piped"), cwd=ROOT, capture_output=True, text=True, timeout=WAIT_SECONDS
    )
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    shown_there = subprocess.run(
        process(*export, tmp_path / "shown"), cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, env=environment
    )
    os.close(theirs)
    on_terminal = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert (piped.returncode, piped.stderr) == (0, WARNING)
    assert shown_there.returncode == 0
    assert "\x1b[" in on_terminal
    assert "━" in on_terminal
