"""The README's first five minutes, run word by word in a shell, with other ports.

A json block must be the output of the sh block before it, where `...` stands for any text. A text block must
be the output of the receiver in the background.
"""

import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateways import ROOT, WAIT_SECONDS, ProcessGateway

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEXT = "--- next block ---"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def section(title: str) -> str:
    readme = (ROOT / "README.md").read_text()
    return readme.split(f"## {title}\n")[1].split("\n## ")[0]


def over_unix(script: str, path: str) -> str:
    """Return the script for a Unix socket, as docs/operations.md says: with an option of curl, and a host
    name."""
    script = script.replace("http://127.0.0.1:8080", "http://localhost")
    asks = f'case "$*" in *://localhost*) set -- --unix-socket {path} "$@";; esac; command curl "$@"'
    return f"curl() {{ {asks}; }}\n{script}"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a copy of this tree with its own `data` folder."""
    for path in ROOT.iterdir():
        if path.name != "data":
            (tmp_path / path.name).symlink_to(path)
    return tmp_path


@pytest.fixture(params=["port", "unix"])
def served(clone: Path, request: pytest.FixtureRequest) -> Iterator[ProcessGateway]:
    """Start the programs of `make run`. The gateway makes its operator token.

    With a Unix socket only the gateway runs, because a browser cannot use one.
    """
    gateway = ProcessGateway(clone / "data")
    for name in ("VOTEGATE_OPERATOR__TOKEN", "VOTEGATE_WEBHOOKS__ALLOW_PRIVATE_TARGETS"):
        del gateway.environment[name]
    make_run = re.search(r"(examples/with_chat_platform\.py) (.+)", (ROOT / "Makefile").read_text())
    assert make_run is not None
    if request.param == "unix":
        gateway.environment["VOTEGATE_SERVER__UNIX_SOCKET"] = str(clone / "votegate.sock")
    else:
        gateway.program = [make_run[1], "--port", str(free_port()), "--platform-port", "0"]
    gateway.start(*make_run[2].split())
    yield gateway
    gateway.signal(signal.SIGINT)  # it stops all programs that it has started
    gateway.close()


def test_the_first_five_minutes_work_word_by_word(clone: Path, served: ProcessGateway) -> None:
    blocks = BLOCK.findall(section("The first five minutes"))
    commands = [text for kind, text in blocks if kind == "sh"]
    receiver = str(free_port())
    script = f"\necho '{NEXT}'\n".join(commands) + "\nkill $!\n"
    script = script.replace("9000", receiver)
    if served.base_url.startswith("unix:"):
        script = over_unix(script, served.base_url.removeprefix("unix:"))
    script = script.replace("http://127.0.0.1:8080", served.base_url)
    script = script.replace("server.py admin", f"server.py admin --url {served.base_url}")

    bash = shutil.which("bash")
    assert bash is not None
    run = subprocess.run(
        [bash, "-eu"], input=script, cwd=clone, capture_output=True, text=True, timeout=WAIT_SECONDS
    )

    assert run.returncode == 0, run.stderr
    outputs = run.stdout.split(NEXT)
    assert len(outputs) == len(commands)
    before = -1
    for kind, text in blocks:
        if kind == "sh":
            before += 1
        elif kind == "json":
            wanted = re.escape(text.strip().replace("9000", receiver)).replace(re.escape("..."), ".*")
            answers = [line for line in outputs[before].splitlines() if not line.startswith("received")]
            assert re.fullmatch(wanted, "".join(answers)), (text, outputs[before])
        else:  # the receiver in the background prints this at any time
            assert text.strip() in run.stdout
    assert "Jukebox" in outputs[-1]


def test_every_make_target_that_the_readme_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make ([a-z-]+)", (ROOT / "README.md").read_text()):
        if target not in {"and"}:
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_durability_names_tests_that_exist() -> None:
    """In a row of the table, a name without a folder is in the folder of the name before it."""
    rows = [line for line in (ROOT / "docs/durability.md").read_text().splitlines() if line.startswith("| ")]
    named = 0
    for row in rows:
        folder = Path("tests")
        for name in re.findall(r"`((?:tests/\S+/)?test_\w+\.py)`", row):
            folder = Path(name).parent if "/" in name else folder
            assert (ROOT / folder / Path(name).name).is_file(), name
            named += 1
    assert named >= 10
