"""A server that answers, and breaks off, as a story of clients/stories.json says.

`python -m tests.clients.scripted_server` speaks lines of JSON, so that runners in any language can use it:

    the runner writes    the server writes
    {"begin": STORY}     {"ready": {"address": "http://127.0.0.1:...", "key": ..., "bot_id": ...}}
                         {"request": {"number": 0, "method": ..., "path": ..., "headers": [], "body": ...}}
    {"go": true}         (it answers the request)
    {"end": true}        {"ended": {"left": exchanges that did not happen}}

Each request waits for its "go". Meanwhile the client waits too, so its clock stands still, and the runner can
read it. {"connects": {"number": 0}} takes the place of a request if the server breaks off before it has read
anything. Names of headers are in lower case. A request that the story does not know has the number `null`.
"""

import contextlib
import json
import socket
import struct
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from tests.clients.stories import client_options, header_lines, named

Report = Callable[[str, dict[str, Any]], None]
"""Gets "request" or "connects", and its fields. The server goes on when it returns."""

NOT_IN_THE_STORY = {"status": 404, "json": {"success": False, "error": "Not in the story.", "status": 404}}


class ScriptedServer:
    """Serves one story on a port of its own.

    Each connection has a thread; exchanges happen one after the other, in the story's order.
    """

    def __init__(self, exchanges: list[dict[str, Any]], report: Report) -> None:
        self._exchanges = exchanges
        self._report = report
        self._happened = 0
        self._turn = threading.Lock()
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> int:
        """Cut all connections. Return how many exchanges did not happen."""
        self._over.set()
        for each in [self._listener, *self._connections]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()
        return len(self._exchanges) - self._happened

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        """Serve a connection until an answer ends it."""
        with contextlib.suppress(OSError), connection:
            with self._turn:
                if self._next_request() == "connects":
                    self._report("connects", {"number": self._happened})
                    self._happened += 1
                    _reset(connection)
                    return
            while (request := _read_request(connection)) is not None:
                with self._turn:
                    answer = self._exchange(connection, request)
                if answer.get("fault") in {"silent", "slow body"}:
                    self._over.wait()
                if not answer.get("keeps"):
                    return

    def _next_request(self) -> object:
        left = self._exchanges[self._happened :]
        return left[0]["request"] if left else None

    def _exchange(self, connection: socket.socket, request: dict[str, Any]) -> dict[str, Any]:
        """Report a request, answer it, and return the answer."""
        is_known = self._happened < len(self._exchanges)
        answer: dict[str, Any] = self._exchanges[self._happened]["answer"] if is_known else NOT_IN_THE_STORY
        self._report("request", {"number": self._happened if is_known else None, **request})
        self._happened += is_known
        fault = answer.get("fault")
        if fault == "reset after the request":
            _reset(connection)
        elif fault == "no HTTP":
            connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")
        elif fault not in {"closed after the request", "silent"}:
            self._send(connection, answer)
        return answer

    def _send(self, connection: socket.socket, answer: dict[str, Any]) -> None:
        """Send an answer, or the half of it that its fault lets through."""
        fault = answer.get("fault")
        body = _body(answer)
        status = answer["status"]
        headers = {
            "content-type": "application/json",
            **answer.get("headers", {}),
            "content-length": str(len(body)),
        }
        if not answer.get("keeps") and fault != "closed after the answer":
            headers["connection"] = "close"
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        lines += [
            f"{name}: {value.replace('{address}', self.address)}" for name, value in header_lines(headers)
        ]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        connection.sendall(body[: len(body) // 2] if fault in {"cut body", "slow body"} else body)


def _body(answer: dict[str, Any]) -> bytes:
    if "text" in answer:
        return str(answer["text"]).encode()
    body = json.dumps(answer["json"], separators=(",", ":"))
    return f"{body[:-1]}{' ' * (answer.get('filler', 0) - len(body))}{body[-1]}".encode()


def _read_request(connection: socket.socket) -> dict[str, Any] | None:
    """Read a request; None if the client closed the connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        if not (piece := connection.recv(65_536)):
            return None
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ")
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = int(dict(headers).get("content-length", 0))
    while len(body) < length:
        if not (piece := connection.recv(65_536)):
            return None
        body += piece
    return {"method": method, "path": path, "headers": headers, "body": body.decode()}


def _reset(connection: socket.socket) -> None:
    """Close a connection so that the client's side gets RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def main() -> None:
    """Serve the stories that lines of the input name, one after the other."""
    may_answer = threading.Semaphore(0)
    server: ScriptedServer | None = None

    def write(kind: str, fields: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({kind: fields}) + "\n")
        sys.stdout.flush()

    def report(kind: str, fields: dict[str, Any]) -> None:
        write(kind, fields)
        may_answer.acquire()

    for line in sys.stdin:
        command = json.loads(line)
        if "begin" in command:
            story, may_answer = named(command["begin"]), threading.Semaphore(0)
            server = ScriptedServer(story["server"], report)
            options = client_options(story)
            write("ready", {"address": server.address, "key": options["key"], "bot_id": options["bot_id"]})
        elif "go" in command:
            may_answer.release()
        elif server is not None:
            may_answer.release()  # of a request that the runner has given up
            write("ended", {"left": server.close()})
            server = None


if __name__ == "__main__":
    main()
