"""The supervisor: it starts the workers, restarts one that has ended, and replaces them one by one.

Invariants. There is at most one process of a worker at a time, because the next one needs its folder. A
worker that has ended is started again, sooner or later, as long as the supervisor runs. At most one worker is
being replaced, and the next one only when it is ready: the others take all new connections meanwhile.

A worker goes through these states (`supervisor_channel.State`):

    starting -> ready <-> not ready         the worker says so
    ready -> stopping -> starting           the supervisor replaces it
    any -> waiting -> starting              its process has ended, though nobody stopped it

The command of a worker is looked up at each start. So a new program at its path is the program of the next
worker that starts. The supervisor itself stays the old one.
"""

import asyncio
import logging
import signal
import socket
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from core.clock import NS_PER_SECOND, Clock
from workers.supervisor_channel import (
    MOST_BYTES,
    RESTART,
    Inherited,
    State,
    WorkerReport,
    WorkerReports,
    fields_of,
    given_to,
    pair,
)

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 60
"""A worker that has been ready for so long, and ends, is started again after the first pause."""
NOT_VALID = 2
"""The exit status of a process with settings that are not valid."""
log = logging.getLogger("votegate")


@dataclass(frozen=True)
class Plan:
    """The values that the supervisor needs to start a worker.

    Args:
        workers: how many there are.
        command: the program and its arguments.
        environment: of every worker.
        inherited: returns the descriptors of a worker, given its number and its end of the channel.
        needs_first: returns true for a worker that starts only when worker 1 is ready: it needs its files.
        prepare: is called before each start of a worker with its number. It may raise OSError.
        gone: is called after the end of each process with the number of the worker.
        is_valid: returns true if a worker could start with the present settings; else it logs why not.
        stop_seconds: how long a worker may take to stop. Then it is killed.
        silent_seconds: how long a worker may say nothing before it is killed; None for any time.
    """

    workers: int
    command: Sequence[str]
    environment: Mapping[str, str]
    inherited: Callable[[int, int], Inherited]
    needs_first: Callable[[int], bool]
    prepare: Callable[[int], None]
    gone: Callable[[int], None]
    is_valid: Callable[[], bool]
    stop_seconds: float
    silent_seconds: float | None = None


