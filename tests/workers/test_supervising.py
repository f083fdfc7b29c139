"""workers/supervising.py, with programs that are no gateways."""

import asyncio
import os
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

starts = pathlib.Path(sys.argv[1])
starts.write_text(starts.read_text() + "x")
is_first = starts.read_text() == "x"
channel = socket.socket(fileno=json.loads(os.environ["WORKER_INHERITS"])["channel"])
channel.setblocking(True)
"""


def supervised(folder: Path, program: str, story: Callable[[Supervising], Awaitable[None]]) -> None:
    """Keep one worker with a program while a story goes on."""
    starts = folder / "starts"
    starts.write_text("")

    async def keep() -> None:
        stop, memory = asyncio.Event(), os.open(os.devnull, os.O_RDONLY)
        plan = Plan(
            workers=1,
            command=[sys.executable, "-c", BEGIN + program, str(starts)],
            environment=os.environ,
            inherited=lambda worker, channel: Inherited(worker, 1, channel, memory, ()),
            needs_first=lambda _: False,
            prepare=lambda _: None,
            gone=lambda _: None,
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


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_new_worker_may_be_ready_long_after_the_time_in_which_the_old_one_had_to_stop(
    tmp_path: Path,
) -> None:
    slow = "time.sleep(0 if is_first else 4 * 0.5); say('STATUS=ready'); time.sleep(3_600)"

    async def replaced(supervising: Supervising) -> None:
        supervising.replace_all()
        await until(lambda: not supervising.report.is_rolling)
        (worker,) = supervising.report.workers
        assert (worker.state, worker.starts, worker.failures) == ("ready", 2, 0)

    supervised(tmp_path, slow, replaced)


def test_a_worker_that_does_not_stop_in_time_is_killed_and_replaced(tmp_path: Path) -> None:
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say('STATUS=ready'); time.sleep(3_600)"

    async def replaced(supervising: Supervising) -> None:
        supervising.replace_all()
        await until(lambda: not supervising.report.is_rolling)
        (worker,) = supervising.report.workers
        assert (worker.state, worker.starts, worker.failures) == ("ready", 2, 0)

    supervised(tmp_path, deaf, replaced)
