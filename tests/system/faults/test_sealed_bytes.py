"""Nobody who gets hold of the data folder or a backup, but of no key, reads anything from it.

Every byte is searched for what it must not show. That the search can find something is shown on the same
files, unsealed.
"""

import contextlib
import shutil
import signal
import subprocess
import sys
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
import requests

from journal.frames import decode_frames, decode_header
from journal.segments import list_segments
from listings.keys import KeyDigester
from snapshot.files import SnapshotReader, list_snapshots
from storage.folder import KEYS, LOCK, UNFINISHED, kept_keys
from storage.sealing import Keyring, new_key
from tests.support.failing_disk import Action, Fault, Point
from tests.support.folder_bytes import bytes_of
from tests.support.forked_gateway import ForkedGateway
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OPERATOR_TOKEN,
    OTHER_BOT,
    OTHER_USER,
    OWNER,
    ROOT,
    SERVER,
    SERVER_SUBMISSION,
    USER,
    WAIT_SECONDS,
    Client,
    eventually,
)
from tests.support.killable_gateway import KillableGateway
from tests.support.webhook_receiver import Receiver, receiving, status

DIGEST_SECRET = "key-digest.secret"
SECRET_FILES = {KEYS, DIGEST_SECRET, "operator.token", LOCK}
BACKUP = "votegate.backup"
WEBHOOK_TOKEN = "webhook-token-of-the-tests"
PATH = "/hooks/of-the-tests"
REASON = "denied, as the tests want it"
ANSWER = "what the receiver said"
KEY_NAME = "key name of the tests"
BOT_TEXTS = {
    "name": "Name of a bot",
    "short_description": "Short description of a bot",
    "description": "Long description of a bot, longer than it must be",
    "support_invite": "https://chat.example/invite-of-a-bot",
}
SERVER_TEXTS = {
    "name": "Name of a server",
    "description": "Long description of a server, longer than it must be",
}
KEYWORD = "keyword-of-a-server"
DENIED_BOT = "999999999999999999"
EXTRA_OWNER = "777777777777777777"
USERS = [USER, OTHER_USER, *(str(888888888888888000 + number) for number in range(8))]
LATE_USERS = [str(888888888888889000 + number) for number in range(3)]
IDS = [BOT, OTHER_BOT, DENIED_BOT, SERVER, OWNER, EXTRA_OWNER, *USERS, *LATE_USERS]

Needles = dict[str, bytes]


class Used(NamedTuple):
    """Copies of the data folder over the life of a gateway that has done all it can do."""

    folder: Path
    """As it is now."""
    copies: list[Path]
    """With a backup in the newest one."""
    needles: Needles
    api_keys: list[str]
    digests: list[str]
    digest_secret: str


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    path = tmp_path_factory.mktemp("sealed")
    gateway = ForkedGateway(path / "data")
    with receiving() as receiver:
        try:
            yield _used(gateway, receiver, path)
        finally:
            gateway.close()


def _used(gateway: ForkedGateway, receiver: Receiver, path: Path) -> Used:
    copies: list[Path] = []

    def copy() -> None:
        begun = shutil.ignore_patterns("*" + UNFINISHED)  # a segment may be, at any time
        copies.append(shutil.copytree(gateway.folder, path / f"copy-{len(copies)}", ignore=begun))

    api_keys = _fill(gateway.start(), receiver)
    gateway.done("POST", "/debug/snapshot")
    copy()
    gateway.cast(OTHER_USER, f"/manage/bots/{OTHER_BOT}")
    gateway.done("POST", "/debug/snapshot")  # deletes what is behind the first one
    copy()
    gateway.signal(signal.SIGKILL)

    _tear(gateway.folder)

    gateway.start()
    for user in LATE_USERS:
        gateway.cast(user)
    backup = gateway.operate("GET", "/debug/snapshot").content
    copy()
    (copies[-1] / BACKUP).write_bytes(backup)
    gateway.signal(signal.SIGKILL)

    digest_secret = (gateway.folder / DIGEST_SECRET).read_text().strip()
    digests = [KeyDigester(digest_secret.encode()).digest(key) for key in api_keys]
    return Used(gateway.folder, copies, _needles(receiver, digests), api_keys, digests, digest_secret)


