"""Runs the stories with the package on the oldest Python and aiohttp that it supports.

`python3.10 -m tests.clients.oldest`, with the package on the path; `make clients-python` does so. The other
tests need Python 3.11: this program has only the runners.
"""

import asyncio
import datetime
import importlib
import sys
from types import SimpleNamespace
from typing import Any, cast

OLD: Any = datetime
OLD.UTC = datetime.timezone.utc  # noqa: UP017 -- Python 3.11 has it
sys.modules["tests.support.gateways"] = cast(Any, SimpleNamespace(WAIT_SECONDS=60))


def main() -> None:
    package = importlib.import_module("votegate_client")
    book = importlib.import_module("tests.clients.stories")
    told = 0
    for side in ("client", "poster", "receiver"):
        runner = importlib.import_module(f"tests.clients.{side}_runner")
        for story in book.of_python(side):
            try:
                asyncio.run(runner.run(story, package))
            except AssertionError:
                sys.stdout.write(f"{story['name']}\n")
                raise
            told += 1
    versions = f"Python {sys.version.split()[0]}, aiohttp {importlib.import_module('aiohttp').__version__}"
    sys.stdout.write(f"{versions}: {told} stories\n")


if __name__ == "__main__":
    main()
