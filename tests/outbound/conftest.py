"""Fixtures that all tests of the client share."""

import os

import pytest


@pytest.fixture(autouse=True)
def usual_priorities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the threads of handshakes the usual priority. On a busy machine they would get no time at all."""
    monkeypatch.setattr(os, "setpriority", lambda *_: None)
