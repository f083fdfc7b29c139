"""`server.py serve` in a forked process. tests/test_server.py starts it as an operator does."""

import os
from collections.abc import Mapping, Sequence
from multiprocessing.reduction import DupFd
from typing import IO, Any

from server import cli
from tests.support.forked_process import ForkedProcess
from tests.support.gateways import ProcessGateway


class ForkedGateway(ProcessGateway):
    def opened(self, arguments: Sequence[str]) -> "_Serving":
        return _Serving(["serve", *arguments], self.environment)


class _Serving(ForkedProcess):
    """The command, with stdout and stderr in one pipe."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        read, write = os.pipe()
        super().__init__(_run, arguments, environment, DupFd(write))
        os.close(write)
        self.stdout: IO[str] | None = os.fdopen(read)


def _run(arguments: Sequence[str], environment: Mapping[str, str], output: Any) -> None:
    pipe: int = output.detach()
    for standard in (1, 2):
        os.dup2(pipe, standard)
    os.close(pipe)
    os.environ.clear()
    os.environ.update(environment)
    cli(arguments)
