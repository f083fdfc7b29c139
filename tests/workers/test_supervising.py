"""workers/supervising.py, with programs that are no gateways."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from core.clock import SystemClock
from tests.support.coroutines import run, turns, until
from workers.supervising import Plan, Supervising
from workers.supervisor_channel import Inherited

STOP_SECONDS = 0.5
BEGIN = """
import json, os, pathlib, signal, socket, sys, time

def say(text):
    channel.send(text.encode())

inherited = json.loads(os.environ["WORKER_INHERITS"])
worker = str(inherited["worker"])
starts = pathlib.Path(sys.argv[1])
is_first = worker not in starts.read_text()
with starts.open("a") as file:
    file.write(worker)
channel = socket.socket(fileno=inherited["channel"])
channel.setblocking(True)
"""


def supervised(
    folder: Path,
    program: str,
    story: Callable[[Supervising], Awaitable[None]],
    workers: int = 1,
    *,
    is_valid: bool = True,
) -> str:
    """Keep workers with a program during a story. Return their numbers in the order of their starts."""
    starts = folder / "starts"
    starts.write_text("")

    async def keep() -> None:
        stop, memory = asyncio.Event(), os.open(os.devnull, os.O_RDONLY)
        plan = Plan(
            workers=workers,
            command=[sys.executable, "-c", BEGIN + program, str(starts)],
            environment=os.environ,
            inherited=lambda worker, channel: Inherited(worker, workers, channel, memory, ()),
            needs_first=lambda _: False,
            prepare=lambda _: None,
            gone=lambda _: None,
            is_valid=lambda: is_valid,
            stop_seconds=STOP_SECONDS,
        )
        supervising = Supervising(plan, SystemClock(), stop)
        running = asyncio.create_task(supervising.run())
        try:
            await until(lambda: supervising.why_not_ready() is None)
            await story(supervising)
        finally:
            left = [worker.pid for worker in supervising.report.workers]
            stop.set()
            await running
            assert [pid for pid in left if pid is not None and _is_there(pid)] == []
            await turns()  # asyncio closes the last process
            os.close(memory)

    run(keep())
    return starts.read_text()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def replaced_once(supervising: Supervising) -> None:
    """Replace the only worker, and expect that its second process serves."""
    supervising.replace_all()
    await until(lambda: not supervising.report.is_rolling)
    (worker,) = supervising.report.workers
    assert (worker.state, worker.starts, worker.failures) == ("ready", 2, 0)


def test_a_new_worker_may_be_ready_long_after_the_time_in_which_the_old_one_had_to_stop(
    tmp_path: Path,
) -> None:
    slow = "time.sleep(0 if is_first else 4 * 0.5); say('STATUS=ready'); time.sleep(3_600)"
    supervised(tmp_path, slow, replaced_once)


def test_a_worker_that_does_not_stop_in_time_is_killed_and_replaced(tmp_path: Path) -> None:
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say('STATUS=ready'); time.sleep(3_600)"
    supervised(tmp_path, deaf, replaced_once)


def test_the_workers_that_serve_are_replaced_last(tmp_path: Path) -> None:
    async def replaced(supervising: Supervising) -> None:
        def are(*states: str) -> bool:
            return [worker.state for worker in supervising.report.workers] == [*states]

        await until(lambda: are("ready", "ready"))
        weak = supervising.report.workers[1].pid
        assert weak is not None
        os.kill(weak, signal.SIGKILL)
        await until(lambda: are("ready", "waiting"))
        supervising.replace_all()
        await until(lambda: not supervising.report.is_rolling)
        assert are("ready", "ready")

    serving = "say('STATUS=ready'); time.sleep(3_600)"
    assert supervised(tmp_path, serving, replaced, workers=2)[2:] == "21"


def test_with_settings_that_are_not_valid_nothing_is_replaced_whoever_asks(tmp_path: Path) -> None:
    asking = r"say('RESTART=1\nSTATUS=ready'); time.sleep(3_600)"

    async def asked(supervising: Supervising) -> None:
        await turns()
        (worker,) = supervising.report.workers
        assert (worker.state, worker.starts, supervising.report.is_rolling) == ("ready", 1, False)

    supervised(tmp_path, asking, asked, is_valid=False)
