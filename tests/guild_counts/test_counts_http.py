"""The count of an HTTP service: a number, or None after any failure."""

import asyncio
import contextlib
import gzip
import itertools
import logging
from collections.abc import AsyncIterator

import pytest

from guild_counts import counts as counts_module
from guild_counts.counts import HttpCounts, open_http_counts
from tests.support.coroutines import run, until
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.raw_receivers import (
    Answering,
    answering,
    dripping,
    endlessly,
    hang,
    receiving,
    resetting,
    saying,
    saying_and_closing,
    unused_url,
)
from tests.support.sample_rows import BOT_REF, OTHER_REF

SECRET = "a secret of the look-up"
CACHE_SECONDS = 60
OK = b"HTTP/1.1 200 OK\r\n"
CHUNK = b"1000\r\n" + b"x" * 4_096 + b"\r\n"
ENDLESS = endlessly(first=OK + b"Transfer-Encoding: chunked\r\n\r\n", again=CHUNK)
SLOW = dripping(OK + b"Content-Length: 1000000\r\n\r\n", itertools.repeat(b"x"))
CLOSE = saying_and_closing()


@contextlib.asynccontextmanager
async def asking(
    url: str, clock: FakeClock | None = None, timeout_seconds: float = WAIT_SECONDS
) -> AsyncIterator[HttpCounts]:
    url += "/counts/{id}?token=in-the-url"
    opening = open_http_counts(url, SECRET, timeout_seconds, CACHE_SECONDS, clock or FakeClock())
    async with opening as counts:
        yield counts


def counting(number: int) -> Answering:
    return answering("200 OK", b'{"server_count": %d}' % number)


def actual(answer: Answering, timeout_seconds: float = WAIT_SECONDS) -> int | None:
    """Return the count that the source takes from an answer."""

    async def main() -> int | None:
        async with (
            receiving(answer) as origin,
            asking(origin.base_url, timeout_seconds=timeout_seconds) as counts,
        ):
            count = await counts.actual(BOT_REF)
            if count is None:  # then the next caller asks again, and may learn it
                origin.answer = counting(5)
                assert await counts.actual(BOT_REF) == 5
            return count

    return run(main())


@pytest.mark.parametrize("count", [0, 1, 10_000_000])
def test_a_look_up_tells_the_count(count: int) -> None:
    assert actual(counting(count)) == count


def test_a_look_up_is_a_get_with_the_id_in_the_url_and_the_secret_as_authorization() -> None:
    async def main() -> bytes:
        async with receiving(counting(5)) as origin, asking(origin.base_url) as counts:
            await counts.actual(BOT_REF)
            return origin.requests[0]

    request = run(main())
    assert request.startswith(b"GET /counts/111111111111111111?token=in-the-url HTTP/1.1\r\n")
    assert f"\r\nAuthorization: {SECRET}\r\n".encode() in request


def test_without_a_secret_no_authorization_is_sent() -> None:
    async def main() -> bytes:
        async with (
            receiving(counting(5)) as origin,
            open_http_counts(origin.base_url, None, WAIT_SECONDS, CACHE_SECONDS, FakeClock()) as counts,
        ):
            await counts.actual(BOT_REF)
            return origin.requests[0]

    assert b"authorization" not in run(main()).lower()


def test_other_fields_of_an_answer_are_not_read() -> None:
    assert actual(answering("200 OK", b'{"name": [null], "server_count": 5, "shards": {"a": 1e9}}')) == 5


@pytest.mark.parametrize(
    "status", ["201 Created", "204 No Content", "404 Not Found", "429 Slow Down", "500 Oops", "503 Later"]
)
def test_only_a_200_is_believed(status: str) -> None:
    assert actual(answering(status, b'{"server_count": 5}')) is None


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n" + b"a:\r\n" * 8_150 + b'Content-Length: 17\r\n\r\n{"server_count":5}',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b'12\r\n{"server_count": 5}\r\n'
        + b"1\r\n \r\n" * 5_000
        + b"0\r\n\r\n",
    ],
)
def test_an_answer_of_too_many_header_lines_or_chunks_is_none(answer: bytes) -> None:
    assert actual(saying(answer)) is None


def test_an_answer_is_asked_for_and_read_as_it_is() -> None:
    body = b'{"server_count": 5}'
    assert actual(answering("200 OK", gzip.compress(body), "Content-Encoding: gzip")) is None


def test_a_redirect_is_not_followed() -> None:
    async def main() -> tuple[int | None, int]:
        async with receiving(counting(5)) as elsewhere:
            answer = answering("302 Found", b"", f"Location: {elsewhere.base_url}")
            async with receiving(answer) as origin, asking(origin.base_url) as counts:
                return await counts.actual(BOT_REF), len(elsewhere.requests)

    assert run(main()) == (None, 0)


@pytest.mark.parametrize(
    "body",
    [
        b'{"server_count": "5"}',
        b'{"server_count": 5.5}',
        b'{"server_count": -1}',
        b'{"server_count": true}',
        b'{"server_count": null}',
        b'{"server_count": [5]}',
        b'{"server_count": 1e400}',
        b'{"server_count": 1' + b"0" * 30 + b"}",
        b'{"server_count": 1' + b"0" * 5_000 + b"}",
        b'{"server_count": NaN}',
        b'{"count": 5}',
        b"{}",
        b"[5]",
        b"5",
        b"null",
        b"",
        b"five",
        b'{"server_count": 5',
        b'{"server_count": 5} {}',
        b'\xff{"server_count": 5}',
        b'{"other": ' + b"[" * 50_000 + b"]" * 50_000 + b', "server_count": 5}',
        b'{"server_count": 5}' + b" " * (1 << 20),
    ],
    ids=lambda body: repr(body[:32]),
)
def test_a_body_that_holds_no_count_is_not_believed(body: bytes) -> None:
    assert actual(answering("200 OK", body)) is None


