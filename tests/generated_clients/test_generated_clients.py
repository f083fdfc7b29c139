"""Linters find no fault in our document, and the clients that generators make from it call a gateway.

Each client makes the same calls (`calls/`), and its types are checked strictly. The commands are those of
`docs/generated-clients.md`.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.contract import BOT_PATH, set_webhook
from tests.support.gateways import BOT, OTHER_BOT, OWNER, ROOT, USER, ThreadGateway, running
from tests.support.programs import installed
from tests.support.webhook_receiver import receiving

HERE = Path(__file__).parent
MODULES = HERE / "node_modules"
PYTHON = ROOT / "build" / "generators" / "bin"
LONGEST_SECONDS = 120
GUIDE = (ROOT / "docs" / "generated-clients.md").read_text()
COMMANDS = {
    name.split()[0]: command.replace("\\\n", "").split()
    for name, command in re.findall(r"^## ([^\n]*)\n.*?```sh\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)
}
"""The commands of the guide, by the first word of their heading."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    with running(tmp_path_factory.mktemp("generated") / "data", **{"limits.stats.requests": 100}) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def folder(gateway: ThreadGateway, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the document, as a developer has it."""
    installed("node")
    if not (MODULES.exists() and PYTHON.exists()):
        pytest.skip("the generators are missing: `make generators` installs them")
    folder = tmp_path_factory.mktemp("clients")
    for path in HERE.iterdir():
        if path.suffix in {".json", ".yaml", ".mjs"}:
            shutil.copy(path, folder)
    shutil.copytree(HERE / "calls", folder / "calls")
    (folder / "node_modules").symlink_to(MODULES)
    (folder / "openapi.json").write_bytes(gateway.request("GET", "/openapi.json").content)
    return folder


def run(folder: Path, command: Sequence[str], given: Mapping[str, str] = {}) -> str:
    """Run a program of the folder. Return what it wrote."""
    path = os.pathsep.join([str(MODULES / ".bin"), str(PYTHON), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, "REDOCLY_TELEMETRY": "off", "CI": "true", **given},
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def world(gateway: ThreadGateway) -> Iterator[Mapping[str, str]]:
    """A listed bot with a webhook and a vote. Return what a client must know."""
    with receiving() as receiver:
        key = gateway.list_bot()
        set_webhook(gateway, receiver.url)
        gateway.done("POST", f"{BOT_PATH}/votes", {"user": USER})
        gateway.done("PUT", f"{BOT_PATH}/actual-server-count", {"server_count": 1_200})
        yield {
            "BASE": gateway.base_url,
            "KEY": key,
            "OPERATOR": gateway.operator_token,
            "BOT": BOT,
            "USER": USER,
            "UNKNOWN": OTHER_BOT,
        }


def expect(output: str) -> None:
    """Check the answers that a client has shown."""
    shown: Any = json.loads(output.splitlines()[-1])
    assert shown == {
        "pushed": True,
        "voted": True,
        "votes": 1,
        "listed": [BOT],
        "tested": OWNER,
        "struck": 1,
        "code": "no_such_listing",
    }


@pytest.mark.parametrize("linter", ["Redocly", "Spectral"])
def test_a_linter_has_no_warning(linter: str, folder: Path) -> None:
    said = run(folder, COMMANDS[linter])
    assert "warning" not in re.sub("Deprecation warning: Node.js", "", said).lower()


@pytest.mark.parametrize(
    ("generator", "call"),
    [("openapi-typescript", "openapi_fetch"), ("@hey-api/openapi-ts", "hey_api"), ("orval", "orval")],
)
def test_a_typescript_client_is_strictly_typed_and_calls_a_gateway(
    generator: str, call: str, folder: Path, world: Mapping[str, str]
) -> None:
    run(folder, COMMANDS[generator])
    # One project for each: the calls of the others have no client yet.
    project = {"extends": "./tsconfig.json", "include": [f"calls/{call}.ts"]}
    (folder / f"tsconfig.{call}.json").write_text(json.dumps(project))
    run(folder, ["tsc", "--project", f"tsconfig.{call}.json"])
    bundle = ["--bundle", "--platform=node", "--format=esm", f"--outfile={call}.mjs"]
    run(folder, ["esbuild", f"calls/{call}.ts", *bundle])
    expect(run(folder, ["node", f"{call}.mjs"], world))


@pytest.mark.parametrize(
    ("generator", "made", "call"),
    [
        ("openapi-python-client", "votegate-management", "openapi_python_client"),
        ("datamodel-code-generator", "votegate_models.py", "datamodels"),
    ],
)
def test_a_python_client_is_strictly_typed_and_calls_a_gateway(
    generator: str, made: str, call: str, folder: Path, world: Mapping[str, str]
) -> None:
    assert "WARNING parsing" not in run(folder, COMMANDS[generator]), "an operation is left out"
    found = f"{folder}:{folder / made}"
    path = {"PYTHONPATH": found, "MYPYPATH": f"{found}:{folder / 'calls'}"}
    run(folder, ["mypy", "--strict", made, f"calls/{call}.py"], path)
    expect(run(folder, ["python", f"calls/{call}.py"], {**world, **path}))


def test_few_classes_of_datamodel_code_generator_are_numbered(folder: Path) -> None:
    run(folder, COMMANDS["datamodel-code-generator"])
    names = re.findall(r"^class (\w+)", (folder / "votegate_models.py").read_text(), re.MULTILINE)
    numbered = [name for name in names if name[-1].isdigit()]
    assert len(numbered) < len(names) / 10, numbered
