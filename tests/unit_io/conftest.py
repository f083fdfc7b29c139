"""Fixtures: a disk that fails, a data folder that a gateway has left."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal import journal as journal_module
from tests.unit_io.disk import Disk
from tests.unit_io.kept import Kept, left_by_a_gateway


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    monkeypatch.setattr(journal_module, "RETRY_SECONDS", 0.001)
    disk = Disk(monkeypatch)
    yield disk
    disk.may_sync.set()


@pytest.fixture
def no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("VOTEGATE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return left_by_a_gateway(tmp_path)
