"""Receivers that break every rule: each exchange ends in a result, and soon."""

import asyncio
from collections.abc import Callable, Iterable
from itertools import chain, repeat

import pytest

from outbound.http1 import MAX_PIECES
from outbound.result import HttpResult
from tests.support.raw_receivers import (
    BODY,
    Answering,
    Run,
    answering,
    dripping,
    endlessly,
    hang,
    on_both_loops,
    posted,
    receiving,
    resetting,
    saying,
    saying_and_closing,
    sending,
)

pytestmark = on_both_loops

OK = b"HTTP/1.1 200 OK\r\n"
SHORT = 0.2


def drips(piece: bytes) -> Iterable[bytes]:
    """Send nearly as many pieces as an answer may have, and then nothing."""
    return chain([piece] * (MAX_PIECES - 2), repeat(b""))


ENDLESS_BODIES = {
    "of chunks": endlessly(
        first=OK + b"Transfer-Encoding: chunked\r\n\r\n", again=b"1000\r\n" + b"x" * 4_096 + b"\r\n"
    ),
    "until the end": endlessly(first=OK + b"\r\n", again=b"x" * 65_536),
    "of a length": endlessly(first=OK + b"Content-Length: 1000000000000\r\n\r\n", again=b"x" * 65_536),
    "of extensions": endlessly(first=OK + b"Transfer-Encoding: chunked\r\n\r\n1;", again=b"x" * 65_536),
    "of trailers": endlessly(
        first=OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", again=b"Name: value\r\n" * 100
    ),
    "of one trailer": endlessly(
        first=OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nName: ", again=b"x" * 65_536
    ),
}


@pytest.mark.parametrize("answer", ENDLESS_BODIES.values(), ids=ENDLESS_BODIES)
def test_a_body_that_does_not_end_is_not_read_to_its_end(run: Run, answer: Answering) -> None:
    assert run(posted(answer))[:2] == (200, None)


ENDLESS_HEADS = {
    "of headers": (endlessly(first=OK, again=b"Name: value\r\n" * 1_000), "too_large"),
    "of one header": (endlessly(first=OK + b"Name: ", again=b"x" * 65_536), "too_large"),
    "of a header's name": (endlessly(first=OK, again=b"x" * 65_536), "too_large"),
    "of a reason": (endlessly(first=b"HTTP/1.1 200 ", again=b"x" * 65_536), "too_large"),
    "of empty lines": (endlessly(again=b"\r\n" * 10_000), "too_large"),
    "of informational responses": (endlessly(again=b"HTTP/1.1 100 Continue\r\n\r\n" * 4_000), "protocol"),
    "of informational headers": (
        endlessly(first=b"HTTP/1.1 103 Early Hints\r\n", again=b"Link: x\r\n" * 1_000),
        "too_large",
    ),
}


@pytest.mark.parametrize(("answer", "error"), ENDLESS_HEADS.values(), ids=ENDLESS_HEADS)
def test_a_head_that_does_not_end_is_a_failure(run: Run, answer: Answering, error: str) -> None:
    assert run(posted(answer)) == HttpResult(None, error)


def test_what_pours_in_or_hangs_keeps_nobody_else_waiting(run: Run) -> None:
    async def main() -> tuple[set[tuple[object, ...]], list[HttpResult]]:
        async with (
            receiving(dripping(OK, drips(b"A: b\r\n"))) as hostile,
            receiving(hang) as silent,
            receiving(answering()) as healthy,
            sending() as sender,
        ):
            stuck = [
                asyncio.create_task(sender.post(url, {}, BODY)) for url in (hostile.url, silent.url) * 50
            ]
            while silent.connections < 50:  # noqa: ASYNC110 (the receiver tells nobody)
                await asyncio.sleep(0)
            answers = [await sender.post(healthy.url, {}, BODY) for _ in range(50)]
            return {answer[:2] for answer in answers}, [task.result() for task in stuck if task.done()]

    assert run(main()) == ({(200, None)}, [])


def test_informational_responses_come_before_the_answer(run: Run) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    answer = run(posted(saying(b"HTTP/1.1 100 Continue\r\n\r\n", hints, OK + b"Content-Length: 0\r\n\r\n")))
    assert answer == HttpResult(200, None, headers={"content-length": "0"}, is_whole=True)


UNFINISHED = {
    "nothing": hang,
    "half a status": saying(b"HTTP/1.1 20"),
    "half a head": saying(OK),
    "a continue alone": saying(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body too short": saying(OK + b"Content-Length: 10\r\n\r\nx"),
    "a head in drips": dripping(OK, drips(b"A: b\r\n")),
    "a body in drips": dripping(OK + b"Content-Length: 1000\r\n\r\n", drips(b"x")),
}


@pytest.mark.parametrize("answer", UNFINISHED.values(), ids=UNFINISHED)
def test_an_answer_that_is_not_whole_in_time_is_a_time_out(run: Run, answer: Answering) -> None:
    assert run(posted(answer, SHORT)) == HttpResult(None, "timeout")


@pytest.mark.parametrize(
    "answer",
    [
        saying_and_closing(),
        saying_and_closing(b"HTTP/1.1 20"),
        saying_and_closing(OK + b"Content-Le"),
        saying_and_closing(b"HTTP/1.1 100 Continue\r\n\r\n"),
        resetting(),
        resetting(OK),
    ],
    ids=[
        "silently",
        "in the status",
        "in the head",
        "after a continue",
        "by a reset",
        "by a reset in the head",
    ],
)
def test_a_connection_that_ends_before_a_head_is_a_reset(run: Run, answer: Answering) -> None:
    assert run(posted(answer)) == HttpResult(None, "reset")


@pytest.mark.parametrize("end", [saying_and_closing, lambda *pieces: resetting(b"".join(pieces))])
@pytest.mark.parametrize("head", [b"Content-Length: 10\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n8\r\n"])
def test_of_a_body_that_breaks_off_the_status_counts(
    run: Run, end: Callable[..., Answering], head: bytes
) -> None:
    answer = run(posted(end(OK + head + b"part")))
    assert (answer.status, answer.error, answer.body) == (200, None, b"part")


def test_of_a_body_that_is_not_framed_as_told_the_status_counts(run: Run) -> None:
    answer = run(
        posted(saying(b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\nrubbish\r\n"))
    )
    assert (answer.status, answer.error, answer.body) == (500, "http_500", b"part")


@pytest.mark.parametrize(
    "said",
    [
        b"hello\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"<html>",
        b"\x15\x03\x01\x00\x02\x02\x16",
        b"HTTP/0.9 200 OK\r\n\r\n",
        b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 099 No\r\n\r\n",
        b"HTTP/1.1 2000 No\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhello",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nabc",
        OK + b"No colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_an_answer_that_is_no_http_breaks_the_protocol(run: Run, said: bytes) -> None:
    assert run(posted(saying(said))) == HttpResult(None, "protocol")
