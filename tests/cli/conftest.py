"""A data folder that a gateway has left."""

from pathlib import Path

import pytest

from tests.support.kept_folder import Kept, left_by_a_gateway


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return left_by_a_gateway(tmp_path)
