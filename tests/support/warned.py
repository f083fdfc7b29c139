"""Lines of the log since a test last asked."""

import logging

import pytest


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings since the last call."""
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    caplog.clear()
    return lines
