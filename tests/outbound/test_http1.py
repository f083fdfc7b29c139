"""Reading a response, and using its connection again."""

import asyncio
import contextlib

import pytest

from outbound.client import IDLE_SECONDS, HttpClient
from outbound.http1 import HEAD_BYTES, MAX_CHUNKS, MAX_HEADERS, MAX_INFORMATIONAL, MAX_PIECES, ResponseReader
from outbound.result import ExchangeFailed, HttpResult
from tests.support.fake_clock import FakeClock
from tests.support.raw_receivers import (
    BODY,
    Answering,
    Peer,
    Run,
    answering,
    endlessly,
    listening,
    on_both_loops,
    receiving,
    saying,
    saying_and_closing,
    sending,
)

OK = b"HTTP/1.1 200 OK\r\n"
EMPTY = OK + b"Content-Length: 0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Counting(ResponseReader):
    """Counts the calls of the parser."""

    told = 0

    def on_headers_complete(self) -> None:
        self.told += 1
        super().on_headers_complete()

    def on_body(self, piece: bytes) -> None:
        self.told += 1
        super().on_body(piece)


def read(*pieces: bytes) -> tuple[HttpResult, bool]:
    """Return the answer, and true if the connection may be used again."""
    response = ResponseReader()
    over = [response.feed(piece) for piece in pieces]
    assert over == [False] * (len(pieces) - 1) + [True]
    return response.result(), response.reusable


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_a_response_may_come_in_any_pieces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outbound.http1.MAX_PIECES", 1_000)  # other tests check their limit
    whole = CONTINUE + OK + b"Transfer-Encoding: chunked\r\nA: b\r\n\r\n3\r\nabc\r\n0\r\nT: x\r\n\r\n"
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    headers = {"transfer-encoding": "chunked", "a": "b"}
    assert read(*pieces) == (HttpResult(200, None, headers=headers, body=b"abc", is_whole=True), True)


@pytest.mark.parametrize(("size", "error"), [(HEAD_BYTES, None), (HEAD_BYTES + 1, "too_large")])
def test_a_head_may_have_32_kib_and_not_a_byte_more(size: int, error: str | None) -> None:
    frame = CONTINUE + OK + b"Content-Length: 2\r\nA: \r\n\r\n"
    head = frame.replace(b"A: ", b"A: " + b"x" * (size - len(frame)))
    expected = pytest.raises(ExchangeFailed, match=error) if error else contextlib.nullcontext()
    with expected:
        assert read(head + b"ok")[0].body == b"ok"


def test_informational_responses_are_few() -> None:
    assert read(CONTINUE * MAX_INFORMATIONAL + EMPTY)[0].status == 200
    response = Counting()
    with pytest.raises(ExchangeFailed, match="protocol"):
        response.feed(CONTINUE * 10_000)
    assert response.told == MAX_INFORMATIONAL + 1


