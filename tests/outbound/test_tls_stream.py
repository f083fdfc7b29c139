"""Receivers whose TLS breaks every rule: each exchange ends in a result, and the event loop keeps running."""

import asyncio
import os
import ssl
import struct
import threading
from pathlib import Path
from typing import Any

import pytest

from outbound.result import READ_BYTES, AtFault, HttpResult
from outbound.tls_stream import INLINE_BYTES, READS, TlsStream
from tests.support.certificate_authority import Authority, trusted
from tests.support.gateways import WAIT_SECONDS
from tests.support.hostile_tls_servers import (
    ALERT,
    APPLICATION,
    HANDSHAKE,
    HELLO_REQUEST,
    TICKET,
    WARNING,
    Say,
    Sealing,
    Secured,
    before,
    record,
    saying,
    seal,
    sealing,
    update,
    updating,
)
from tests.support.name_server import naming
from tests.support.raw_receivers import (
    BODY,
    Run,
    Serve,
    answering,
    listening,
    on_both_loops,
    receiving,
    sending,
)

pytestmark = on_both_loops

REFUSED = HttpResult(None, "tls")
OK = b"HTTP/1.1 200 OK\r\n"
EMPTY = OK + b"Content-Length: 0\r\n\r\n"


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    return trusted(tmp_path, monkeypatch)


async def post(port: int, times: int = 1) -> list[HttpResult]:
    async with sending() as sender:
        return [await sender.post(f"https://127.0.0.1:{port}/", {}, BODY) for _ in range(times)]


async def posted(serve: Serve) -> HttpResult:
    async with listening(serve) as port:
        return (await post(port))[0]


ENDLESS_HANDSHAKES = {
    "requests to begin": before(again=record(HANDSHAKE, HELLO_REQUEST) * 1_000),
    "requests to begin, many in a record": before(again=record(HANDSHAKE, HELLO_REQUEST * 4_000)),
    "warnings": before(again=record(ALERT, WARNING) * 1_000),
    "empty records": before(again=record(HANDSHAKE, b"") * 1_000),
    "changes of cipher": before(again=record(20, b"\1") * 1_000),
    "records of a byte": before(again=record(HANDSHAKE, b"\2") * 1_000),
    "a record without end": before(struct.pack("!BHH", HANDSHAKE, 0x0303, 65_535), again=b"x" * 65_536),
    "a hello without end": before(again=record(HANDSHAKE, b"\2\xff\xff\xff" + bytes(16_000))),
}


@pytest.mark.parametrize("serve", ENDLESS_HANDSHAKES.values(), ids=ENDLESS_HANDSHAKES)
def test_a_handshake_that_does_not_end_is_a_failure(run: Run, serve: Serve) -> None:
    assert run(posted(serve)) == REFUSED


async def one_byte_heads(writer: asyncio.StreamWriter, sealing: Sealing) -> None:
    writer.write(b"".join([sealing.seal(APPLICATION, bytes([byte])) for byte in OK + b"A: b\r\n" * 1_000]))
    await asyncio.Event().wait()


SILENT = {
    "tickets": sealing(HANDSHAKE, TICKET),
    "tickets, many in a record": sealing(HANDSHAKE, TICKET * 900, times=1),
    "key updates": updating,
    "empty records": sealing(APPLICATION, b""),
}


@pytest.mark.parametrize("say", SILENT.values(), ids=SILENT)
def test_much_that_holds_no_answer_is_a_failure(
    run: Run, authority: Authority, tmp_path: Path, say: Say
) -> None:
    server = Secured(authority.server("127.0.0.1"), tmp_path / "keys", say)
    assert run(posted(server.serve)) == REFUSED
    assert server.requests == 1


def test_a_head_in_records_of_a_byte_is_too_large(run: Run, authority: Authority, tmp_path: Path) -> None:
    server = Secured(authority.server("127.0.0.1"), tmp_path / "keys", one_byte_heads)
    assert run(posted(server.serve)) == REFUSED._replace(error="too_large")


