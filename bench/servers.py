"""The servers that benchmarks compare, each a `main` for `bench.load.serving`."""

import asyncio
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from cli.demo import make_demo
from core.clock import SystemClock
from gateway import Gateway, serve
from settings import load_settings

KEY = "vg_" + "b" * 43
DIGEST_SECRET = "digest-secret-of-the-benchmark-0123456789"
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"


class _Sink(asyncio.Protocol):
    """Answers every request with 204, whatever it says."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) != -1:
            head = self._buffer[:end].lower()
            length = 0
            if b"content-length:" in head:
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self._buffer) < end + 4 + length:
                return
            self._buffer = self._buffer[end + 4 + length :]
            self._transport.write(NO_CONTENT)


def sink(pipe: Connection) -> None:
    """A webhook receiver that does nothing."""

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(_Sink, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def plain_tornado(pipe: Connection) -> None:
    """A Tornado handler that answers a constant: the least that Tornado costs."""

    class Constant(RequestHandler):
        def get(self, *_: str) -> None:
            self.set_header("Content-Type", "application/json")
            self.finish(b'{"voted":true,"vote":1,"lastVote":1750000000000}')

    async def main() -> None:
        application = Application([(r"/bots/([^/]+)/voters/([^/]+)", Constant)], log_function=lambda _: None)
        sockets = bind_sockets(0, "127.0.0.1")
        HTTPServer(application).add_sockets(sockets)
        pipe.send(sockets[0].getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(main())


def votegate(pipe: Connection) -> None:
    """The gateway with one bot and a limit that is never reached."""

    async def started(gateway: Gateway) -> None:
        make_demo(gateway.ledger, gateway.digester, key=KEY, key_id="0" * 24, now_ms=gateway.clock.now_ms())
        pipe.send(int(gateway.base_url.rpartition(":")[2]))

    with tempfile.TemporaryDirectory() as folder:
        flags = {
            "data_dir": Path(folder),
            "server.port": 0,
            "server.access_log": False,
            "keys.digest_secret": DIGEST_SECRET,
            "limits.voters.requests": 1_000_000_000,
        }
        asyncio.run(serve(load_settings(None, {}, flags), SystemClock(), asyncio.Event(), started))