def _tear(folder: Path) -> None:
    """Lets a process die in the middle of writing a vote."""
    torn, client = KillableGateway(folder), Client()
    torn.launch(Fault(Point.JOURNAL_WRITE, Action.SHORT_KILL, nth=2))
    client.base_url, client.operator_token = torn.served() or "", OPERATOR_TOKEN
    with contextlib.closing(client.session), pytest.raises(requests.ConnectionError):
        client.cast(LATE_USERS[0])
    assert torn.was_killed


def _fill(gateway: Client, receiver: Receiver) -> list[str]:
    """Makes something of everything; returns the API keys."""
    bot, hooks = f"/manage/bots/{BOT}", {"url": receiver.url + PATH, "token": WEBHOOK_TOKEN}
    receiver.default = status(200, ANSWER.encode())
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, **BOT_TEXTS, "extra_owners": [EXTRA_OWNER]})
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": DENIED_BOT})
    gateway.done("POST", f"/manage/bots/{DENIED_BOT}/deny", {"reason": REASON})
    gateway.done("POST", f"{bot}/approve", {})
    gateway.done("PUT", f"{bot}/actual-server-count", {"server_count": 1_000})
    issued = gateway.done("POST", f"{bot}/keys", {"name": KEY_NAME})
    rotated = gateway.done("POST", f"{bot}/keys/{issued['id']}/rotate", {"overlap_seconds": 3_600})
    other_key = gateway.list_bot(OTHER_BOT)
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, **SERVER_TEXTS, "keywords": [KEYWORD]})
    gateway.done("POST", f"/manage/servers/{SERVER}/approve", {})
    for listing in (bot, f"/manage/servers/{SERVER}"):
        gateway.done("PUT", f"{listing}/webhook", hooks)
        for user in USERS:
            gateway.cast(user, listing)
    assert gateway.stats(rotated["key"], {"server_count": 1_010, "command_count": 7}).status_code == 200
    eventually(lambda: gateway.done("GET", "/debug/overview.json")["counts"]["webhooks_pending"] == 0)
    assert len(receiver.received) == 2 * len(USERS)
    return [issued["key"], rotated["key"], other_key]


def _needles(receiver: Receiver, digests: list[str]) -> Needles:
    """Return the texts that are on disk only sealed, by themselves."""
    texts = [REASON, receiver.url, PATH, WEBHOOK_TOKEN, ANSWER, KEY_NAME, KEYWORD, *digests, *IDS]
    texts += [*BOT_TEXTS.values(), *SERVER_TEXTS.values(), "vote_cast"]
    return {text: text.encode() for text in texts}


def _numbers(order: Literal["little", "big"]) -> Needles:
    """Ids as a column of numbers would hold them."""
    return {f"{number} as 8 {order} bytes": int(number).to_bytes(8, order) for number in IDS}


def found(needles: Needles, content: bytes) -> set[str]:
    return {name for name, needle in needles.items() if needle in content}


def raw_files(used: Used) -> Iterator[tuple[str, bytes]]:
    for folder in [*used.copies, used.folder]:
        for path in sorted(folder.iterdir()):
            if path.name not in SECRET_FILES:
                yield path.name, path.read_bytes()


def unsealed_journal(folder: Path, keys: Keyring) -> bytes:
    records: list[bytes] = []
    for _, path in list_segments(folder):
        content = path.read_bytes()
        header = decode_header(content)
        seal = keys.seal_of(path, header.key_id, header.salt)
        for frame in decode_frames(content, header.first, header.seed, seal):
            records += frame.records
    return b"".join(records)


def unsealed_snapshot(path: Path, keys: Keyring) -> bytes:
    reader = SnapshotReader(path)
    seal = keys.seal_of(path, reader.header.key_id, reader.header.salt)
    return b"".join(reader.unsealed(seal))


def test_every_kind_of_file_is_among_those_that_are_searched(used: Used) -> None:
    names = [name for name, _ in raw_files(used)]
    assert sum(name.startswith("snapshot-") for name in names) >= 2
    assert sum(name.startswith("journal-") and not name.endswith(".torn") for name in names) >= 3
    assert any(name.endswith(".torn") for name in names)
    assert BACKUP in names
    assert all(content for name, content in raw_files(used) if not name.endswith(UNFINISHED))