RENEGOTIATIONS = {
    "endlessly": (sealing(HANDSHAKE, HELLO_REQUEST), REFUSED[:2]),
    "many in a record": (sealing(HANDSHAKE, HELLO_REQUEST * 4_000, times=1), REFUSED[:2]),
    "once": (saying(seal(HANDSHAKE, HELLO_REQUEST), seal(APPLICATION, EMPTY)), (200, None)),
}


@pytest.mark.parametrize(("say", "expected"), RENEGOTIATIONS.values(), ids=RENEGOTIATIONS)
def test_a_server_that_wants_another_handshake_gets_none(
    run: Run, authority: Authority, tmp_path: Path, say: Say, expected: tuple[int | None, str | None]
) -> None:
    tls = authority.server("127.0.0.1")
    tls.maximum_version = ssl.TLSVersion.TLSv1_2
    server = Secured(tls, tmp_path / "keys", say)
    assert run(posted(server.serve))[:2] == expected
    assert server.handshakes == 1


def test_what_honest_servers_say_beside_an_answer_does_no_harm(
    run: Run, authority: Authority, tmp_path: Path
) -> None:
    """Tickets, new keys and empty records come now and then, before and after an answer."""
    few = [*[seal(HANDSHAKE, TICKET)] * 4, update, seal(APPLICATION, b"")]
    server = Secured(
        authority.server("127.0.0.1"), tmp_path / "keys", saying(*few, seal(APPLICATION, EMPTY), *few)
    )

    async def main() -> list[HttpResult]:
        async with listening(server.serve) as port:
            return await post(port, times=5)

    assert [answer[:2] for answer in run(main())] == [(200, None)] * 5
    assert (server.handshakes, server.requests) == (1, 5)


def test_a_connection_that_is_talked_on_while_it_is_idle_is_closed(
    run: Run, authority: Authority, tmp_path: Path
) -> None:
    """However small the records are."""
    talked_on = asyncio.Event()

    async def talk_on(writer: asyncio.StreamWriter, sealing: Sealing) -> None:
        await saying(seal(APPLICATION, EMPTY))(writer, sealing)
        if not talked_on.is_set():
            try:
                await updating(writer, sealing)
            finally:
                talked_on.set()

    server = Secured(authority.server("127.0.0.1"), tmp_path / "keys", talk_on)

    async def main() -> list[HttpResult]:
        async with listening(server.serve) as port, sending() as sender:
            url = f"https://127.0.0.1:{port}/"
            answers = [await sender.post(url, {}, BODY)]
            await talked_on.wait()
            return [*answers, await sender.post(url, {}, BODY)]

    assert [answer[:2] for answer in run(main())] == [(200, None)] * 2
    assert server.handshakes == 2


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("ffdhe2048", REFUSED[:2]),
        ("ffdhe8192", REFUSED[:2]),
        ("secp384r1", (200, None)),
        ("X448", (200, None)),
    ],
)
def test_of_key_exchanges_those_over_finite_fields_are_refused(
    run: Run, authority: Authority, group: str, expected: tuple[int | None, str | None]
) -> None:
    tls = authority.server("127.0.0.1")
    tls.set_ecdh_curve(group)

    async def main() -> HttpResult:
        async with receiving(answering(), tls) as peer, sending() as sender:
            return await sender.post(peer.url, {}, BODY)

    assert run(main())[:2] == expected


@pytest.mark.parametrize(("chain", "expected"), [(3, (200, None)), (60, (200, None)), (280, REFUSED[:2])])
def test_a_chain_of_certificates_may_be_long_and_not_very_long(
    run: Run, authority: Authority, chain: int, expected: tuple[int | None, str | None]
) -> None:
    tls = authority.server("127.0.0.1", chain=chain)

    async def main() -> HttpResult:
        async with receiving(answering(), tls) as peer, sending() as sender:
            return await sender.post(peer.url, {}, BODY)

    assert run(main())[:2] == expected


