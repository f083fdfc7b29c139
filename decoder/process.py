"""`python -m decoder.process`: reads files for the gateway that started it, one after the other.

Orders come through standard input, and answers go to standard output. The process ends with its gateway, and
when a file takes more memory or time than one may. It inherits no secret.
"""

import hashlib
import os
import resource
import signal
import sys

import msgspec

from decoder.decoder_messages import DecodeAnswer, DecodeOrder, FileRefused, receive, send
from decoder.pictures import decode_picture
from decoder.sounds import decode_sound
from forms.file_fields import FileRef
from languages.said import Fault

GIVES_WAY = 10
MEMORY_BYTES = 768 << 20
CPU_SECONDS = 5
"""For one file."""
FILE_BYTES = 64 << 20
"""The largest file that it may write, which is one in memory."""
OPEN_FILES = 32


def main() -> None:
    os.nice(GIVES_WAY)  # vote checks go first
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to every process
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    orders = msgspec.msgpack.Decoder(DecodeOrder)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    while (body := receive(sys.stdin.buffer, FILE_BYTES)) is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + CPU_SECONDS + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        try:
            send(answers, answer(orders.decode(body)))
        except MemoryError:
            sys.exit("a file takes too much memory")


def answer(order: DecodeOrder) -> DecodeAnswer:
    """Read a file."""
    rules = order.rules
    try:
        if rules.sort == "picture":
            clean, facts = decode_picture(order.content, rules)
        else:
            clean, facts = decode_sound(order.content, rules)
        file = FileRef(digest=hashlib.sha256(clean).hexdigest(), size=len(clean), **facts)
        fault: Fault | None = rules.fault(file)
    except FileRefused as refused:
        fault = refused.fault
    if fault is not None:
        return DecodeAnswer(code=fault.code, facts=dict(fault.facts))  # type: ignore[arg-type]  # no texts in them
    return DecodeAnswer(clean, file)


if __name__ == "__main__":
    main()
