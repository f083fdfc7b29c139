"""The disk is folded for a verification by a process of its own, which can fail alone."""

import sys
import threading
from pathlib import Path

import pytest

import gateway.store as store
from core.state import State
from snapshot.files import list_snapshots
from snapshot.recovery import Folded, Folding, Order, folded
from tests.support.folder_bytes import overwrite
from tests.support.gateways import WAIT_SECONDS, eventually, running
from tests.support.journals import KEYS
from tests.support.memory_ledger import empty_state
from tests.support.written_history import HISTORY, write_history

KEPT = 100  # deliveries


def order_of(folder: Path, until: int = len(HISTORY)) -> Order:
    return Order(str(folder), KEYS.to_text(), KEPT, until)


def python(program: str) -> Folding:
    return Folding(lambda: (sys.executable, "-c", program), store.ROOT)


def ended(status: int) -> Folded:
    return Folded(problem=f"the process that folds the disk ended with status {status}")


@pytest.mark.parametrize("until", [len(HISTORY), 3])
def test_another_process_folds_the_disk_up_to_a_position(tmp_path: Path, until: int) -> None:
    digests = write_history(tmp_path, snapshots=(2,))
    assert Folding(store.fold_command, store.ROOT).run(order_of(tmp_path, until)) == Folded(digests[until])


def test_a_folder_that_cannot_be_folded_is_a_problem(tmp_path: Path) -> None:
    write_history(tmp_path, snapshots=(2, 5))
    for _, path in list_snapshots(tmp_path):
        overwrite(path, path.read_bytes()[:-1])
    found = Folding(store.fold_command, store.ROOT).run(order_of(tmp_path))
    assert found.digest is None
    assert "missing" in (found.problem or "")


def test_the_digest_is_that_of_a_fold_in_this_process(tmp_path: Path) -> None:
    digests = write_history(tmp_path)
    states: list[State] = []

    def empty() -> State:
        states.append(empty_state())
        return states[-1]

    assert folded(order_of(tmp_path), empty) == Folded(digests[-1])
    assert states[-1].digest() == digests[-1]


def test_an_order_shows_no_keys(tmp_path: Path) -> None:
    order = order_of(tmp_path)
    assert order.keys not in repr(order)
    assert str(tmp_path) in repr(order)


@pytest.mark.parametrize(
    ("program", "status"),
    [("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)],
    ids=["fails", "is killed"],
)
def test_a_process_that_ends_otherwise_is_a_problem_and_no_digest(
    tmp_path: Path, program: str, status: int
) -> None:
    assert python(program).run(order_of(tmp_path)) == ended(status)


def test_the_log_and_nothing_else_has_what_a_failing_process_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert python("raise ValueError('a bug')").run(order_of(tmp_path)) == ended(1)
    (line,) = caplog.messages
    assert line.startswith("the process that folds the disk has failed: Traceback")
    assert line.endswith("ValueError: a bug")
    assert capfd.readouterr() == ("", "")


def test_a_process_that_cannot_be_started_is_a_problem(tmp_path: Path) -> None:
    found = Folding(lambda: (str(tmp_path / "no-such-program"),), store.ROOT).run(order_of(tmp_path))
    assert found == Folded(problem="no process to fold the disk can be started (No such file or directory)")


def test_a_process_that_nobody_waits_for_any_more_is_ended(tmp_path: Path) -> None:
    started = tmp_path / "started"
    hangs = python(f"import pathlib, time; pathlib.Path({str(started)!r}).touch(); time.sleep(3600)")
    found: list[Folded] = []
    thread = threading.Thread(target=lambda: found.append(hangs.run(order_of(tmp_path))))
    thread.start()
    eventually(started.exists)
    hangs.stop()
    thread.join(WAIT_SECONDS)
    assert found == [ended(-9)]


def test_a_process_that_nobody_waits_for_before_it_starts_is_ended_too(tmp_path: Path) -> None:
    hangs = python("import time; time.sleep(3600)")
    hangs.stop()
    assert hangs.run(order_of(tmp_path)) == ended(-9)


def test_a_gateway_verifies_its_disk_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path / "data") as gateway:
        gateway.list_bot()
        gateway.cast()
        verified = gateway.done("POST", "/debug/verify")
        assert (verified["equal"], verified["problem"]) == (True, None)

        monkeypatch.setattr(store, "fold_command", lambda: (sys.executable, "-c", "raise SystemExit(3)"))
        verified = gateway.done("POST", "/debug/verify")
        assert (verified["equal"], verified["folded_digest"]) == (False, None)
        assert verified["problem"] == ended(3).problem
