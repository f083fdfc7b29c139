"""The thread that prints."""

import os
import threading
from collections.abc import Iterator

import pytest

from dev.printer import MOST, Printer
from tests.support.gateways import WAIT_SECONDS, eventually


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe that has no room for a line: its end for readers, and that for writers."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4_096)
    except BlockingIOError:
        pass
    yield reading, writing
    os.close(writing)
    os.close(reading)


def dropped(number: int) -> str:
    return f"{number} dropped"


def read_lines(reading: int, last: str) -> list[str]:
    """Read until the line has come."""
    content = ""
    while not content.endswith(f"{last}\n"):
        content += os.read(reading, 65_536).decode()
    return content.lstrip("x").splitlines()


def test_a_pipe_that_nobody_reads_stops_nobody_and_keeps_so_many_lines(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    printer = Printer(writing, lambda: None, dropped)
    printer.print("first")
    eventually(printer._lines.empty)  # the thread has it, and waits for the pipe
    for number in range(MOST + 7):
        printer.print(str(number))
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(read_lines(reading, "last")))
    reader.start()
    eventually(printer._lines.empty)
    printer.print("last")
    reader.join(WAIT_SECONDS)
    printer.close()
    assert lines == ["first", *map(str, range(MOST)), "7 dropped", "last"]


def test_a_broken_pipe_is_told_once() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    broken = threading.Event()
    printer = Printer(writing, broken.set, dropped)
    printer.print("to nobody")
    assert broken.wait(WAIT_SECONDS)
    printer.print("to nobody")
    printer.close()
    os.close(writing)


def test_the_lines_that_are_left_are_printed_at_the_end() -> None:
    reading, writing = os.pipe()
    printer = Printer(writing, lambda: None, dropped)
    for number in range(100):
        printer.print(str(number))
    printer.close()
    os.close(writing)
    with os.fdopen(reading) as output:
        assert output.read().splitlines() == [*map(str, range(100))]
