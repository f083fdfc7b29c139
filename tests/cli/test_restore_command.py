"""`restore`: a folder that starts, with the old secrets, or nothing at all."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.folder import DIGEST_SECRET, KEYS, OPERATOR_TOKEN
from storage.sealing import sealed_secrets
from tests.support.folder_bytes import bytes_of
from tests.support.forked_gateway import ForkedGateway
from tests.support.gateways import BOT, OTHER_USER, ROOT, USER, WAIT_SECONDS, eventually
from tests.support.kept_folder import PASSPHRASE, Kept, done, flip, keys_elsewhere, refused, shown, snapshot
from tests.support.webhook_receiver import Receiver, status

pytestmark = pytest.mark.usefixtures("no_settings_around")


@pytest.fixture
def secrets(kept: Kept, tmp_path: Path, passphrase: list[object]) -> list[object]:
    """The options that name the file of secrets of the kept folder."""
    del passphrase
    path = tmp_path / "votegate.secrets"
    saved = {name: (kept.path / name).read_text().strip() for name in (KEYS, DIGEST_SECRET)}
    path.write_bytes(sealed_secrets({**saved, OPERATOR_TOKEN: "a-token-to-keep"}, PASSPHRASE))
    return ["--secrets", path, "--passphrase-file", tmp_path / "passphrase"]


def without_token(folder: Path) -> ForkedGateway:
    """A gateway in a process, with the operator token of its folder."""
    gateway = ForkedGateway(folder)
    del gateway.environment["VOTEGATE_OPERATOR__TOKEN"]
    gateway.start()
    gateway.operator_token = (folder / OPERATOR_TOKEN).read_text().strip()
    return gateway


def test_a_killed_gateway_goes_on_elsewhere_from_its_backup_and_its_secrets(
    tmp_path: Path, receiver: Receiver, passphrase: list[object]
) -> None:
    """With listings, keys, votes, and deliveries that still wait."""
    receiver.default = status(500)
    old, out, kept = tmp_path / "data", tmp_path / "votegate.backup", tmp_path / "votegate.secrets"
    gateway = without_token(old)
    try:
        key = gateway.list_bot()
        gateway.list_server()
        gateway.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": receiver.url})
        gateway.cast()
        gateway.cast(OTHER_USER)
        eventually(lambda: receiver.received)
        place = ["--url", gateway.base_url, "--data-dir", old]
        saved = shown("backup", out, "--with-secrets", kept, *passphrase, *place)
    finally:
        gateway.close()
    digest = saved["digest"]

    new = tmp_path / "elsewhere" / "data"
    restored = done("restore", out, "--secrets", kept, *passphrase, "--data-dir", new)

    assert restored.stdout == f"position {saved['position']}, digest {digest}\n"
    assert restored.stderr.count(f"  in {kept}\n") == 3
    assert shown("verify", "--data-dir", new)["digest"] == digest
    receiver.default = status(204)
    receiver.received.clear()
    after = without_token(new)
    try:
        assert after.operator_token == gateway.operator_token
        assert [after.voters(key, user=user).json()["voted"] for user in (USER, OTHER_USER)] == [True, True]
        assert after.done("POST", "/debug/verify")["equal"] is True
        eventually(lambda: len({each.body for each in receiver.received}) == 2)
    finally:
        after.close()


def test_a_restore_says_what_it_needs_before_it_makes_anything(
    kept: Kept, tmp_path: Path, secrets: list[object]
) -> None:
    new = tmp_path / "new"
    lines = snapshot("restore", kept.backup, "--data-dir", new).stderr.splitlines()
    assert lines[:4] == [
        f"{new} needs these secrets:",
        "  sealing.keys       MISSING: nothing in the backup can be read without it",
        "  key-digest.secret  MISSING: no API key works without it",
        "  operator.token     MISSING: the next start would create a new token",
    ]
    assert lines[4].endswith(
        "which is not here; name the file of secrets with --secrets, or a sealing.keys file with --keys-file"
    )
    assert not new.exists()
    told = done("restore", kept.backup, *secrets, "--data-dir", new).stderr
    assert told.count(f"  in {secrets[1]}\n") == 3
    assert {name: (new / name).read_text().strip() for name in (OPERATOR_TOKEN, DIGEST_SECRET)} == {
        OPERATOR_TOKEN: "a-token-to-keep",
        DIGEST_SECRET: (kept.path / DIGEST_SECRET).read_text().strip(),
    }
    assert all((new / name).stat().st_mode & 0o777 == 0o600 for name in (KEYS, DIGEST_SECRET, OPERATOR_TOKEN))


def test_a_folder_may_hold_the_secrets_already(kept: Kept, tmp_path: Path, secrets: list[object]) -> None:
    new = tmp_path / "new"
    new.mkdir(mode=0o700)
    (new / OPERATOR_TOKEN).touch(mode=0o600)
    (new / OPERATOR_TOKEN).write_text("another-token-than-that")
    line = refused("restore", kept.backup, *secrets, "--data-dir", new)
    assert line == f"{new / OPERATOR_TOKEN} is another one than that of {secrets[1]}; remove one of the two"
    assert set(bytes_of(new)) == {OPERATOR_TOKEN}
    (new / OPERATOR_TOKEN).write_text("a-token-to-keep\n")
    assert f"  in {new}\n" in done("restore", kept.backup, *secrets, "--data-dir", new).stderr


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def flip_first(path: Path) -> None:
    flip(path, 0)


def flip_last(path: Path) -> None:
    flip(path, -1)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [cut, flip_first, flip_last, empty])
@pytest.mark.parametrize("which", ["backup", "secrets"])
def test_a_file_that_is_damaged_makes_nothing(
    kept: Kept, tmp_path: Path, secrets: list[object], damage: Callable[[Path], None], which: str
) -> None:
    path = kept.backup if which == "backup" else Path(str(secrets[1]))
    damage(path)
    line = refused("restore", kept.backup, *secrets, "--data-dir", tmp_path / "new")
    assert str(path) in line
    assert not (tmp_path / "new").exists()


def test_a_wrong_passphrase_makes_nothing(kept: Kept, tmp_path: Path, secrets: list[object]) -> None:
    (tmp_path / "passphrase").write_text("another passphrase")
    line = refused("restore", kept.backup, *secrets, "--data-dir", tmp_path / "new")
    why = "the passphrase is wrong, or the file is damaged"
    assert line == f"nothing was restored: {secrets[1]}: {why}"
    no_terminal = refused("restore", kept.backup, *secrets[:2], "--data-dir", tmp_path / "new")
    assert no_terminal.startswith("nobody can type the passphrase without a terminal")
    assert not (tmp_path / "new").exists()


def test_the_secrets_of_another_backup_make_nothing(
    kept: Kept, tmp_path: Path, secrets: list[object]
) -> None:
    other = keys_elsewhere(tmp_path / "other").read_text().strip()
    Path(str(secrets[1])).write_bytes(sealed_secrets({KEYS: other}, PASSPHRASE))
    line = refused("restore", kept.backup, *secrets, "--data-dir", tmp_path / "new")
    assert "which is not among the secrets: they are of another gateway, or older than its key" in line
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_not_empty_is_left_alone(kept: Kept, secrets: list[object]) -> None:
    before = bytes_of(kept.path)
    assert "is there already" in refused("restore", kept.backup, *secrets, "--data-dir", kept.path)
    assert bytes_of(kept.path) == before


def restoring(kept: Kept, new: Path, before: str) -> subprocess.CompletedProcess[str]:
    """A restore in a process of its own, which runs some code first."""
    program = f"import resource, signal; {before}; from server import cli; cli()"
    arguments = [
        "restore",
        kept.backup,
        "--keys-file",
        kept.path / KEYS,
        "--allow-missing",
        "--data-dir",
        new,
    ]
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )


def test_a_restore_that_is_killed_in_the_middle_makes_no_folder(kept: Kept, tmp_path: Path) -> None:
    """The kernel kills a process that writes more than it may: in the middle of the snapshot."""
    limited = (
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL); resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))"
    )
    limited += "; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))"
    new = tmp_path / "new"
    assert restoring(kept, new, limited).returncode == -signal.SIGXFSZ
    assert not new.exists()
    assert restoring(kept, new, "pass").returncode == 0, "what the killed one left is in nobody's way"
    assert shown("verify", "--data-dir", new)["digest"] == kept.digest


def test_a_restore_that_is_told_to_stop_makes_nothing_and_says_so(kept: Kept, tmp_path: Path) -> None:
    new = tmp_path / "new"
    before = {path.name for path in tmp_path.iterdir()}
    stopping = (
        "import os, snapshot.restore as r; w = r.begin_journal; "
        "r.begin_journal = lambda *a: (w(*a), os.kill(os.getpid(), signal.SIGTERM))"
    )
    stopped = restoring(kept, new, stopping)
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert stopped.stderr.splitlines()[-1] == "Error: nothing was restored: the command was stopped"
    assert "Traceback" not in stopped.stderr
    assert {path.name for path in tmp_path.iterdir()} == before
