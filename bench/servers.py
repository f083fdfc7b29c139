"""The servers that benchmarks compare: programs, started on a core of their own, found by what they say."""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import cast

from bench.load import SERVER_CORES, on_cores
from bench.world import LIMIT

ROOT = Path(__file__).parent.parent
PEERS = ROOT / "bench" / "peers"
PEERS_PYTHON = ROOT / ".venv" / "peers" / "bin" / "python"
"""The environment with Sanic and FastAPI, apart from ours: see requirements-bench.in."""
START_SECONDS = 60
OURS = "Votegate"
FLOOR = "constant answer, httptools and uvloop"
KEY = "vg_" + "b" * 43
DIGEST_SECRET = "digest-secret-of-the-benchmark-0123456789"
OPERATOR = "operator-token-of-the-benchmark"
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"


@dataclass(frozen=True)
class Server:
    """A program that says `serving on http://<address>:<port>` when it does."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    tree: Path = ROOT
    """The folder in which it runs."""


@dataclass(frozen=True)
class Running:
    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Return the processor time that it has used, in itself and in the kernel."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """Return the bytes of its memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1_024


@contextlib.contextmanager
def running(
    server: Server, log: Path, cores: set[int] = SERVER_CORES, seconds: float = START_SECONDS
) -> Iterator[Running]:
    """Run a server until the context ends. Its output goes to the file. It must serve within some seconds."""
    with log.open("wb") as output, on_cores(cores):
        process = subprocess.Popen(
            server.command,
            cwd=server.tree,
            env={**os.environ, **server.environment},
            stdout=output,
            stderr=output,
        )
    try:
        yield Running(_port_of(server, process, log, seconds), process.pid)
    finally:
        process.terminate()
        process.wait()


def _port_of(server: Server, process: "subprocess.Popen[bytes]", log: Path, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        said = re.search(r"serving on \S+:(\d+)", log.read_text())
        if said:
            return int(said[1])
        time.sleep(0.02)
    raise AssertionError(f"{server.name} does not serve:\n{log.read_text()}")


def votegate(folder: Path, tree: Path = ROOT) -> Server:
    """Return the gateway of a checkout as its operators start it, with limits never reached."""
    environment = {
        "VOTEGATE_DATA_DIR": str(folder),
        "VOTEGATE_SERVER__PORT": "0",
        "VOTEGATE_SERVER__CONNECTIONS_PER_ADDRESS": "8192",  # all the load comes from one address
        "VOTEGATE_SERVER__ACCESS_LOG": "off",
        "VOTEGATE_OPERATOR__TOKEN": OPERATOR,
        "VOTEGATE_KEYS__DIGEST_SECRET": DIGEST_SECRET,
        "VOTEGATE_LIMITS__VOTERS__REQUESTS": str(LIMIT),
        "VOTEGATE_SNAPSHOT__INTERVAL_SECONDS": "86400",
    }
    python = sys.executable if tree == ROOT else str(tree / ".venv/bin/python")
    return Server(OURS, (python, "server.py", "serve"), environment, tree)


def peers(world: Path, answer: Path) -> list[Server]:
    """Return the peers with the votes of the file, and the floor, which always gives that answer."""

    def python(name: str, module: str, interpreter: str | Path, argument: Path) -> Server:
        return Server(name, (str(interpreter), "-m", f"bench.peers.{module}", str(argument)))

    return [
        python("Tornado", "tornado_peer", sys.executable, world),
        python("aiohttp, uvloop", "aiohttp_peer", sys.executable, world),
        python("Sanic", "sanic_peer", PEERS_PYTHON, world),
        python("FastAPI, uvicorn", "fastapi_peer", PEERS_PYTHON, world),
        Server(
            "Express, express-rate-limit",
            ("node", str(PEERS / "express" / "server.js"), str(world)),
            {"NODE_ENV": "production"},
        ),
        python(FLOOR, "floor", sys.executable, answer),
    ]


class Sink(asyncio.Protocol):
    """Answers every request with 204, whatever it says."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one without being a subclass
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) != -1:
            head = self._buffer[:end].lower()
            length = int(header_of(head, b"content-length") or 0)
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            self.arrived(head)
            self._transport.write(NO_CONTENT)

    def arrived(self, head: bytes) -> None:
        """Take a whole request. Its head is in lower case."""


def header_of(head: bytes, name: bytes) -> bytes | None:
    """Return the value of a header. The head and the name are in lower case."""
    return head.partition(b"\r\n" + name + b":")[2].partition(b"\r\n")[0].strip() or None


def sink(pipe: Connection) -> None:
    """A webhook receiver that does nothing."""

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Sink, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())
