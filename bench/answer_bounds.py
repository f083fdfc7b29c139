"""The cost of receivers' answers at the bounds of `outbound/http1.py`: `python -m bench.answer_bounds`.

Two tables. The first has the loop's time for one webhook, from its vote to the record of its outcome, beside
that of a webhook with a plain answer of the same size. The second has the vote checks in each second of the
loop's work, while endpoints with a backlog give such answers: the rate when the loop has no time to spare.
"""

import argparse
import asyncio
import socket
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

from bench.load import LOAD_CORES, closed_loop, on_cores
from bench.receivers import receiving_by_kind, serve_kinds
from bench.servers import OPERATOR
from bench.webhooks_gateway import feeding, ref_of
from bench.world import add_callers, write_requests

OK, NONE = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 204 No Content\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
Pieces = Sequence[bytes]
"""The writes of an answer, with a turn of the loop between two of them."""

PLAIN = "a plain 204"
TINY = "8,150 lines `a:`"
AT_THE_BOUNDS: Mapping[str, Pieces] = {
    "100 lines `a:`": [NONE + b"a:\r\n" * 100 + b"\r\n"],
    "100 names": [NONE + b"".join(b"a%d:\r\n" % number for number in range(100)) + b"\r\n"],
    "a head of 32 KiB in 100 lines": [NONE + (b"a:" + b"b" * 320 + b"\r\n") * 100 + b"\r\n"],
    "100 chunks of a byte": [CHUNKED + b"1\r\nx\r\n" * 99 + b"0\r\n\r\n"],
    "100 chunks, 16 KiB": [CHUNKED + (b"a0\r\n" + b"x" * 160 + b"\r\n") * 99 + b"0\r\n\r\n"],
    "100 chunks with 600 bytes of extensions": [
        CHUNKED + (b"1;" + b"e" * 600 + b"\r\nx\r\n") * 99 + b"0\r\n\r\n"
    ],
    "8 interim answers": [b"HTTP/1.1 103 Early Hints\r\n\r\n" * 8 + NONE + b"\r\n"],
    "a head in 24 reads": [NONE, *[b"a"] * 20, b":\r\n", b"\r\n"],
    "a body in 23 reads": [OK + b"Content-Length: 22\r\n\r\n", *[b"x"] * 22],
}
ENDPOINTS = (0, 4, 8)
BURST_SECONDS, PENDING = 1.0, 200
BACKLOG = 20_000
CONNECTIONS, CHECK_SECONDS = 64, 2
ASKING = 10**6
"""The number of the listing that is asked about its voters."""


def plain(size: int) -> Pieces:
    """Return an answer of that size with few headers."""
    if size <= len(NONE) + 2:
        return [NONE + b"\r\n"]
    body = b"x" * max(size - len(OK) - 26, 0)
    return [OK + b"Content-Length: %d\r\n\r\n" % len(body) + body]


async def _answer(pieces: Pieces, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if b"content-length" in line)
        await reader.readexactly(int(length.partition(b":")[2]))
        for number, piece in enumerate(pieces):
            if number:
                await asyncio.sleep(0)
            writer.write(piece)


def _receivers(pipe: Connection, answers: Mapping[str, Pieces], ports: int) -> None:
    serve_kinds(pipe, {name: partial(partial, _answer, pieces) for name, pieces in answers.items()}, ports)


@contextmanager
def receiving(answers: Mapping[str, Pieces], ports: int) -> Iterator[Mapping[str, list[str]]]:
    """Yield URLs by the name of the answer."""
    with receiving_by_kind(_receivers, answers, ports) as found:
        yield {name: [f"http://127.0.0.1:{port}/votes" for port in at] for name, at in found.items()}


def costs(place: Path, rounds: int) -> None:
    """Print the loop's time for one webhook, by its answer."""
    answers = {PLAIN: plain(0), **AT_THE_BOUNDS}
    answers |= {f"plain: {name}": plain(sum(map(len, pieces))) for name, pieces in AT_THE_BOUNDS.items()}
    numbers = count(0, 10**7)
    taken: dict[str, list[float]] = {}
    with receiving(answers, 1) as urls, feeding(place / "costs") as fed:
        refs = {name: ref_of(number) for number, name in enumerate(urls)}
        fed.add({refs[name]: url for name, (url,) in urls.items()})
        for _ in range(rounds):
            for name, ref in refs.items():
                print(f"webhooks, {name}", file=sys.stderr)
                before = fed.busy_seconds()
                burst = fed.burst([ref], next(numbers), BURST_SECONDS, PENDING)
                taken.setdefault(name, []).append((fed.busy_seconds() - before) / burst.votes * 1e6)
    cost = {name: statistics.median(of) for name, of in taken.items()}
    print(f"{PLAIN}: {cost[PLAIN]:.0f} us of the loop for a webhook\n")
    print("| the answer | us | plain, of the same size | ratio |\n| --- | ---: | ---: | ---: |")
    for name in AT_THE_BOUNDS:
        same = cost[f"plain: {name}"]
        print(f"| {name} | {cost[name]:.0f} | {same:.0f} | {cost[name] / same:.2f} |")


def checks_beside(place: Path, rounds: int, names: Sequence[str]) -> None:
    """Print the vote checks beside endpoints with a backlog, and their share of those without."""
    answers = {PLAIN: plain(0), TINY: [NONE + b"a:\r\n" * 8_150 + b"\r\n"], **AT_THE_BOUNDS}
    print("\n| the answer | endpoints | checks a second of work | share |\n| --- | ---: | ---: | ---: |")
    with receiving({name: answers[name] for name in names}, max(ENDPOINTS)) as urls:
        for name in names:
            alone = 0.0
            for endpoints in ENDPOINTS:
                rates = [
                    _rate(place / f"{abs(hash((name, endpoints, number)))}", urls[name][:endpoints])
                    for number in range(rounds)
                ]
                rate = statistics.median(rates)
                alone = alone or rate
                print(f"| {name} | {endpoints} | {rate:,.0f} | {rate / alone:.2f} |", flush=True)


def _rate(folder: Path, urls: Sequence[str]) -> float:
    webhooks: dict[str, str | None] = {ref_of(number): url for number, url in enumerate(urls)}
    with feeding(folder) as fed, on_cores(LOAD_CORES):
        fed.add({**webhooks, ref_of(ASKING): None})
        requests = folder.with_suffix(".requests")
        write_requests(requests, add_callers(fed.port, OPERATOR, [(ref_of(ASKING), 0)]))
        if webhooks:
            fed.fill(list(webhooks), BACKLOG)
        before = fed.busy_seconds()
        checks = closed_loop(fed.port, CONNECTIONS, CHECK_SECONDS, requests)
        return checks.answered / (fed.busy_seconds() - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("costs", "checks"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if options.only != "checks":
            costs(Path(name), options.rounds)
        if options.only != "costs":
            checks_beside(Path(name), options.rounds, (PLAIN, TINY, "100 lines `a:`", "100 chunks of a byte"))


if __name__ == "__main__":
    main()
