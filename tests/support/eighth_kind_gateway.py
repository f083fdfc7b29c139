"""A gateway of `tests.support.eighth_kind.launcher`: the program knows more kinds of listings."""

import subprocess

from tests.support.forked_gateway import ForkedGateway, ended
from tests.support.forked_process import fork_server


class EighthKindGateway(ForkedGateway):
    forked_from = fork_server("tests.support.eighth_kind.launcher")

    def ended(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Return a command that has ended."""
        return ended(arguments, self.environment, forked_from=self.forked_from)