@pytest.mark.parametrize("answer", [CLOSE, resetting(), ENDLESS, saying(b"hello\r\n\r\n")])
def test_an_answer_that_breaks_off_or_is_none_is_not_believed(answer: Answering) -> None:
    assert actual(answer) is None


def test_a_service_that_cannot_be_reached_tells_nothing() -> None:
    async def main() -> list[int | None]:
        found = []
        for url in (unused_url(), "http://counts.invalid"):
            async with asking(url) as counts:
                found.append(await counts.actual(BOT_REF))
        return found

    assert run(main()) == [None, None]


@pytest.mark.parametrize("answer", [hang, SLOW])
def test_an_answer_that_is_not_whole_in_time_is_not_waited_for(answer: Answering) -> None:
    async def main() -> int | None:
        async with receiving(answer) as origin, asking(origin.base_url, timeout_seconds=0.1) as counts:
            return await counts.actual(BOT_REF)

    assert run(main()) is None


def test_a_failure_is_logged_without_url_and_secret(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        for answer in (answering("500 Oops"), answering("200 OK", SECRET.encode()), CLOSE):
            async with receiving(answer) as origin, asking(origin.base_url) as counts:
                await counts.actual(BOT_REF)
        async with asking("http://counts.invalid") as counts:
            await counts.actual(BOT_REF)

    with caplog.at_level(logging.DEBUG):
        run(main())
    warnings = [record.getMessage() for record in caplog.records if record.name == counts_module.__name__]
    assert len(warnings) == 4
    assert all(line.startswith(f"guild-count look-up for {BOT_REF} failed: ") for line in warnings)
    assert SECRET not in caplog.text
    assert "in-the-url" not in caplog.text


def test_an_answer_is_good_until_its_time_is_over() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with receiving(counting(5)) as origin, asking(origin.base_url, clock) as counts:
            assert await counts.actual(BOT_REF) == 5
            origin.answer = counting(6)
            clock.advance_ms(CACHE_SECONDS * 1_000 - 1)
            assert await counts.actual(BOT_REF) == 5
            assert await counts.actual(OTHER_REF) == 6
            clock.advance_ms(1)
            assert await counts.actual(BOT_REF) == 6
            assert len(origin.requests) == 3

    run(main())


def test_with_a_cache_of_0_seconds_every_caller_asks() -> None:
    async def main() -> int:
        async with (
            receiving(counting(5)) as origin,
            open_http_counts(origin.base_url, None, WAIT_SECONDS, 0, FakeClock()) as counts,
        ):
            for _ in range(3):
                await counts.actual(BOT_REF)
            return len(origin.requests)

    assert run(main()) == 3


def test_an_expired_answer_is_not_used_when_the_service_is_down() -> None:
    async def main() -> None:
        clock = FakeClock()
        async with receiving(counting(5)) as origin, asking(origin.base_url, clock) as counts:
            await counts.actual(BOT_REF)
            clock.advance(CACHE_SECONDS)
            origin.answer = answering("500 Oops")
            assert await counts.actual(BOT_REF) is None

    run(main())


def test_answers_are_kept_up_to_a_bound_the_oldest_going_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts_module, "MAX_CACHED", 2)

    async def main() -> None:
        clock = FakeClock()
        async with receiving(counting(5)) as origin, asking(origin.base_url, clock) as counts:

            async def asked(*numbers: int) -> list[str]:
                """Return the bots that the service was asked for."""
                origin.requests.clear()
                for number in numbers:
                    await counts.actual(f"bots/{number}")
                paths = [request.split()[1].decode() for request in origin.requests]
                return [path.removeprefix("/counts/").partition("?")[0] for path in paths]

            assert await asked(1, 2, 3) == ["1", "2", "3"]
            assert await asked(3, 2) == []
            assert await asked(1) == ["1"]
            clock.advance(CACHE_SECONDS)
            assert await asked(3, 4) == ["3", "4"]  # 3 is the newer one again, so 1 goes
            assert await asked(3) == []

    run(main())


def test_callers_who_ask_for_one_bot_at_once_share_a_request() -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def later(writer: asyncio.StreamWriter) -> None:
            await gate.wait()
            await counting(5)(writer)

        async with receiving(later) as origin, asking(origin.base_url) as counts:
            callers = [asyncio.create_task(counts.actual(BOT_REF)) for _ in range(10)]
            other = asyncio.create_task(counts.actual(OTHER_REF))
            await until(lambda: len(origin.requests) == 2)
            callers.pop().cancel()  # one that gives up takes nothing from the others
            gate.set()
            assert await asyncio.gather(*callers, other) == [5] * 10
            assert len(origin.requests) == 2

    run(main())


def test_lookups_under_way_are_given_up_at_the_end() -> None:
    async def main() -> None:
        async with receiving(hang) as origin:
            async with asking(origin.base_url) as counts:
                caller = asyncio.create_task(counts.actual(BOT_REF))
                await until(lambda: origin.requests)
            with pytest.raises(asyncio.CancelledError):
                await caller

    run(main())
