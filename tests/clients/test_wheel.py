"""The wheel of the Python client, as `make clients-python` builds it, has the package and nothing else."""

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.clients.stories import CLIENTS
from tests.support.gateways import WAIT_SECONDS


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    build += ["--no-index", "--disable-pip-version-check", "--wheel-dir", str(folder)]
    subprocess.run([*build, str(CLIENTS / "python")], check=True, timeout=WAIT_SECONDS)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_has_every_module_and_the_mark_of_types(wheel: zipfile.ZipFile) -> None:
    package = CLIENTS / "python" / "votegate_client"
    modules = {str(path.relative_to(package.parent)) for path in package.rglob("*.py")}
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found == modules | {"votegate_client/py.typed"}


def test_the_wheel_needs_aiohttp_alone_and_python_3_10(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
    metadata = Parser().parsestr(wheel.read(name).decode())
    assert metadata["Name"] == "votegate-client"
    assert metadata.get_all("Requires-Dist") == ["aiohttp<4,>=3.9.2"]
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "MIT"


def test_the_user_agent_has_the_version_of_the_wheel(wheel: zipfile.ZipFile) -> None:
    version = Path(str(wheel.filename)).name.split("-")[1]
    assert f"votegate-client/{version} " in wheel.read("votegate_client/calls.py").decode()
