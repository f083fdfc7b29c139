"""serving/log_output.py: everything that a process writes to standard error is a line of its log."""

import json
import subprocess
import sys
from collections.abc import Mapping

import pytest

from tests.support.gateways import ROOT, WAIT_SECONDS

BEGUN = """
import asyncio, logging, sys, threading, warnings
from watchers.redaction import Redactor
from watchers.security_log import tell
from serving.log_output import LogOutput, begin_logging
begin_logging(LogOutput("json", Redactor("the-secret"), sys.stderr.buffer), "INFO")
"""
SAID = {
    "a library": ('logging.getLogger("aiohttp.client").error("a %s", "the-secret")', "aiohttp.client"),
    "a warning of Python": ('warnings.warn("the-secret", UserWarning)', "py.warnings"),
    "an error of a thread": (
        """
def fail():
    raise ValueError("the-secret")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
""",
        "votegate",
    ),
    "an error where none can be raised": (
        """
class Gone:
    def __del__(self):
        raise ValueError("the-secret")
Gone()
""",
        "votegate",
    ),
    "a task that nobody waited for": (
        """
async def fail():
    raise ValueError("the-secret")
async def main():
    asyncio.ensure_future(fail())
    await asyncio.sleep(0)
asyncio.run(main())
""",
        "asyncio",
    ),
    "an error that nobody has caught": ('raise ValueError("the-secret")', "votegate"),
    "a security event, whatever the level is": (
        'logging.getLogger().setLevel("ERROR"); tell("form_refused", by="the-secret")',
        "votegate.security",
    ),
    "arguments that do not fit": ('logging.getLogger("a").info("%d", "the-secret")', "a"),
}


@pytest.fixture(scope="module")
def logs() -> Mapping[str, list[str]]:
    """Return the log of each program. They run side by side, because interpreters take long to start."""
    running = {
        name: subprocess.Popen(
            [sys.executable, "-c", BEGUN + said], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for name, (said, _) in SAID.items()
    }
    return {
        name: process.communicate(timeout=WAIT_SECONDS)[1].splitlines() for name, process in running.items()
    }


@pytest.mark.parametrize("what", SAID)
def test_it_is_one_line_of_json_without_secrets(logs: Mapping[str, list[str]], what: str) -> None:
    (line,) = logs[what]
    said = json.loads(line)
    assert said["logger"] == SAID[what][1]
    assert "[secret]" in line
    assert "the-secret" not in line
