"""Lines of the log since a test last asked."""

import logging

import pytest


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings since the last call, and the lines of level INFO that say that one is over."""
    levels = {logging.WARNING, logging.INFO}
    lines = [record.getMessage() for record in caplog.records if record.levelno in levels]
    caplog.clear()
    return lines