@dataclass(eq=False)
class _Worker:
    number: int
    state: State = "waiting"
    why: str = "it was not started yet"
    since_ms: int = 0
    starts: int = 0
    failures: int = 0
    failed_in_a_row: int = 0
    process: Process | None = None
    channel: socket.socket | None = None
    ready_ns: int | None = None
    heard_ns: int = 0
    is_replaced: bool = False
    now: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends the pause before the next start."""

    @property
    def report(self) -> WorkerReport:
        pid = self.process.pid if self.process is not None else None
        return WorkerReport(self.number, self.state, self.why, pid, self.since_ms, self.starts, self.failures)


class Supervising:
    """All workers. `run` keeps them until `stop` is set."""

    def __init__(self, plan: Plan, clock: Clock, stop: asyncio.Event) -> None:
        self._plan = plan
        self._clock = clock
        self._stop = stop
        self._workers = [_Worker(number + 1) for number in range(plan.workers)]
        self._changed = asyncio.Condition()
        self._is_rolling = self._is_asked_again = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_served = False
        self.status = 0
        """The exit status, if a start has failed."""

    @property
    def report(self) -> WorkerReports:
        return WorkerReports(tuple(worker.report for worker in self._workers), self._is_rolling)

    def why_not_ready(self) -> str | None:
        """Return None once a worker is ready."""
        if any(worker.state == "ready" for worker in self._workers):
            return None
        return next((worker.why for worker in self._workers if worker.why), "the workers start")

    def in_short(self) -> str:
        """Return the state of all workers in a few words."""
        ready = sum(worker.state == "ready" for worker in self._workers)
        return f"{ready} of {len(self._workers)} workers are ready"

    async def run(self) -> None:
        """Keep the workers. After `stop`, return when all have ended."""
        keeping = [self._spawn(self._keep(worker)) for worker in self._workers]
        watching = self._spawn(self._watch())
        await self._stop.wait()
        await self._notify()
        for worker in self._workers:
            worker.now.set()
            self._end(worker, signal.SIGTERM)
        await asyncio.wait(keeping, timeout=self._plan.stop_seconds)
        for worker in self._workers:
            self._end(worker, signal.SIGKILL)  # of those that are left
        await asyncio.gather(*keeping)
        watching.cancel()

    def replace_all(self) -> None:
        """Replace the workers one after the other, if the settings are valid.

        If that is under way, do it once more afterwards.
        """
        if not self._plan.is_valid():
            return
        self._is_asked_again = True
        if not self._is_rolling:
            self._is_rolling = True
            self._spawn(self._roll())

    # -- one worker ------------------------------------------------------------------------------------

    async def _keep(self, worker: _Worker) -> None:
        first = self._workers[0]
        while not self._stop.is_set():
            if self._plan.needs_first(worker.number):
                await self._until(lambda: self._stop.is_set() or first.state == "ready")
                if self._stop.is_set():
                    break
            status = await self._live(worker)
            if self._stop.is_set():
                break
            if worker.is_replaced:
                worker.is_replaced = False
                continue
            if not self._has_served and worker.number == 1:
                self._fail_start(status)
                break
            await self._pause(worker, status)
        self._set(worker, "stopping", "stopping")

    async def _live(self, worker: _Worker) -> int | None:
        """Start a process of the worker, and wait for its end. Return its status; None without a process."""
        try:
            worker.process = await self._started(worker)
        except OSError as error:
            log.error("worker %d cannot start: %s", worker.number, error)
            return None
        self._set(worker, "starting", f"worker {worker.number} starts")
        if self._stop.is_set():
            self._end(worker, signal.SIGTERM)
        status = await worker.process.wait()
        self._close(worker)
        self._plan.gone(worker.number)
        return status

    async def _started(self, worker: _Worker) -> Process:
        plan = self._plan
        plan.prepare(worker.number)
        ours, theirs = pair()
        try:
            inherited = plan.inherited(worker.number, theirs.fileno())
            process = await asyncio.create_subprocess_exec(
                *plan.command,
                env={**plan.environment, **given_to(inherited)},
                pass_fds=inherited.descriptors,
                process_group=0,  # Ctrl-C is for the supervisor, which stops the workers in order
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        worker.channel, worker.ready_ns, worker.heard_ns = ours, None, self._clock.monotonic_ns()
        worker.starts += 1
        asyncio.get_running_loop().add_reader(ours, self._hear, worker)
        return process

    def _close(self, worker: _Worker) -> None:
        if worker.channel is not None:
            asyncio.get_running_loop().remove_reader(worker.channel)
            worker.channel.close()
        worker.channel = worker.process = None

    async def _pause(self, worker: _Worker, status: int | None) -> None:
        """Wait before the next start: longer each time, unless the worker was ready for a while."""
        was_steady = (
            worker.ready_ns is not None
            and self._clock.monotonic_ns() - worker.ready_ns > STEADY_SECONDS * NS_PER_SECOND
        )
        worker.failed_in_a_row = 0 if was_steady else worker.failed_in_a_row
        seconds = min(FIRST_PAUSE_SECONDS * 2.0**worker.failed_in_a_row, LONGEST_PAUSE_SECONDS)
        worker.failed_in_a_row += 1
        worker.failures += 1
        why = _ended(status)
        log.error("worker %d %s; it starts again in %g s", worker.number, why, seconds)
        worker.now.clear()
        self._set(worker, "waiting", f"worker {worker.number} {why}")
        try:
            async with asyncio.timeout(seconds):
                await worker.now.wait()
        except TimeoutError:
            pass

    def _fail_start(self, status: int | None) -> None:
        """Stop, because worker 1 cannot serve, and would not with another start. Its log says why."""
        self.status = NOT_VALID if status == NOT_VALID else 1
        log.critical("worker %d did not start, and so nothing is served", 1)
        self._stop.set()

    def _end(self, worker: _Worker, number: signal.Signals) -> None:
        if worker.process is not None and worker.process.returncode is None:
            worker.process.send_signal(number)
            self._set(worker, "stopping", f"worker {worker.number} stops")

    # -- what workers say ------------------------------------------------------------------------------

    def _hear(self, worker: _Worker) -> None:
        channel = worker.channel
        if channel is None:
            return
        try:
            message = channel.recv(MOST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if not message:
            asyncio.get_running_loop().remove_reader(channel)
            return
        worker.heard_ns = self._clock.monotonic_ns()
        fields = fields_of(message)
        if RESTART in fields:
            log.info("worker %d was asked to restart all workers", worker.number)
            self.replace_all()
        if worker.state == "stopping":
            return
        if fields.get("STATUS") == "ready":
            self._heard_ready(worker)
        elif "STATUS" in fields:
            why = fields["STATUS"].removeprefix("not ready: ")
            state: State = "not ready" if worker.ready_ns is not None else "starting"
            self._set(worker, state, f"worker {worker.number}: {why}")

    def _heard_ready(self, worker: _Worker) -> None:
        worker.ready_ns = worker.ready_ns or self._clock.monotonic_ns()
        self._has_served = True
        self._set(worker, "ready", "")
        log.info("worker %d is ready: %s", worker.number, self.in_short())

    def _set(self, worker: _Worker, state: State, why: str) -> None:
        if (worker.state, worker.why) == (state, why):
            return
        if worker.state != state:
            worker.since_ms = self._clock.now_ms()
        worker.state, worker.why = state, why
        self._tell_all()

    def _tell_all(self) -> None:
        """Tell each worker the states of all. A worker that reads nothing is told later, or never."""
        message = msgspec.json.encode(self.report)
        for worker in self._workers:
            if worker.channel is not None:
                try:
                    worker.channel.send(message)
                except OSError as error:
                    log.debug("worker %d was not told of the others: %s", worker.number, error)
        self._spawn(self._notify())

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _until(self, condition: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(condition)

    async def _watch(self) -> None:
        """Kill workers that have said nothing for too long: their loops hang."""
        seconds = self._plan.silent_seconds
        while seconds is not None:
            await asyncio.sleep(seconds / 4)
            for worker in self._workers:
                silent_ns = self._clock.monotonic_ns() - worker.heard_ns
                is_alive = worker.process is not None and worker.process.returncode is None
                if is_alive and worker.ready_ns is not None and silent_ns > seconds * NS_PER_SECOND:
                    log.error("worker %d hangs: it has said nothing for %g s", worker.number, seconds)
                    self._end(worker, signal.SIGKILL)

    # -- replacing -------------------------------------------------------------------------------------

    async def _roll(self) -> None:
        while self._is_asked_again and not self._stop.is_set():
            self._is_asked_again = False
            log.info("restarting %d workers, one after the other", len(self._workers))
            # Workers that serve come last: the others must be there to take their connections.
            order = sorted(self._workers, key=lambda worker: worker.state == "ready")
            for place, worker in enumerate(order):
                if not await self._replaced(worker, order[place + 1 :]):
                    break
            else:
                log.info("all %d workers are new", len(self._workers))
        self._is_rolling = False
        self._tell_all()

    async def _replaced(self, worker: _Worker, rest: Sequence[_Worker]) -> bool:
        """Replace a worker, and wait until it is ready. Return false if it does not start: then the rest of
        them stay."""
        starts, failures, process = worker.starts, worker.failures, worker.process
        if process is not None:
            worker.is_replaced = True
            self._end(worker, signal.SIGTERM)
            killing = asyncio.get_running_loop().call_later(
                self._plan.stop_seconds, self._kill, worker, process
            )
        else:
            killing = None
            worker.now.set()
        await self._until(
            lambda: (
                self._stop.is_set()
                or worker.failures > failures
                or (worker.starts > starts and worker.state == "ready")
            )
        )
        if killing is not None:
            killing.cancel()
        if worker.failures > failures:
            staying = f"; {_named([each.number for each in rest])} as before" if rest else ""
            log.error("the restart ends here: worker %d does not start%s", worker.number, staying)
            return False
        return not self._stop.is_set()

    def _kill(self, worker: _Worker, process: Process) -> None:
        """Kill the process of a worker, unless the next one has begun: that one may be slow to be ready."""
        if worker.process is process:
            self._end(worker, signal.SIGKILL)

    def _spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _named(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"worker {numbers[0]} goes on"
    return f"workers {', '.join(map(str, numbers))} go on"


def _ended(status: int | None) -> str:
    """Say how a process has ended."""
    if status is None:
        return "could not be started"
    if status >= 0:
        return f"has ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
