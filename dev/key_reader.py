"""Reads commands from standard input: one for each key of a terminal, one for each line of anything else.

Invariant: once the reader has stopped, the terminal is as it was before.

On a terminal, keys arrive without Enter and are not shown (the mode cbreak). Ctrl-C is still a signal. While
the shell has the terminal, after Ctrl-Z or behind `&`, nothing is read. The shell does not tell a
running process that it has the terminal again, so the reader checks.
"""

import asyncio
import contextlib
import errno
import os
import signal
import termios
import tty
from collections.abc import Callable
from typing import Any

READ_BYTES = 4_096
LONGEST_LINE = 1_024
ESCAPE = b"\x1b"
"""The first byte of an arrow, or of another key without a character."""
LOOK_SECONDS = 0.5
"""The time between two checks for the terminal."""


class KeyReader:
    """Calls `pressed` with each command, on the event loop."""

    def __init__(self, descriptor: int, pressed: Callable[[str], None]) -> None:
        self._descriptor = descriptor
        self._pressed = pressed
        self._is_terminal = os.isatty(descriptor)
        self._before: list[Any] | None = None
        self._next_look: asyncio.TimerHandle | None = None
        self._line = b""

    def start(self) -> None:
        """Begin to read, in the running loop. A regular file is not read: no event loop can wait for it."""
        if self._is_terminal:
            # Otherwise they would stop the process when the shell has the terminal.
            for number in (signal.SIGTTIN, signal.SIGTTOU):
                signal.signal(number, signal.SIG_IGN)
            asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, self._resume)
        self._resume()

    def stop(self) -> None:
        """Read no more, and give the terminal back as it was."""
        self._pause()
        if self._before is not None and self._has_terminal():
            with contextlib.suppress(termios.error):  # it is gone
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    def _resume(self) -> None:
        self._pause()
        if self._is_terminal and not self._has_terminal():
            self._look_again()
            return
        with contextlib.suppress(OSError, termios.error):
            if self._is_terminal:
                self._before = self._before or termios.tcgetattr(self._descriptor)
                tty.setcbreak(self._descriptor, termios.TCSADRAIN)
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)

    def _look_again(self) -> None:
        self._next_look = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._resume)

    def _has_terminal(self) -> bool:
        try:
            return os.tcgetpgrp(self._descriptor) == os.getpgrp()
        except OSError as error:
            return error.errno == errno.ENOTTY  # a terminal without a shell that could take it

    def _pause(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        with contextlib.suppress(OSError):
            asyncio.get_running_loop().remove_reader(self._descriptor)

    def _read(self) -> None:
        if self._is_terminal and not self._has_terminal():
            self._resume()
            return
        try:
            piece = os.read(self._descriptor, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # the terminal is gone
            self._pause()
            return
        if not piece:
            self._pause()
        elif not self._is_terminal:
            *lines, self._line = (self._line + piece).split(b"\n")
            self._line = self._line[-LONGEST_LINE:]
            for line in lines:
                self._pressed(line.decode("utf-8", "replace"))
        elif not piece.startswith(ESCAPE):
            for key in piece.decode("utf-8", "replace"):
                self._pressed(key)
