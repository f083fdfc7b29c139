"""The messages between the gateway and the decoder: msgpack behind its length, through pipes."""

import struct
from typing import BinaryIO

import msgspec
from msgspec import Struct

from forms.file_fields import FileRef, Files
from languages.said import Code, Fault

LENGTH = struct.Struct("!I")
Facts = dict[str, int | str]


class DecodeOrder(Struct, frozen=True):
    """A file to read, by the rules of its field."""

    content: bytes
    rules: Files


class DecodeAnswer(Struct, frozen=True):
    """A clean file with its facts, or the code of the rule that the file breaks."""

    content: bytes = b""
    file: FileRef | None = None
    code: Code | None = None
    facts: Facts = {}


class FileRefused(Exception):
    """The file breaks a rule."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault


DAMAGED = Fault("file_damaged")


def send(pipe: BinaryIO, message: Struct) -> None:
    body = msgspec.msgpack.encode(message)
    pipe.write(LENGTH.pack(len(body)))
    pipe.write(body)
    pipe.flush()


def receive(pipe: BinaryIO, most_bytes: int) -> bytes | None:
    """Return the next message; None at the end of the pipe. Raises EOFError for one that is cut off or too
    large."""
    head = pipe.read(LENGTH.size)
    if not head:
        return None
    length = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else most_bytes + 1
    body = pipe.read(length) if length <= most_bytes else b""
    if len(body) < length:
        raise EOFError
    return body
