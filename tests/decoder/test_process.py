"""decoder/decoder.py: a decoder that is killed, hangs or is out of memory costs one upload, nothing else."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import pytest

from decoder import decoder as module
from decoder.decoder import Decoder
from forms.file_fields import Decoded
from gateway.store import ROOT, decode_command
from languages.refusals import Invalid, Refusal
from tests.support.gateways import eventually
from tests.support.media_files import BANNER, EMOJI, SOUND, picture, sound

Reads = Callable[[], Sequence[str]]
P = ParamSpec("P")


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run a test in a loop of its own."""

    @wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*arguments, **named))

    return run


@asynccontextmanager
async def decoding(command: Reads = decode_command) -> AsyncIterator[Decoder]:
    decoder = Decoder(command, ROOT)
    try:
        yield decoder
    finally:
        decoder.close()


def program(code: str) -> Reads:
    """Return the command of a decoder that does something else."""
    own = "from decoder import process\nimport ctypes, os, signal, sys, time\n"
    return lambda: (sys.executable, "-c", f"{own}{code}\nprocess.main()")


async def refusal(decoder: Decoder, content: bytes | None = None) -> str:
    with pytest.raises(Refusal) as refused:
        await decoder.decode(content if content is not None else picture(), EMOJI)
    return refused.value.code


def process_of(decoder: Decoder) -> int | None:
    return next(iter(decoder.process_ids), None)


