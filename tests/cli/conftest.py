"""A data folder that a gateway has left, and a passphrase for its secrets."""

from pathlib import Path

import pytest

from storage import sealing
from tests.support.kept_folder import PASSPHRASE, Kept, left_by_a_gateway


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return left_by_a_gateway(tmp_path)


@pytest.fixture
def passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The options that name a file with a passphrase. A guess costs nothing here."""
    monkeypatch.setattr(sealing, "_COST", (4, 1, 1))
    path = tmp_path / "passphrase"
    path.write_text(f"{PASSPHRASE}\n")
    return ["--passphrase-file", path]
