"""`backup`: a running gateway's state, or a folder's; the secrets in a file of their own."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from server import cli
from snapshot.recovery import load_snapshot
from storage.folder import DIGEST_SECRET, KEYS, OPERATOR_TOKEN, kept_keys
from storage.sealing import opened_secrets
from tests.support.gateways import OPERATOR_TOKEN as TOKEN
from tests.support.gateways import ROOT, WAIT_SECONDS, running
from tests.support.kept_folder import PASSPHRASE, Kept, done, keys_elsewhere, refused, shown, without_lock
from tests.support.memory_ledger import empty_state
from tests.support.raw_receivers import unused_url
from tests.support.webhook_receiver import Receiver, status

pytestmark = pytest.mark.usefixtures("no_settings_around")


def test_the_state_of_a_running_gateway_is_saved_and_read_back(tmp_path: Path) -> None:
    out = tmp_path / "votegate.backup"
    token = tmp_path / "token"
    token.write_text(TOKEN)
    with running(tmp_path / "data") as gateway:
        gateway.list_bot()
        gateway.cast()
        place = ["--url", gateway.base_url, "--token-file", token, "--data-dir", tmp_path / "data"]
        told = shown("backup", out, *place)
        live = gateway.done("GET", "/debug/data.json")
        assert "is there already" in refused("backup", out, *place)
        assert shown("backup", out, "--force", *place)["digest"] == live["digest"]
    assert (told["digest"], told["position"]) == (live["digest"], live["positions"]["head"])
    assert told["bytes"] == out.stat().st_size
    assert out.stat().st_mode & 0o777 == 0o600
    loaded = load_snapshot(out, kept_keys(tmp_path / "data", needed=True), empty_state)
    assert loaded.state.digest() == live["digest"]


def test_the_state_comes_from_the_gateway_of_the_folder_or_else_from_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "votegate.sock"
    config = tmp_path / "config.yaml"
    text = f"data_dir: {tmp_path / 'data'}\nserver: {{unix_socket: {path}}}\noperator: {{token: {TOKEN}}}\n"
    config.write_text(text)
    with running(tmp_path / "data", **{"server.unix_socket": path}) as gateway:
        gateway.on_loop(lambda: None)
        served = shown("backup", tmp_path / "one", "--config", config)
    before = without_lock(tmp_path / "data")
    kept = shown("backup", tmp_path / "two", "--config", config)
    assert (kept["digest"], kept["position"]) == (served["digest"], served["position"])
    assert without_lock(tmp_path / "data") == before


def test_a_folder_that_no_gateway_holds_is_saved_under_its_lock(kept: Kept, tmp_path: Path) -> None:
    told = shown("backup", tmp_path / "new.backup", "--data-dir", kept.path)
    assert (told["digest"], told["position"]) == (kept.digest, kept.position)
    assert shown("verify", tmp_path / "new.backup", "--data-dir", kept.path)["digest"] == kept.digest


def test_a_backup_without_its_key_is_saved_and_said_not_to_be_read_back(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    with running(tmp_path / "data") as gateway:
        place = ["--url", gateway.base_url, "--token-file", token, "--data-dir", tmp_path / "elsewhere"]
        result = done("backup", tmp_path / "one", *place)
        keys = ["--keys-file", tmp_path / "data" / KEYS]
        digest = gateway.done("GET", "/debug/data.json")["digest"]
        assert shown("backup", tmp_path / "two", *place, *keys)["digest"] == digest
    assert result.stderr.startswith("not read back: sealing key ")
    assert not (tmp_path / "elsewhere").exists()


def test_the_secrets_are_saved_in_a_file_of_their_own(
    kept: Kept, tmp_path: Path, passphrase: list[object]
) -> None:
    out, secrets = tmp_path / "new.backup", tmp_path / "new.secrets"
    for name in (DIGEST_SECRET, OPERATOR_TOKEN):
        (kept.path / name).touch(mode=0o600)
    (kept.path / OPERATOR_TOKEN).write_text("a-token-to-keep\n")

    told = shown("backup", out, "--with-secrets", secrets, *passphrase, "--data-dir", kept.path)

    assert told["secrets"] == [DIGEST_SECRET, OPERATOR_TOKEN, KEYS]
    assert secrets.stat().st_mode & 0o777 == 0o600
    opened = opened_secrets(secrets.read_bytes(), PASSPHRASE)
    assert opened == {name: (kept.path / name).read_text().strip() for name in told["secrets"]}
    assert b"a-token-to-keep" not in out.read_bytes() + secrets.read_bytes()


def test_secrets_of_the_settings_are_named_and_not_saved(
    kept: Kept, tmp_path: Path, passphrase: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOTEGATE_SEALING__KEYS", (kept.path / KEYS).read_text())
    monkeypatch.setenv("VOTEGATE_OPERATOR__TOKEN", "a-token-of-the-settings")
    (kept.path / OPERATOR_TOKEN).touch(mode=0o600)
    (kept.path / OPERATOR_TOKEN).write_text("an-old-token")
    secrets = tmp_path / "new.secrets"
    told = shown("backup", tmp_path / "b", "--with-secrets", secrets, *passphrase, "--data-dir", kept.path)
    assert told["secrets"] == [DIGEST_SECRET]
    assert told["secrets_of_settings"] == [OPERATOR_TOKEN, KEYS]
    assert opened_secrets(secrets.read_bytes(), PASSPHRASE).keys() == {DIGEST_SECRET}


def test_a_passphrase_is_typed_twice_on_a_terminal_and_not_shown(kept: Kept, tmp_path: Path) -> None:
    secrets, (ours, theirs) = tmp_path / "new.secrets", pty.openpty()
    command = [sys.executable, "server.py", "backup", str(tmp_path / "new.backup")]
    process = subprocess.Popen(
        [*command, "--with-secrets", str(secrets), "--data-dir", str(kept.path)],
        cwd=ROOT,
        env={"TERM": "xterm"},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,  # or the prompt would go to the terminal that runs the tests
    )
    os.close(theirs)
    seen = b""
    for prompt in (b"Passphrase for the secrets: ", b"Repeat for confirmation: "):
        while prompt not in seen:
            seen += os.read(ours, 1_000)
        os.write(ours, f"{PASSPHRASE}\n".encode())
    assert process.stdout is not None
    process.stdout.read()
    process.stdout.close()
    assert process.wait(WAIT_SECONDS) == 0
    os.close(ours)
    assert PASSPHRASE.encode() not in seen
    assert KEYS in opened_secrets(secrets.read_bytes(), PASSPHRASE)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["out", "--with-secrets", "out"], "the secrets need a file of their own"),
        (["data/out"], "is in the data folder; name another folder"),
        (["out", "--with-secrets", "data/secrets"], "is in the data folder; name another folder"),
        (["out", "--with-secrets", "secrets"], "nobody can type the passphrase without a terminal"),
        (["out", "--with-secrets", "secrets", "--passphrase-file", "short"], "the passphrase is too short"),
        (["out", "--with-secrets", "secrets", "--passphrase-file", "none"], "No such file or directory"),
        (["none/out"], "No such file or directory"),
        (["short"], "is there already; name another file, or add --force"),
    ],
)
def test_what_is_refused_saves_nothing(kept: Kept, tmp_path: Path, arguments: list[str], why: str) -> None:
    (tmp_path / "short").write_text("short")
    before = {str(path) for path in tmp_path.rglob("*")}
    given = [each if each.startswith("--") else tmp_path / each for each in arguments]
    assert why in refused("backup", *given, "--data-dir", kept.path)
    assert {str(path) for path in tmp_path.rglob("*")} == before


def test_without_a_gateway_and_a_folder_nothing_is_saved(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(f"data_dir: {tmp_path / 'none'}\nserver: {{port: {unused_url().rpartition(':')[2]}}}\n")
    line = refused("backup", tmp_path / "out", "--config", config)
    assert line.startswith("no operator token: ")
    (tmp_path / "token").write_text("a-token-of-the-tests")
    line = refused("backup", tmp_path / "out", "--config", config, "--token-file", tmp_path / "token")
    assert line.startswith("no gateway answers at ")
    assert {path.name for path in tmp_path.iterdir()} == {"config.yaml", "token"}


def test_the_secrets_of_another_gateway_are_not_saved_beside_a_backup(
    kept: Kept, tmp_path: Path, passphrase: list[object]
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    keys_elsewhere(tmp_path / "elsewhere")
    with running(tmp_path / "other") as gateway:
        place = ["--url", gateway.base_url, "--token-file", tmp_path / "token"]
        secrets = ["--with-secrets", tmp_path / "s", *passphrase, "--data-dir", kept.path]
        result = CliRunner().invoke(cli, ["backup", *map(str, [tmp_path / "b", *place, *secrets])])
    assert result.exit_code == 1
    assert "so the folder is that of another gateway" in result.stderr
    assert not (tmp_path / "b").exists()
    assert not (tmp_path / "s").exists()


def test_a_file_that_is_cut_or_no_backup_is_not_saved(tmp_path: Path, receiver: Receiver) -> None:
    (tmp_path / "token").write_text(TOKEN)
    place: list[Any] = [
        "--url",
        receiver.url,
        "--token-file",
        tmp_path / "token",
        "--data-dir",
        tmp_path / "n",
    ]
    for body in (b"", b"VGSNAP", b"something else entirely"):
        receiver.default = status(200, body, Content_Type="application/octet-stream")
        assert "is not a snapshot" in refused("backup", tmp_path / "out", *place)
    receiver.default = status(503, json.dumps({"success": False, "error": "Busy."}).encode())
    assert refused("backup", tmp_path / "out", *place) == "Busy."
    assert [path.name for path in tmp_path.iterdir()] == ["token"]
