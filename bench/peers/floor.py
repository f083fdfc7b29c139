"""The floor: httptools and uvloop, and an answer that is always the same.

The answer is a file's, one that Votegate gave. Nothing of a request is looked at but that it is whole.
"""

import asyncio
import sys
from pathlib import Path
from typing import cast

import httptools
import uvloop

from bench.peers.work import BACKLOG, listening

ANSWER = Path(sys.argv[1]).read_bytes()


class Floor(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one without being a subclass
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(ANSWER)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Floor, sock=listening(), backlog=BACKLOG)
    await server.serve_forever()


uvloop.run(main())
