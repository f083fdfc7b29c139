"""`server.py` in a forked process. tests/test_server.py starts it as an operator does, too."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from multiprocessing.forkserver import ForkServer
from multiprocessing.reduction import DupFd
from pkgutil import resolve_name
from tempfile import TemporaryFile
from typing import Any, NoReturn

from server import cli
from tests.support.forked_process import PROGRAM, ForkedProcess
from tests.support.gateways import WAIT_SECONDS, ProcessGateway


class ForkedGateway(ProcessGateway):
    bug: str | None = None
    """The place of a planted bug that quotes its arguments, as `module.name` or `module.class.name`."""
    forked_from = PROGRAM

    def opened(self, arguments: Sequence[str], output: int) -> ForkedProcess:
        both = DupFd(output), DupFd(output)
        return ForkedProcess(
            _run, ["serve", *arguments], self.environment, self.bug, *both, server=self.forked_from
        )


def ended(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    bug: str | None = None,
    forked_from: ForkServer = PROGRAM,
) -> subprocess.CompletedProcess[str]:
    """A command that has run to its end, with such a bug if one is named."""
    with TemporaryFile("w+") as stdout, TemporaryFile("w+") as stderr:
        outputs = [DupFd(file.fileno()) for file in (stdout, stderr)]
        process = ForkedProcess(_run, arguments, environment, bug, *outputs, server=forked_from)
        status = process.wait(WAIT_SECONDS)
        stdout.seek(0)
        stderr.seek(0)
        return subprocess.CompletedProcess(arguments, status, stdout.read(), stderr.read())


def _run(arguments: Sequence[str], environment: Mapping[str, str], bug: str | None, *outputs: Any) -> None:
    for standard, output in enumerate(outputs, start=1):
        given = output.detach()
        os.dup2(given, standard)
        os.close(given)
    os.environ.clear()
    os.environ.update(environment)
    if bug is not None:
        owner, _, name = bug.rpartition(".")
        setattr(resolve_name(owner), name, _fail)
    cli(arguments)


def _fail(*given: object) -> NoReturn:
    raise RuntimeError(f"a bug: {' '.join(map(str, given))}")
