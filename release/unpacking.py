"""Libraries and files that the binary's second process unpacks when it imports what needs them.

PyInstaller's own program unpacks Python alone: it writes in pieces of 4 KB, and most of a command's time went
into files that it did not use. `serve` and `dev` unpack the rest first, and any other command just the files
that it needs.

Invariant: modules and files come from the file that this process was started from. An upgrade puts another
file at its path, so this process keeps the old one open.
"""

import _thread
import marshal
import os
import struct
import sys
from _frozen_importlib_external import ExtensionFileLoader, spec_from_file_location
from typing import Any

import pyimod01_archive  # type: ignore[import-not-found]  # PyInstaller's reader of modules
import pyimod02_importers  # type: ignore[import-not-found]  # PyInstaller's importer

TABLE = 12
"""The place in the header of the modules that holds the position of the table of files: see votegate.spec."""


class Program:
    """The running binary, opened. Each instance has a position of its own, because threads import."""

    try:
        descriptor = os.open("/proc/self/exe", os.O_RDONLY)
    except OSError:  # without /proc
        descriptor = os.open(sys.executable, os.O_RDONLY)

    def __init__(self, *_: object) -> None:
        self._at = 0

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def seek(self, position: int) -> None:
        self._at = position

    def read(self, length: int) -> bytes:
        return os.pread(self.descriptor, length, self._at)


class Unpacking:
    """The first finder of modules. It unpacks the files of a module before others look for the module."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._start: int = pyimod02_importers.pyz_archive._start_offset
        (table,) = struct.unpack("!i", self._read(TABLE, 4))
        (length,) = struct.unpack("!i", self._read(table, 4))
        self._files: dict[str, tuple[int, int, int]]
        self._needed: dict[str, list[str]]
        self._files, self._needed = marshal.loads(self._read(table + 4, length))
        self._made = {""}
        self._one_at_a_time = _thread.allocate_lock()

    def find_spec(self, module: str, *_: object) -> Any:
        """Unpack the files of a module. Return its spec if it is a library itself, else None."""
        if (names := self._needed.get(module)) is None:
            return None
        self.unpack(names)
        path = f"{self._folder}/{names[0]}"
        is_itself = names[0].rpartition("/")[2].startswith(module.rpartition(".")[2])
        if not (is_itself and path.endswith(".so")):
            return None
        return spec_from_file_location(module, path, loader=ExtensionFileLoader(module, path))

    def unpack_all(self) -> None:
        self.unpack([*self._files])

    def unpack(self, names: list[str]) -> None:
        with self._one_at_a_time:
            for name in names:
                if name in self._files:
                    self._write(name, *self._files[name])
                    del self._files[name]

    def _write(self, name: str, position: int, length: int, mode: int) -> None:
        try:
            parent = name.rpartition("/")[0]
            if parent not in self._made:
                os.makedirs(f"{self._folder}/{parent}", 0o700, exist_ok=True)  # noqa: PTH103 (see pathlib)
                self._made.add(parent)
            descriptor = os.open(f"{self._folder}/{name}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
            try:
                content = memoryview(self._read(position, length))
                while content:
                    content = content[os.write(descriptor, content) :]
            finally:
                os.close(descriptor)
        except FileExistsError:
            pass  # a process that a gateway starts has its folder, in which everything is
        except OSError as error:
            sys.exit(f"votegate cannot unpack itself into {self._folder}: {error.strerror}")

    def _read(self, position: int, length: int) -> bytes:
        return os.pread(Program.descriptor, length, self._start + position)


pyimod01_archive.open = Program  # instead of the builtin one: it opens the binary's path at each import
sys.unpacking = Unpacking(sys._MEIPASS)  # type: ignore[attr-defined]  # for entry.py
sys.meta_path.insert(0, sys.unpacking)  # type: ignore[attr-defined]  # made above