def test_no_file_shows_an_id_a_token_a_url_a_text_or_the_digest_of_a_key(used: Used) -> None:
    needles = used.needles | _numbers("little") | _numbers("big")
    shown = {name: found(needles, content) for name, content in raw_files(used)}
    assert not any(shown.values()), shown


def test_no_file_shows_a_secret(used: Used) -> None:
    keys = (used.folder / KEYS).read_text().split()
    texts = [*used.api_keys, used.digest_secret, OPERATOR_TOKEN, *keys]
    needles = {text: text.encode() for text in texts}
    needles |= {f"raw {key}": urlsafe_b64decode(key) for key in keys}
    needles |= {f"raw {digest}": bytes.fromhex(digest) for digest in used.digests}
    shown = {name: found(needles, content) for name, content in raw_files(used)}
    assert not any(shown.values()), shown


def test_the_search_finds_all_of_it_in_the_same_files_unsealed(used: Used) -> None:
    newest, keys = used.copies[-1], kept_keys(used.folder, needed=True)
    journals = b"".join(unsealed_journal(folder, keys) for folder in used.copies)
    assert set(used.needles) - found(used.needles, journals) == set()
    for path in [*(path for _, path in list_snapshots(newest)), newest / BACKUP]:
        content = unsealed_snapshot(path, keys)
        only_behind_it = {"vote_cast"} if path.name == BACKUP else {"vote_cast", *LATE_USERS}
        assert set(used.needles) - found(used.needles, content) <= only_behind_it
        assert found(_numbers("little"), content) >= {f"{user} as 8 little bytes" for user in USERS}


def serve_refused(environment: dict[str, str]) -> str:
    """The one line that a start ends with, with status 1."""
    process = subprocess.run(
        [sys.executable, "server.py", "serve"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert (process.returncode, process.stdout) == (1, "")
    (line,) = process.stderr.splitlines()
    assert line.startswith("votegate cannot serve: ")
    return line


def sealed_bytes(folder: Path) -> dict[str, bytes]:
    """Every file but the lock, which names the process that holds it."""
    return {name: content for name, content in bytes_of(folder).items() if name != LOCK}


@pytest.fixture
def copied(used: Used, tmp_path: Path) -> ForkedGateway:
    """A gateway, not started, on a copy of the folder."""
    return ForkedGateway(shutil.copytree(used.folder, tmp_path / "data"))


def test_a_start_with_another_key_is_refused_and_touches_nothing(copied: ForkedGateway) -> None:
    kept = (copied.folder / KEYS).read_text().strip()
    other = Keyring([new_key()]).to_text()
    before = sealed_bytes(copied.folder)

    line = serve_refused({**copied.environment, "VOTEGATE_SEALING__KEYS": other})

    needed = kept_keys(copied.folder, needed=True).newest.hex()
    assert f"is sealed with key {needed}, which is not among the sealing keys; restore that key" in line
    assert other not in line
    assert kept not in line
    assert sealed_bytes(copied.folder) == before


def test_a_start_without_the_key_file_is_refused_and_touches_nothing(copied: ForkedGateway) -> None:
    kept = (copied.folder / KEYS).read_text().strip()
    (copied.folder / KEYS).unlink()
    before = sealed_bytes(copied.folder)
    line = serve_refused(copied.environment)

    assert line.endswith(f"{KEYS} is missing, and nothing here can be read without it; restore it")
    assert kept not in line
    assert sealed_bytes(copied.folder) == before


def test_a_start_with_the_key_from_the_environment_needs_no_key_file(copied: ForkedGateway) -> None:
    kept = (copied.folder / KEYS).read_text().strip()
    (copied.folder / KEYS).unlink()
    copied.environment["VOTEGATE_SEALING__KEYS"] = kept
    try:
        copied.start()
        assert copied.done("POST", "/debug/verify")["equal"] is True
        assert not (copied.folder / KEYS).exists()
    finally:
        copied.close()
