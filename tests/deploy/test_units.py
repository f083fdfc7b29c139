"""The units: systemd understands them, and they allow the gateway little."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.gateways import ROOT, WAIT_SECONDS
from tests.support.programs import installed

DEPLOY = ROOT / "deploy"
COMMANDS = re.compile(r"/usr/local/bin/votegate|/opt/votegate/bin/votegate")


@pytest.fixture(params=["binary", "installed"])
def units(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The units as an operator copies them, for the binary or with the drop-in for the installed command.

    Their command is one that every machine has: systemd asks whether it is there.
    """
    for name in ("votegate.service", "votegate.socket"):
        (tmp_path / name).write_text(COMMANDS.sub("/bin/true", (DEPLOY / name).read_text()))
    if request.param == "installed":
        service = tmp_path / "votegate.service"
        drop_in = (DEPLOY / "votegate.service.d/installed.conf").read_text()
        service.write_text(f"{service.read_text()}\n{COMMANDS.sub('/bin/true', drop_in)}")
    return tmp_path


def analyzed(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [installed("systemd-analyze"), "--no-pager", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )


def test_systemd_finds_no_mistake(units: Path) -> None:
    verified = analyzed("verify", units / "votegate.service", units / "votegate.socket")
    ours = [line for line in verified.stderr.splitlines() if "votegate" in line]
    assert (verified.returncode, ours) == (0, [])


def test_the_exposure_is_what_the_readme_says(units: Path) -> None:
    said = re.search(r"exposure of (\d\.\d)", (DEPLOY / "README.md").read_text())
    found = analyzed("security", "--offline=true", units / "votegate.service").stdout
    level = re.search(r"Overall exposure level for votegate.service: (\d\.\d)", found)
    assert said is not None
    assert level is not None, found
    assert float(level[1]) <= float(said[1])


def test_systemd_waits_until_it_is_ready_and_watches_its_loop() -> None:
    """The process that sends is the second one of the binary, so not systemd's main process."""
    service = (DEPLOY / "votegate.service").read_text()
    for line in ("Type=notify", "NotifyAccess=all", "WatchdogSec=30", "Restart=on-failure"):
        assert f"\n{line}\n" in service


def test_both_units_serve_the_same_settings_and_folder() -> None:
    texts = [
        (DEPLOY / name).read_text() for name in ("votegate.service", "votegate.service.d/installed.conf")
    ]
    commands = [re.findall(r"^ExecStart=/\S+ (serve .+)$", text, re.MULTILINE) for text in texts]
    assert (
        commands[0]
        == commands[1]
        == ["serve --config /etc/votegate/config.yaml --data-dir /var/lib/votegate"]
    )
