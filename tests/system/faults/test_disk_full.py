"""A real disk without space: reads go on, writes wait, and nothing acknowledged is lost."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal.segments import list_segments
from tests.support.forked_gateway import ForkedGateway
from tests.support.gateways import BOT, ROOT, WAIT_SECONDS, eventually

DISK_BYTES = 1 << 20
PAGE_BYTES = 4_096
FIRST_USER = 500_000_000_000_000_000


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A folder that is a disk of its own, of 1 MiB."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    options = f"size={DISK_BYTES},mode=700"
    mounting = _run("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder))
    if mounting.returncode != 0:
        pytest.skip(f"needs to mount a tmpfs: {mounting.stderr.strip()}")
    try:
        yield folder
    finally:
        if _run("umount", str(folder)).returncode != 0:
            _run("umount", "--lazy", str(folder)).check_returncode()


@pytest.fixture
def gateway(mounted: Path) -> Iterator[ForkedGateway]:
    gateway = ForkedGateway(mounted)
    yield gateway
    if hasattr(gateway, "process"):
        gateway.close()


def _run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment or None,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def fill(folder: Path) -> Path:
    """Takes all the space there is with a file where a file system may have files of its own."""
    ballast = folder / "lost+found" / "ballast"
    ballast.parent.mkdir(exist_ok=True)
    with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(PAGE_BYTES))
    return ballast


def files_of(folder: Path) -> dict[str, bytes]:
    """The files in the folder, except the lock, which belongs to the kernel and contains a process id."""
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "lock"
    }


def refused_start(gateway: ForkedGateway) -> str:
    """Return the one line of a start that must be refused."""
    before = files_of(gateway.folder)
    ended = _run(sys.executable, "server.py", "serve", **gateway.environment)
    assert ended.returncode == 1
    assert files_of(gateway.folder) == before
    lines = ended.stderr.splitlines()
    assert len(lines) == 1, ended.stderr
    assert str(gateway.folder) in lines[0]
    return lines[0]


class Voters:
    """Users who vote one after another, and what they were told."""

    def __init__(self, gateway: ForkedGateway) -> None:
        self.voted: list[str] = []
        """Whose vote was acknowledged."""
        self._gateway = gateway
        self._next = FIRST_USER

    def vote(self) -> int:
        """The status of one more user's vote."""
        self._next += 1
        user = str(self._next)
        answer = self._gateway.operate("POST", f"/manage/bots/{BOT}/votes", {"user": user})
        if answer.status_code == 201:
            self.voted.append(user)
        else:
            body = answer.json()
            assert body == {**body, "success": False, "status": answer.status_code, "code": "unavailable"}
            assert body["error"]
        return answer.status_code

    def found(self) -> set[str]:
        """Whose votes the gateway knows."""
        found = self._gateway.done("POST", f"/manage/bots/{BOT}/votes/check", {"users": self.voted})["votes"]
        return {vote["user"] for vote in found if vote["voted"]}


def test_without_space_reads_go_on_and_writes_answer_503_until_there_is_some(gateway: ForkedGateway) -> None:
    gateway.start()
    key = gateway.list_bot()
    voters = Voters(gateway)
    assert voters.vote() == 201
    ballast = fill(gateway.folder)
    statuses = [voters.vote() for _ in range(PAGE_BYTES // 64)]  # the last page has room for some
    assert statuses[-1] == 503
    assert set(statuses) <= {201, 503}
    assert gateway.voters(key, user=voters.voted[0]).json()["voted"] is True
    assert gateway.stats(key, {"server_count": 1_000}).status_code == 503
    assert gateway.operate("GET", f"/manage/bots/{BOT}").status_code == 200
    assert gateway.request("GET", "/healthz").status_code == 200
    not_ready = gateway.request("GET", "/readyz")
    assert (not_ready.status_code, "no space left on the disk" in not_ready.text) == (503, True)
    (journal,) = gateway.concerns("journal")
    assert "no space left on the disk" in journal
    eventually(lambda: "is full" in "".join(gateway.concerns("disk")))
    ballast.unlink()
    eventually(lambda: voters.vote() == 201)
    assert gateway.request("GET", "/readyz").status_code == 200
    assert gateway.concerns("journal") == []
    assert voters.found() == set(voters.voted)
    gateway.close()
    assert gateway.log.count("writes are refused until there is") == 1
    assert gateway.log.count("the journal takes writes again") == 1
    gateway.start()
    assert voters.found() == set(voters.voted)


def test_a_first_start_without_space_is_refused_in_one_line(gateway: ForkedGateway) -> None:
    fill(gateway.folder)
    refused_start(gateway)


def test_a_start_that_needs_space_and_has_none_is_refused_in_one_line_and_works_once_there_is_some(
    gateway: ForkedGateway,
) -> None:
    gateway.start()
    gateway.list_bot()
    voters = Voters(gateway)
    assert voters.vote() == 201
    gateway.close()
    with list_segments(gateway.folder)[-1][1].open("ab") as segment:
        segment.write(b"torn")  # it has to be set aside, which takes space
    ballast = fill(gateway.folder)
    refused_start(gateway)
    ballast.unlink()
    gateway.start()
    assert voters.found() == set(voters.voted)


def test_a_start_on_a_read_only_disk_is_refused_in_one_line(gateway: ForkedGateway) -> None:
    gateway.start()
    gateway.list_bot()
    gateway.close()
    _run("mount", "-o", "remount,ro", str(gateway.folder)).check_returncode()
    refused_start(gateway)