def test_nothing_is_read_behind_the_verdict() -> None:
    response = Counting()
    chunks = b"1\r\nx\r\n" * 100_000
    assert response.feed(OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert response.told == 1 + MAX_CHUNKS


@pytest.mark.parametrize("line", [b"a:\r\n", b"Set-Cookie: a=b\r\n", b"x-%d: y\r\n"])
def test_header_lines_are_few_however_short(line: bytes) -> None:
    def head(lines: int) -> bytes:
        return (
            b"HTTP/1.1 204 No Content\r\n"
            + b"".join(line % number if b"%d" in line else line for number in range(lines))
            + b"\r\n"
        )

    assert read(head(MAX_HEADERS))[1]
    with pytest.raises(ExchangeFailed, match="too_large"):
        ResponseReader().feed(head(MAX_HEADERS + 1))
    with pytest.raises(ExchangeFailed, match="too_large"):  # 1xx responses share the bound
        ResponseReader().feed(CONTINUE.replace(b"\r\n\r\n", b"\r\na: b\r\n\r\n") + head(MAX_HEADERS))


def test_trailers_count_as_header_lines_and_do_not_undo_the_status() -> None:
    chunked = OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
    answer, reusable = read(chunked + b"a:\r\n" * (MAX_HEADERS - 1) + b"\r\n")
    assert (answer.error, answer.body, reusable) == (None, b"ok", True)
    answer, reusable = read(chunked + b"a:\r\n" * MAX_HEADERS + b"\r\n")
    assert (answer.error, answer.body, reusable) == (None, b"ok", False)


def test_a_response_comes_in_few_pieces() -> None:
    response = ResponseReader()
    assert not response.feed(OK + b"Content-Length: 1000\r\n\r\n")
    assert not any(response.feed(b"x") for _ in range(MAX_PIECES - 1))
    assert response.feed(b"x")  # the status is known, and the rest is not read
    assert not response.reusable
    response = ResponseReader()
    assert not any(response.feed(piece) for piece in (OK, b"a: ", *[b"x"] * (MAX_PIECES - 2)))
    with pytest.raises(ExchangeFailed, match="too_large"):
        response.feed(b"x")


@pytest.mark.parametrize(
    "said",
    [
        EMPTY,
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_a_response_that_ends_where_it_said_leaves_the_connection_usable(said: bytes) -> None:
    assert read(said)[1]


@pytest.mark.parametrize(
    "said",
    [
        OK + b"Connection: close\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        EMPTY + b"x",
        EMPTY + EMPTY,
        b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Content-Length: 16384\r\n\r\n" + b"x" * 16_384,
        OK + b"Content-Length: 0\r\n\r\n" + b"\r\n" * 10_000,
    ],
)
def test_a_response_with_something_behind_it_does_not(said: bytes) -> None:
    answer, reusable = read(said)
    assert answer.error is None
    assert not reusable


async def connections(peer: Peer, sender: HttpClient, *answers: Answering) -> list[int]:
    """Return the number of connections after each of the answers."""
    counts = []
    for answer in answers:
        peer.answer = answer
        assert (await sender.post(peer.url, {}, BODY)).error is None
        counts.append(peer.connections)
    return counts


@on_both_loops
def test_a_connection_is_used_again_unless_its_body_was_too_long(run: Run) -> None:
    async def main() -> list[int]:
        pour = endlessly(first=OK + b"\r\n", again=b"x" * 65_536)
        async with receiving(answering()) as peer, sending() as sender:
            return await connections(peer, sender, answering(), answering(body=b"short"), pour, answering())

    assert run(main()) == [1, 1, 1, 2]


@on_both_loops
def test_a_connection_is_kept_for_four_seconds(run: Run) -> None:
    async def main() -> list[int]:
        clock = FakeClock()
        counts = []
        async with receiving(answering()) as peer, sending(clock=clock) as sender:
            for seconds in (0, IDLE_SECONDS - 0.001, IDLE_SECONDS):
                clock.advance(seconds)
                counts += await connections(peer, sender, answering())
        return counts

    assert run(main()) == [1, 1, 2]


@on_both_loops
def test_an_idle_connection_is_closed_even_if_nothing_is_sent_any_more(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outbound.client.IDLE_SECONDS", 0.05)

    async def main() -> HttpResult:
        closed = asyncio.Event()

        async def until_closed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(BODY)
            writer.write(EMPTY)
            await reader.read()
            closed.set()

        async with listening(until_closed) as port, sending() as sender:
            answer = await sender.post(f"http://127.0.0.1:{port}/", {}, BODY)
            await closed.wait()
        return answer

    assert run(main()).status == 200


@on_both_loops
@pytest.mark.parametrize("ending", ["closes", "says something"])
def test_a_peer_that_ends_its_silence_while_idle_gets_a_new_connection(run: Run, ending: str) -> None:
    async def main() -> list[int]:
        writers: list[asyncio.StreamWriter] = []

        async def remembering(writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            await answering()(writer)

        async with receiving(remembering) as peer, sending() as sender:
            counts = await connections(peer, sender, remembering)
            if ending == "closes":
                writers[0].close()
            else:
                writers[0].write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
            while not peer.ended:  # noqa: ASYNC110 (the receiver tells nobody)
                await asyncio.sleep(0)
            return counts + await connections(peer, sender, remembering)

    assert run(main()) == [1, 2]


@on_both_loops
def test_a_request_that_meets_the_close_of_its_connection_is_repeated_once(run: Run) -> None:
    async def main() -> tuple[HttpResult, int, int]:
        async with receiving(answering()) as peer, sending() as sender:
            await connections(peer, sender, answering())
            peer.answer = saying_and_closing()
            return await sender.post(peer.url, {}, BODY), peer.connections, len(peer.requests)

    assert run(main()) == (HttpResult(None, "reset"), 2, 3)


@on_both_loops
def test_a_request_that_was_answered_in_part_is_not_repeated(run: Run) -> None:
    async def main() -> tuple[HttpResult, int, int]:
        async with receiving(answering()) as peer, sending() as sender:
            await connections(peer, sender, answering())
            peer.answer = saying_and_closing(b"HTTP/1.1 2")
            return await sender.post(peer.url, {}, BODY), peer.connections, len(peer.requests)

    assert run(main()) == (HttpResult(None, "reset"), 1, 2)


@on_both_loops
def test_a_peer_that_speaks_before_it_is_spoken_to_breaks_the_protocol(run: Run) -> None:
    async def main() -> HttpResult:
        async def banner(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await saying(b"SSH-2.0-OpenSSH_9.6\r\n")(writer)
            await asyncio.Event().wait()

        async with listening(banner) as port, sending() as sender:
            return await sender.post(f"http://127.0.0.1:{port}/", {}, BODY)

    assert run(main()) == HttpResult(None, "protocol")
