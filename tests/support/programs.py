"""Programs that tests call and that no package of the project brings."""

import os
import shutil

import pytest


def installed(name: str) -> str:
    """Return the path of a program. Without it, the test is skipped; in CI it fails."""
    path = shutil.which(name)
    if path is None:
        why = f"{name} is not installed: `make test-packages`"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return path
