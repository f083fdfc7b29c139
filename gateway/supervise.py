"""The process of the supervisor: sockets, memory and commands for the workers. No logic.

It reads no request and keeps no state, so it takes only 55 MB of memory.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from core.clock import Clock
from gateway.addresses import Sockets, open_sockets
from gateway.worker import copy_secrets, layout_of, settings_of
from journal.segments import list_segments
from serving.supervisor import Supervisor
from settings.model import Settings
from storage.folder import FolderUnusable
from wire.listening import url_of
from workers.common_memory import CommonMemory, made
from workers.supervising import Plan, Supervising
from workers.supervisor_channel import Inherited

STOP_SECONDS = 60.0
"""The time that a worker has for its last snapshot, after its requests."""
log = logging.getLogger("votegate")


async def supervise(
    settings: Settings, command: Sequence[str], reread: Callable[[], Settings | None], clock: Clock
) -> int:
    """Keep the workers until SIGTERM or SIGINT. Return the exit status.

    Raises OSError for a taken address.
    """
    stop, workers = asyncio.Event(), settings.server.workers
    loop = asyncio.get_running_loop()
    notifications = Supervisor(os.environ, clock)
    with ExitStack() as stack:
        sockets = stack.enter_context(open_sockets(settings))
        layout = layout_of(workers)
        descriptor = made(layout)
        stack.callback(os.close, descriptor)
        memory = CommonMemory(descriptor, layout)
        plan = Plan(
            workers,
            command,
            {**os.environ, **notifications.watchdog_of_children()},
            partial(_inherited, workers, descriptor, sockets),
            partial(_needs_first, settings),
            partial(_prepare, settings),
            memory.forget_connections,
            lambda: reread() is not None,
            settings.server.grace_seconds + settings.server.drain_seconds + STOP_SECONDS,
            notifications.watchdog_seconds,
        )
        supervising = Supervising(plan, clock, stop)

        def end() -> None:
            notifications.stopping()
            for listening in (*sockets.clients, *sockets.metrics):
                listening.close()  # workers accept the waiting connections through their copies
            stop.set()

        loop.add_signal_handler(signal.SIGHUP, supervising.replace_all)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end)
        for listening in sockets.clients:
            log.info("%d workers for %s", workers, url_of(listening, _scheme(settings)))
        telling = loop.create_task(
            notifications.run(supervising.why_not_ready, supervising.in_short),
        )
        await supervising.run()
        telling.cancel()
    log.info("all workers have stopped")
    return supervising.status


def _inherited(workers: int, memory: int, sockets: Sockets, worker: int, channel: int) -> Inherited:
    clients, metrics = (tuple(each.fileno() for each in group) for group in sockets)
    return Inherited(worker, workers, channel, memory, clients, metrics)


def _needs_first(settings: Settings, worker: int) -> bool:
    """Return true for a further worker without data: it would begin a new fleet instead of taking a copy."""
    return worker > 1 and not list_segments(settings_of(settings, worker).data_dir)


def _prepare(settings: Settings, worker: int) -> None:
    try:
        copy_secrets(settings, worker)
    except FolderUnusable as error:
        raise OSError(str(error)) from error


def _scheme(settings: Settings) -> str:
    return "http" if settings.server.tls.certificate is None else "https"
