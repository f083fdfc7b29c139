"""The hot path of a gateway that `serve` starts."""

import subprocess
import sys

from tests.support.gateways import ROOT


def test_a_gateway_that_serves_imports_nothing_of_this_room() -> None:
    imported = (
        "import gateway.serve, sys; print([name for name in sys.modules if name.split('.')[0] == 'dev'])"
    )
    command = [sys.executable, "-c", imported]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout == b"[]\n"
