"""The container file: linted where it cannot be built, and built where a container tool can pull."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from storage.folder import KEYS, OPERATOR_TOKEN
from tests.support.gateways import ROOT, WAIT_SECONDS
from tests.support.rooms import MAY_IMPORT

FILE = ROOT / "deploy/Containerfile"
BUILD_SECONDS = 900


def tool() -> str | None:
    """A container tool that works here: one without its daemon does not."""
    for name in ("podman", "docker"):
        if shutil.which(name) and not subprocess.run([name, "info"], capture_output=True).returncode:
            return name
    return None


def test_the_linter_finds_nothing() -> None:
    linted = subprocess.run(
        [Path(sys.executable).parent / "hadolint", FILE], capture_output=True, text=True, timeout=WAIT_SECONDS
    )
    assert (linted.returncode, linted.stdout) == (0, "")


def test_the_last_image_runs_the_binary_alone_as_nobody_in_particular() -> None:
    last = FILE.read_text().rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (\d+):(\d+)$", last, re.MULTILINE) == [("65532", "65532")]
    assert re.findall(r"^RUN|^SHELL", last, re.MULTILINE) == []
    (entry,) = (json.loads(line) for line in re.findall(r"^ENTRYPOINT (.+)$", last, re.MULTILINE))
    (health,) = (json.loads(line) for line in re.findall(r"^HEALTHCHECK .*CMD (.+)$", last, re.MULTILINE))
    assert health == [*entry, "health"]
    assert re.findall(r"^VOLUME (.+)$", last, re.MULTILINE) == ['["/var/lib/votegate"]']


def is_left_out(path: str) -> bool:
    """Return true for a path that the container tool does not copy. `**/` stands for any folders."""
    patterns = (ROOT / ".dockerignore").read_text().split()
    whole = "|".join(re.escape(each).replace(r"\*\*/", "(?:.+/)?") for each in patterns)
    return re.match(rf"(?:{whole})(?:/|$)", path) is not None


@pytest.mark.parametrize("folder", ["data", "examples/data", "deploy/one/two/data"])
def test_no_image_holds_a_data_folder_with_its_secrets_wherever_it_is(folder: str) -> None:
    assert all(is_left_out(f"{folder}/{name}") for name in (KEYS, OPERATOR_TOKEN))


def test_an_image_is_built_of_every_file_of_every_room() -> None:
    rooms = [ROOT / room for room in (*MAY_IMPORT, "gateway", "release")]
    files = {str(path.relative_to(ROOT)) for room in rooms for path in room.rglob("*") if path.is_file()}
    assert {path for path in files if is_left_out(path) and "__pycache__" not in path} == set()


@pytest.mark.long
def test_the_image_is_built() -> None:
    name = tool()
    if name is None:
        pytest.skip("there is no container tool that works here")
    pulled = subprocess.run(
        [name, "pull", "gcr.io/distroless/cc-debian12:nonroot"], capture_output=True, timeout=BUILD_SECONDS
    )
    if pulled.returncode:
        pytest.skip("images cannot be pulled here")
    subprocess.run(
        [name, "build", "--file", FILE, "--tag", "votegate-test", ROOT], check=True, timeout=BUILD_SECONDS
    )
    said = subprocess.check_output([name, "run", "--rm", "votegate-test", "version"], text=True)
    assert said.startswith("votegate ")
