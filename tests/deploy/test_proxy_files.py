"""The files for nginx and Caddy: the programs themselves find them valid."""

import subprocess
from pathlib import Path

from tests.support.certificate_files import Files
from tests.support.gateways import ROOT, WAIT_SECONDS
from tests.support.programs import installed

FOLDER = "/etc/ssl/api.example.com"


def test_nginx_takes_its_file(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write()
    text = (ROOT / "deploy/nginx.conf").read_text()
    text = text.replace(f"{FOLDER}/fullchain.pem", str(files.certificate)).replace(
        f"{FOLDER}/key.pem", str(files.key)
    )
    whole = tmp_path / "whole.conf"
    paths = "".join(
        f"{name}_temp_path {tmp_path}/{name};"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole.write_text(
        f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off; {paths} {text} }}"
    )
    tested = subprocess.run(
        [installed("nginx"), "-t", "-p", tmp_path, "-c", whole],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert tested.returncode == 0, tested.stderr
    assert "[warn]" not in tested.stderr


def test_caddy_takes_its_file(tmp_path: Path) -> None:
    tested = subprocess.run(
        [installed("caddy"), "validate", "--adapter", "caddyfile", "--config", ROOT / "deploy/Caddyfile"],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert tested.returncode == 0, tested.stderr
    assert "Valid configuration" in tested.stderr + tested.stdout
    assert '"level":"warn"' not in tested.stderr