@pytest.mark.parametrize("size", [0, 3_000, 16_000, 40_000])
def test_an_answer_may_come_in_large_records(
    run: Run, authority: Authority, tmp_path: Path, size: int
) -> None:
    body = b"x" * size
    whole = OK + f"Content-Length: {size}\r\n\r\n".encode() + body
    pieces = [seal(APPLICATION, whole[at : at + 16_384]) for at in range(0, len(whole), 16_384)]
    server = Secured(authority.server("127.0.0.1"), tmp_path / "keys", saying(*pieces))
    answer = run(posted(server.serve))
    assert (answer.status, answer.error, answer.body) == (200, None, body[:READ_BYTES])


def test_a_long_chain_is_looked_at_beside_the_loop_and_holds_up_no_other_handshake(
    run: Run, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chain whose check never ends stands for one that takes long."""
    at_work, enough = threading.Event(), threading.Event()
    on_the_loop = threading.get_ident()

    class Slow(ssl.SSLObject):
        def do_handshake(self) -> None:
            if self.server_hostname == "localhost" and threading.get_ident() != on_the_loop:
                at_work.set()
                assert enough.wait(WAIT_SECONDS)
            super().do_handshake()

    async def main() -> list[HttpResult]:
        async with (
            receiving(answering(), authority.server("localhost", chain=60)) as slow,
            receiving(
                answering("200 OK", b"", "Connection: close"), authority.server("127.0.0.1")
            ) as healthy,
            naming(["127.0.0.1"]) as names,
            sending(name_servers=[names.address]) as sender,
        ):
            held = [asyncio.create_task(sender.post(slow.at("localhost"), {}, BODY)) for _ in range(5)]
            while not at_work.is_set():  # noqa: ASYNC110 (a thread tells it)
                await asyncio.sleep(0)
            answers = [await sender.post(healthy.url, {}, BODY) for _ in range(3)]
            assert not [each for each in held if each.done()]
            enough.set()
            return [*answers, *await asyncio.gather(*held)]

    monkeypatch.setattr(ssl.SSLContext, "sslobject_class", Slow)
    try:
        assert [answer[:2] for answer in run(main())] == [(200, None)] * 8
    finally:
        enough.set()


def test_the_end_of_the_sender_waits_for_a_step_under_way_and_for_nothing_behind_it(
    run: Run, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_work, enough = threading.Event(), threading.Event()
    steps: list[str] = []

    class Slow(ssl.SSLObject):
        def do_handshake(self) -> None:
            if not self.server_side and threading.current_thread() is not threading.main_thread():
                steps.append("begun")
                at_work.set()
                assert enough.wait(WAIT_SECONDS)
            super().do_handshake()

    async def main() -> list[HttpResult]:
        async with receiving(answering(), authority.server("127.0.0.1")) as peer, sending() as sender:
            held = [asyncio.create_task(sender.post(peer.url, {}, BODY)) for _ in range(5)]
            while not at_work.is_set():  # noqa: ASYNC110 (a thread tells it)
                await asyncio.sleep(0)
            closing = asyncio.create_task(sender.close())
            answers = await asyncio.gather(*held)
            assert not closing.done()
            enough.set()
            await closing
            return answers

    monkeypatch.setattr(ssl.SSLContext, "sslobject_class", Slow)
    try:
        assert run(main()) == [HttpResult(None, "internal", AtFault.UNKNOWN)] * 5
    finally:
        enough.set()
    assert steps == ["begun"]
    assert not tls_threads()


@pytest.mark.parametrize("through_proxy", [False, True], ids=["endpoint", "proxy"])
def test_who_is_kept_waiting_by_our_threads_until_time_is_up_is_not_to_blame(
    run: Run, authority: Authority, monkeypatch: pytest.MonkeyPatch, through_proxy: bool
) -> None:
    at_work, enough = threading.Event(), threading.Event()

    class Slow(ssl.SSLObject):
        def do_handshake(self) -> None:
            if not self.server_side and threading.current_thread() is not threading.main_thread():
                at_work.set()
                assert enough.wait(WAIT_SECONDS)
            super().do_handshake()

    async def main() -> HttpResult:
        async with receiving(answering(), authority.server("127.0.0.1")) as peer:
            proxy = f"https://127.0.0.1:{peer.port}" if through_proxy else None
            async with sending(proxy=proxy) as sender:
                posting = asyncio.create_task(sender.post(peer.url, {}, BODY))
                while not at_work.is_set():  # noqa: ASYNC110 (a thread tells it)
                    await asyncio.sleep(0)
                (deadline,) = sender._deadlines
                deadline.reschedule(asyncio.get_running_loop().time())
                answer = await posting
                enough.set()
                return answer

    monkeypatch.setattr(ssl.SSLContext, "sslobject_class", Slow)
    try:
        assert run(main()) == HttpResult(None, "internal", AtFault.UNKNOWN)
    finally:
        enough.set()


def test_a_request_waits_while_what_came_before_it_is_looked_at_in_a_thread(
    run: Run, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else calls OpenSSL meanwhile: two threads would write to the same memory."""
    at_work, enough = threading.Event(), threading.Event()
    steps: list[str] = []

    class Slow(ssl.SSLObject):
        def read(self, *arguments: Any) -> Any:
            if not self.server_side and threading.current_thread() is not threading.main_thread():
                at_work.set()
                assert enough.wait(WAIT_SECONDS)
                steps.append("read")
            return super().read(*arguments)

        def write(self, data: Any) -> int:
            if not self.server_side:
                steps.append("write")
            return super().write(data)

    large = seal(HANDSHAKE, TICKET * (2 * INLINE_BYTES // len(TICKET)))
    server = Secured(
        authority.server("127.0.0.1"), tmp_path / "keys", saying(seal(APPLICATION, EMPTY), large)
    )

    async def main() -> list[HttpResult]:
        async with listening(server.serve) as port, sending() as sender:
            url = f"https://127.0.0.1:{port}/"
            answers = [await sender.post(url, {}, BODY)]
            while not at_work.is_set():  # noqa: ASYNC110 (a thread tells it)
                await asyncio.sleep(0)
            posting = asyncio.create_task(sender.post(url, {}, BODY))
            await asyncio.sleep(0)
            enough.set()
            return [*answers, await posting]

    monkeypatch.setattr(ssl.SSLContext, "sslobject_class", Slow)
    try:
        assert [answer[:2] for answer in run(main())] == [(200, None)] * 2
    finally:
        enough.set()
    assert steps[:3] == ["write", "read", "write"]
    assert (server.handshakes, server.requests) == (1, 2)


def test_a_server_that_hangs_up_behind_a_certificate_that_proves_nothing_is_a_tls_failure(
    run: Run, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peer hangs up before a thread checks its certificate."""
    hung_up = threading.Event()
    lose = TlsStream.connection_lost

    def losing(tls: TlsStream, error: Exception | None) -> None:
        lose(tls, error)
        hung_up.set()

    class Slow(ssl.SSLObject):
        def do_handshake(self) -> None:
            if not self.server_side and threading.current_thread() is not threading.main_thread():
                assert hung_up.wait(WAIT_SECONDS)
            super().do_handshake()

    tls = authority.server("127.0.0.1", expired=True)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = tls.wrap_bio(incoming, outgoing, server_side=True)
        incoming.write(await reader.read(65_536))
        with pytest.raises(ssl.SSLWantReadError):
            server.do_handshake()
        writer.write(outgoing.read())
        writer.close()
        await writer.wait_closed()

    monkeypatch.setattr(TlsStream, "connection_lost", losing)
    monkeypatch.setattr(ssl.SSLContext, "sslobject_class", Slow)
    try:
        assert run(posted(serve)) == REFUSED
    finally:
        hung_up.set()


def test_no_step_of_a_handshake_behind_the_first_is_on_the_loop(
    run: Run, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[bool] = []

    class Noting(ssl.SSLObject):
        def do_handshake(self) -> None:
            if not self.server_side:
                steps.append(threading.current_thread() is threading.main_thread())
            super().do_handshake()

    async def main() -> HttpResult:
        async with receiving(answering(), authority.server("127.0.0.1")) as peer, sending() as sender:
            return await sender.post(peer.url, {}, BODY)

    monkeypatch.setattr(ssl.SSLContext, "sslobject_class", Noting)
    assert run(main())[:2] == (200, None)
    assert steps[0]
    assert len(steps) > 1
    assert not any(steps[1:])


def test_threads_that_may_not_stand_back_work_all_the_same(
    run: Run, authority: Authority, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A sandbox may refuse it: systemd's does with SystemCallFilter=~@resources."""

    def refuse(*_: int) -> None:
        raise PermissionError

    async def main() -> list[HttpResult]:
        async with receiving(answering(), authority.server("127.0.0.1")) as peer, sending() as sender:
            return [await sender.post(peer.url, {}, BODY) for _ in range(2)]

    monkeypatch.setattr(os, "setpriority", refuse)
    assert [answer[:2] for answer in run(main())] == [(200, None)] * 2
    (line,) = caplog.messages
    assert "setpriority" in line


def test_the_threads_end_with_the_sender(run: Run, authority: Authority) -> None:
    async def main() -> tuple[set[str], set[str]]:
        async with receiving(answering(), authority.server("127.0.0.1", chain=60)) as peer:
            async with sending() as sender:
                await sender.post(peer.url, {}, BODY)
                during = tls_threads()
            return during, tls_threads()

    during, after = run(main())
    assert during
    assert not after


@pytest.mark.parametrize("secure", [False, True], ids=["handshake", "answer"])
def test_bytes_that_come_one_by_one_are_not_a_turn_of_the_loop_each(
    run: Run, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secure: bool
) -> None:
    """Reads are counted until the stream rests. A rest that never ends stands for ten milliseconds."""
    reads: list[int] = []
    receive = TlsStream.data_received

    def noting(tls: TlsStream, data: bytes) -> None:
        reads.append(len(data))
        receive(tls, data)

    async def drip(writer: asyncio.StreamWriter, _: Sealing) -> None:
        for byte in struct.pack("!BHH", APPLICATION, 0x0303, 16_000) + bytes(300):
            writer.write(bytes([byte]))
            seen = len(reads)
            for _turn in range(100):
                if len(reads) > seen:
                    break
                await asyncio.sleep(0)
        dripped.set()
        await asyncio.Event().wait()

    async def drip_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_000)
        await drip(writer, Sealing())

    async def main() -> None:
        serve = (
            Secured(authority.server("127.0.0.1"), tmp_path / "keys", drip).serve if secure else drip_at_once
        )
        async with listening(serve) as port, sending() as sender:
            posting = asyncio.create_task(sender.post(f"https://127.0.0.1:{port}/", {}, BODY))
            await dripped.wait()
            posting.cancel()
            await asyncio.wait([posting])

    dripped = asyncio.Event()
    monkeypatch.setattr(TlsStream, "data_received", noting)
    monkeypatch.setattr("outbound.tls_stream.REST_SECONDS", 1_000.0)
    run(main())
    assert READS < len(reads) <= READS + 10


def tls_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("tls")}


def test_a_proxy_is_bounded_as_an_endpoint_is(run: Run, authority: Authority, tmp_path: Path) -> None:
    async def main(serve: Serve) -> HttpResult:
        async with listening(serve) as port, sending(proxy=f"https://127.0.0.1:{port}") as sender:
            return await sender.post("http://127.0.0.1:1/", {}, BODY)

    assert run(main(before(again=record(HANDSHAKE, HELLO_REQUEST) * 1_000))) == HttpResult(
        None, "proxy", AtFault.PROXY
    )
    silent = Secured(authority.server("127.0.0.1"), tmp_path / "keys", updating, ends=b"\r\n\r\n")
    assert run(main(silent.serve)) == HttpResult(None, "proxy", AtFault.UNKNOWN)
    assert silent.requests == 1
