"""`python -m decoder.process`: reads files for the gateway that started it, one after the other.

Orders come through standard input, and answers go to standard output. The process ends with its gateway, and
when a file takes more memory or time than allowed. It inherits no secret, and confines itself before it reads
anything (`confinement.py`).
"""

import hashlib
import os
import resource
import signal
import sys
from pathlib import Path

import msgspec

from decoder.confinement import FILE_BYTES, confine, limit
from decoder.decoder_messages import DecodeAnswer, DecodeOrder, FileRefused, receive, send
from decoder.pictures import decode_picture, load_pictures
from decoder.sounds import decode_sound, load_sounds
from forms.file_fields import FileRef
from languages.said import Fault

GIVES_WAY = 19
"""Two of these leave vote checks 0.95 of their rate; at 15 they leave 0.74."""
CPU_SECONDS = 5
"""For one file."""


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to every process
    limit()
    load_pictures()
    load_sounds()
    os.nice(GIVES_WAY)  # vote checks go first, but the first file does not wait for a start that gives way
    orders = msgspec.msgpack.Decoder(DecodeOrder)
    answers = os.fdopen(os.dup(1), "wb")
    sys.stderr = os.fdopen(os.dup(2), "w")
    with Path(os.devnull).open(
        "wb"
    ) as nowhere:  # libraries print what is in files: it is no answer, and no log
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    confine()
    while (body := receive(sys.stdin.buffer, FILE_BYTES)) is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime) + CPU_SECONDS + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
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