def is_gone(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    return False


@in_loop
async def test_it_starts_at_the_first_need_and_reads_many_files() -> None:
    async with decoding() as decoder:
        assert process_of(decoder) is None
        read = await asyncio.gather(*(decoder.decode(picture("GIF"), EMOJI) for _ in range(5)))
        assert {each.file.media_type for each in read} == {"image/gif"}
        first = process_of(decoder)
        assert (await decoder.decode(sound(), SOUND)).file.length_ms == 1_000
        assert (await decoder.decode(picture("WEBP"), BANNER)).file.height == 200
        with pytest.raises(Invalid) as refused:
            await decoder.decode(b"<svg/>", EMOJI)
        assert refused.value.faults[""].code == "not_such_a_file"
        assert process_of(decoder) == first is not None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
@in_loop
async def test_a_killed_decoder_is_started_again(number: signal.Signals) -> None:
    async with decoding() as decoder:
        await decoder.decode(picture(), EMOJI)
        first = process_of(decoder)
        assert first is not None
        os.kill(first, number)
        await asyncio.to_thread(eventually, lambda: process_of(decoder) is None or _ended(first))
        assert (await decoder.decode(picture(), EMOJI)).file.width == 128
        assert process_of(decoder) != first


def _ended(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@in_loop
async def test_a_decoder_that_dies_of_a_file_refuses_it_with_try_again() -> None:
    dying = program("process.decode_picture = lambda *_: ctypes.string_at(0)")
    async with decoding(dying) as decoder:
        assert await refusal(decoder) == "file_not_read"
        assert (await decoder.decode(sound(), SOUND)).file.length_ms == 1_000


@in_loop
async def test_a_decoder_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FILE_SECONDS", 3.0)
    hanging = program("signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(3_600)")
    async with decoding(hanging) as decoder:
        asked = asyncio.create_task(refusal(decoder))
        process = await asyncio.to_thread(eventually, lambda: process_of(decoder))
        assert process is not None
        assert await asked == "file_not_read"
        await asyncio.to_thread(eventually, lambda: is_gone(process))


@in_loop
async def test_a_stopped_decoder_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async with decoding() as decoder:
        await decoder.decode(picture(), EMOJI)
        first = process_of(decoder)
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        monkeypatch.setattr(module, "FILE_SECONDS", 1.0)
        assert await refusal(decoder) == "file_not_read"
        monkeypatch.undo()
        assert (await decoder.decode(picture(), EMOJI)).file.width == 128
        await asyncio.to_thread(eventually, lambda: is_gone(first))


@pytest.mark.parametrize(
    "use",
    ["b'x' * (2 << 30)", "[b'x' * 1_000_000 for _ in range(2_000)]", "exec('while True: pass')"],
    ids=["memory at once", "memory in pieces", "time"],
)
@in_loop
async def test_a_file_that_takes_too_much_is_refused_with_try_again(use: str) -> None:
    """The limit of CPU time ends the process before that of the clock."""
    code = f"process.CPU_SECONDS = 1\nprocess.decode_picture = lambda *_: {use}"
    async with decoding(program(code)) as decoder:
        assert await refusal(decoder) == "file_not_read"


@pytest.mark.parametrize(
    "answered",
    [
        "b''",
        "b'\\0\\0'",
        "b'\\xff' * 8",
        "b'\\0\\0\\0\\1x'",
        "b'\\0\\0\\0\\1\\x80'",
        "b'\\0\\0\\0\\6\\x81\\xa4code'",
    ],
)
@in_loop
async def test_a_wrong_answer_is_no_answer(answered: str) -> None:
    code = f"os.write(1, {answered})\nsys.exit()"
    async with decoding(program(code)) as decoder:
        assert await refusal(decoder) == "file_not_read"


@in_loop
async def test_a_lie_about_the_file_is_no_answer() -> None:
    code = (
        "read = process.answer\n"
        "import msgspec\n"
        "def lied(order):\n"
        "    found = read(order)\n"
        "    return msgspec.structs.replace(found, content=found.content + b'<script>')\n"
        "process.answer = lied"
    )
    async with decoding(program(code)) as decoder:
        assert await refusal(decoder) == "file_not_read"


@in_loop
async def test_a_command_that_cannot_be_run_is_no_answer() -> None:
    async with decoding(lambda: ("/nowhere/votegate",)) as decoder:
        assert await refusal(decoder) == "file_not_read"


@in_loop
async def test_too_many_waiting_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    async with decoding() as decoder:
        asked = [asyncio.create_task(decoder.decode(picture(), EMOJI)) for _ in range(4)]
        done = await asyncio.gather(*asked, return_exceptions=True)
        assert [isinstance(each, Decoded) for each in done] == [True, True, False, False]
        assert (await decoder.decode(picture(), EMOJI)).file.width == 128


@in_loop
async def test_a_caller_that_goes_away_leaves_its_answer_to_nobody() -> None:
    async with decoding() as decoder:
        gone = asyncio.create_task(decoder.decode(picture(), EMOJI))
        await asyncio.sleep(0.05)
        gone.cancel()
        assert (await decoder.decode(sound(), SOUND)).file.media_type == "audio/mpeg"


@in_loop
async def test_it_gets_no_secret_and_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOTEGATE_OPERATOR__TOKEN", "a secret of the gateway")
    async with decoding() as decoder:
        await decoder.decode(picture(), EMOJI)
        inside = Path(f"/proc/{process_of(decoder)}")
        assert b"VOTEGATE" not in (inside / "environ").read_bytes()
        opened = {str(each.readlink()) for each in (inside / "fd").iterdir()}
        assert not any(each.startswith("socket:") for each in opened)
        limits = (inside / "limits").read_text()
        assert "Max address space         805306368" in limits


@in_loop
async def test_two_processes_read_two_files_at_once_and_a_failure_of_one_leaves_the_other() -> None:
    decoder = Decoder(decode_command, ROOT, 2)
    try:
        await asyncio.gather(*(decoder.decode(picture(), EMOJI) for _ in range(6)))
        first, second = decoder.process_ids
        os.kill(first, signal.SIGKILL)
        await asyncio.to_thread(eventually, lambda: _ended(first))
        read = await asyncio.gather(*(decoder.decode(picture(), EMOJI) for _ in range(6)))
        assert {each.file.width for each in read} == {128}
        assert second in decoder.process_ids
        assert (decoder.starts, decoder.outcomes) == (3, {"clean": 12, "refused": 0, "failed": 0})
    finally:
        decoder.close()


TRIES = {
    "a file": "open('/etc/hostname')",
    "a new file": "open('made', 'w')",
    "a name": "os.unlink('made')",
    "a socket": "socket.socket()",
    "a program": "os.execv('/bin/true', ['true'])",
    "another process": "os.fork()",
    "a signal": f"os.kill({os.getpid()}, 0)",
    "a signal at the next byte": f"fcntl.fcntl(0, fcntl.F_SETOWN, {os.getpid()})",
    "limits of another process": f"resource.prlimit({os.getpid()}, resource.RLIMIT_NOFILE)",
    "a thread": "threading.Thread(target=print).start()",
}


@pytest.mark.parametrize("what", TRIES)
@in_loop
async def test_a_flaw_of_a_library_reaches_no_file_network_or_process(what: str) -> None:
    code = (
        "import fcntl, resource, socket, threading\n"
        "def tries(*_):\n"
        f"    try: {TRIES[what]}\n"
        "    except (PermissionError, RuntimeError):\n"
        "        raise process.FileRefused(process.Fault('file_damaged'))\n"
        "process.decode_picture = tries"
    )
    async with decoding(program(code)) as decoder:
        with pytest.raises(Invalid) as refused:
            await decoder.decode(picture(), EMOJI)
        assert refused.value.faults[""].code == "file_damaged"


@in_loop
async def test_no_text_of_a_file_is_logged_by_a_library(capfd: pytest.CaptureFixture[str]) -> None:
    code = (
        "def prints(*_):\n"
        "    ctypes.CDLL(None).puts(b'a text of the file')\n"
        "    os.write(2, b'a text of the file')\n"
        "    raise process.FileRefused(process.Fault('file_damaged'))\n"
        "process.decode_picture = prints"
    )
    async with decoding(program(code)) as decoder:
        with pytest.raises(Invalid):
            await decoder.decode(picture(), EMOJI)
    assert "a text of the file" not in "".join(capfd.readouterr())


@in_loop
async def test_it_ends_when_nothing_is_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", 0.01)
    async with decoding() as decoder:
        await decoder.decode(picture(), EMOJI)
        await asyncio.to_thread(eventually, lambda: process_of(decoder) is None)
