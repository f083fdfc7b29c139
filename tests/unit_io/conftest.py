"""Fixtures for tests that fail the disk."""

from collections.abc import Iterator

import pytest

from journal import journal as journal_module
from tests.unit_io.disk import Disk


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    monkeypatch.setattr(journal_module, "RETRY_SECONDS", 0.001)
    disk = Disk(monkeypatch)
    yield disk
    disk.may_sync.set()
