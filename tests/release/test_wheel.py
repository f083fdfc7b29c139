"""The wheel: one package, every room in it, and a command that does all that `server.py` does."""

import re
import signal
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from core.version import VERSION
from release.wheel import PAGES, bounds
from server import Commands, cli
from tests.support.gateways import ROOT, USER, WAIT_SECONDS
from tests.support.installed_gateway import InstalledGateway, answered
from tests.support.rooms import MAY_IMPORT

DATE = "2026-01-02T03:04:05Z"
SECONDS = "1767323045"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without a network, as `make wheel` builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    build += ["--no-index", "--disable-pip-version-check", "--wheel-dir", str(folder), str(ROOT)]
    environment = {"PATH": "/usr/bin:/bin", "SOURCE_DATE_EPOCH": SECONDS}
    subprocess.run(build, check=True, env=environment, timeout=WAIT_SECONDS)
    (wheel,) = folder.glob("*.whl")
    assert wheel.name == f"votegate-{VERSION}-py3-none-any.whl"
    return wheel


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel installed into an environment of its own."""
    place = environment(tmp_path_factory.mktemp("installed"))
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run(
        [*pip, "--no-index", "--no-compile", "--disable-pip-version-check", str(wheel)],
        check=True,
        timeout=WAIT_SECONDS,
    )
    return place / "bin" / "votegate"


def environment(folder: Path) -> Path:
    """Make a virtual environment that borrows the packages of this one."""
    place = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=WAIT_SECONDS)
    (packages,) = place.glob("lib/python3*/site-packages")
    (here,) = (Path(path) for path in sys.path if path.endswith("site-packages"))
    (packages / "borrowed.pth").write_text(f"{here}\n")
    return place


def test_an_editable_install_runs_the_source_tree(tmp_path: Path) -> None:
    place = environment(tmp_path)
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--disable-pip-version-check", "--editable", str(ROOT)],
        check=True,
        env={"PATH": "/usr/bin:/bin"},
        timeout=WAIT_SECONDS,
    )
    assert answered(place / "bin" / "votegate", tmp_path, "version").split()[:2] == ["votegate", VERSION]
    found = answered(
        place / "bin" / "python", tmp_path, "-c", "import core.version; print(core.version.__file__)"
    )
    assert Path(found.strip()) == ROOT / "core" / "version.py"


def test_the_wheel_takes_one_name_at_the_top_level(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        tops = {name.partition("/")[0] for name in packed.namelist()}
    assert tops == {"votegate", f"votegate-{VERSION}.dist-info"}


def test_the_wheel_holds_every_file_of_every_room(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = {name.removeprefix("votegate/") for name in packed.namelist() if "dist-info" not in name}
    rooms = [ROOT / room for room in (*MAY_IMPORT, "gateway")]
    kept = {
        str(path.relative_to(ROOT))
        for room in rooms
        for path in room.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == kept | {*PAGES, "server.py", "__init__.py", "__main__.py", "core/built.py"}
    assert "webhook/locales/de/LC_MESSAGES/votegate.po" in names


def test_each_dependency_has_bounds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        metadata = Parser().parsestr(packed.read(f"votegate-{VERSION}.dist-info/METADATA").decode())
    required = metadata.get_all("Requires-Dist") or []
    named = re.findall(r"^([\w.-]+)", (ROOT / "requirements.in").read_text(), re.MULTILINE)
    assert {re.split("[<>]", each)[0].lower() for each in required} == {name.lower() for name in named}
    assert all(re.fullmatch(r"[\w.-]+(<[\d.]+,>=[\d.]+|>=[\d.]+,<[\d.]+)", each) for each in required)


@pytest.fixture(scope="module")
def constraints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("constrained") / "constraints.txt"
    subprocess.run(["make", "--silent", path], cwd=ROOT, check=True, timeout=WAIT_SECONDS)
    return path


def test_its_constraints_pin_every_package_to_the_version_that_is_tested(
    wheel: Path, constraints: Path
) -> None:
    pins = dict(line.split("==") for line in constraints.read_text().splitlines())
    assert pins == dict(
        re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    )
    with zipfile.ZipFile(wheel) as packed:
        metadata = Parser().parsestr(packed.read(f"votegate-{VERSION}.dist-info/METADATA").decode())
    for required in map(Requirement, metadata.get_all("Requires-Dist") or []):
        assert pins[canonicalize_name(required.name)] in required.specifier


def test_pip_takes_the_constraints_beside_the_wheel(wheel: Path, constraints: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-index", "--no-deps"]
    subprocess.run(
        [*pip, "--ignore-installed", "--disable-pip-version-check", "--constraint", constraints, wheel],
        check=True,
        timeout=WAIT_SECONDS,
    )


@pytest.mark.parametrize(
    ("version", "said"), [("8.5.1", ">=8.5.1,<9"), ("0.22.0", ">=0.22.0,<0.23"), ("2026.9", ">=2026.9,<2027")]
)
def test_the_bounds_of_a_dependency_follow_from_the_version_that_is_tested(version: str, said: str) -> None:
    assert bounds(version) == said


def test_the_command_says_what_was_built(command: Path, tmp_path: Path) -> None:
    said = dict(line.split(maxsplit=1) for line in answered(command, tmp_path, "version").splitlines()[:3])
    assert (said["votegate"], said["built"]) == (VERSION, DATE)
    assert re.fullmatch("[0-9a-f]{40}( with changes)?|unknown", said["commit"])
    python = command.parent / "python"
    assert answered(python, tmp_path, "-m", "votegate", "version") == answered(command, tmp_path, "version")


def test_the_command_has_every_command(command: Path, tmp_path: Path) -> None:
    assert isinstance(cli, Commands)
    listed = answered(command, tmp_path, "--help")
    assert listed.startswith("Usage: votegate ")
    assert set(re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)) >= {*cli.commands, *Commands.OTHERS}


def test_an_installed_gateway_serves_votes_and_verifies_its_disk(command: Path, tmp_path: Path) -> None:
    gateway = InstalledGateway(command, tmp_path / "data").start()
    try:
        key = gateway.list_bot()
        gateway.cast()
        assert gateway.voters(key).json()["voted"] is True
        assert gateway.done("POST", "/debug/verify")["equal"] is True
        assert gateway.signal(signal.SIGTERM) == 0
    finally:
        gateway.close()
    assert "Traceback" not in gateway.log
    assert f'"user": "{USER}"' not in gateway.log
