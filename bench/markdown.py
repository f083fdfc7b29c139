"""The cost of a description in Markdown, and the time for which the event loop stands still meanwhile.

    python -m bench.markdown --rounds 20

Each text is rendered in a thread of this process, as a gateway does it, as often as there are rounds. A
coroutine asks the loop for its next turn without a pause. A stall is the longest time between two turns of
a round, without the time in which Linux let the loop's thread wait for a core. Other processes still cause
stalls, because they may stop the thread that has the interpreter. So the first row has no text: its thread
computes a digest, without the interpreter. What rendering causes is in every round, also in the best one.
"""

import argparse
import asyncio
import hashlib
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import uvloop

from gateway.serve import tune_interpreter
from web.markdown import Markdown

ORDINARY = """# A bot that plays *music*

See [its site](https://bot.example), or ask for `help`. It is **free**.

* plays what you like
* stops when you say so

| command | what it does |
| --- | --- |
| play | plays |

"""
MOST = 8_192


def filled(unit: str, characters: int = MOST) -> str:
    return (unit * characters)[:characters]


TEXTS: Mapping[str, str | None] = {
    "no text": None,
    "ordinary text, 1 KiB": filled(ORDINARY, 1_024),
    "ordinary text": filled(ORDINARY),
    "quotes, each in the one before": filled(">"),
    "quotes and lists, as deep as they are shown": filled(">" * 20 + " a\n\n"),
    "brackets that never close": filled("["),
    "images that never close": filled("![["),
    "strikes that never close": filled("~a "),
    "words with emphasis": filled("*a* "),
    "paragraphs of a letter": filled("a\n\n"),
    "lists of nothing": filled("-\n"),
    "quotation marks": filled('"'),
    "a table of 5,000 short rows": "|a" * 24 + "\n" + "|-" * 24 + "\n" + "a\n" * 220,
    "a table of 2,000,000 cells": "|a" * 1_000 + "\n" + "|-" * 1_000 + "\n" + "a\n" * 2_000,
    "an address of 2,000 characters, 1,500 times": (
        "[a]: https://b.example/" + "c" * 2_000 + "\n\n" + "[a] " * 1_500
    ),
}


def awake_seconds() -> float:
    """Return a time that stands still while this thread waits for a core."""
    _, waited_ns, _ = Path("/proc/thread-self/schedstat").read_bytes().split()
    return time.perf_counter() - int(waited_ns) / 1e9


class Turns:
    """The longest time between two turns of the loop."""

    def __init__(self) -> None:
        self.longest_ms = 0.0

    async def run(self) -> None:
        before = awake_seconds()
        while True:
            await asyncio.sleep(0)
            now = awake_seconds()
            self.longest_ms = max(self.longest_ms, (now - before) * 1_000)
            before = now


def digest() -> None:
    hashlib.pbkdf2_hmac("sha256", b"", b"", 50_000)


async def costs(text: str | None, rounds: int) -> Sequence[float]:
    """Return the median of a rendering, and the best and the median of a stall, in milliseconds."""
    took, stalls = [], []
    for _ in range(rounds):
        markdown, turns = Markdown(), Turns()
        running = asyncio.create_task(turns.run())
        started = time.perf_counter()
        await (asyncio.to_thread(digest) if text is None else markdown.html(text))
        took.append((time.perf_counter() - started) * 1_000)
        running.cancel()
        stalls.append(turns.longest_ms)
    return statistics.median(took), min(stalls), statistics.median(stalls)


async def main(rounds: int) -> None:
    tune_interpreter()
    await Markdown().html("the libraries are loaded")
    print("| 8 KiB of | rendered, ms | stall of the loop in the best round, ms | in the median round |")
    print("| --- | ---: | ---: | ---: |")
    for name, text in TEXTS.items():
        numbers = " | ".join(f"{number:.1f}" for number in await costs(text, rounds))
        print(f"| {name} | {numbers} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    uvloop.run(main(parser.parse_args().rounds))
