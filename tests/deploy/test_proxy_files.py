"""The files for nginx and Caddy: the programs themselves find them valid."""

import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from tests.support.certificate_files import Files
from tests.support.gateways import ROOT, WAIT_SECONDS, eventually
from tests.support.programs import installed

FOLDER = "/etc/ssl/api.example.com"
NGINX = (ROOT / "deploy/nginx.conf").read_text()


def whole_nginx_file(tmp_path: Path, text: str) -> Path:
    """A file for nginx with the text in its block for HTTP, and with a certificate."""
    files = Files(tmp_path)
    files.write()
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
    return whole


def test_nginx_takes_its_file(tmp_path: Path) -> None:
    whole = whole_nginx_file(tmp_path, NGINX)
    tested = subprocess.run(
        [installed("nginx"), "-t", "-p", tmp_path, "-c", whole],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert tested.returncode == 0, tested.stderr
    assert "[warn]" not in tested.stderr


@pytest.mark.parametrize("address", ["443", "[::]:443"])
def test_a_browser_speaks_http_2_with_nginx(tmp_path: Path, address: str) -> None:
    addresses = {each: f"{tmp_path}/{number}.sock" for number, each in enumerate(["443", "[::]:443"])}
    text = NGINX
    for each, path in addresses.items():
        assert f"listen {each} " in text
        text = text.replace(f"listen {each} ", f"listen unix:{path} ")
    nginx = subprocess.Popen(
        [installed("nginx"), "-p", tmp_path, "-c", whole_nginx_file(tmp_path, text), "-g", "daemon off;"],
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(Path(addresses[address]).exists)
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        trusting.set_alpn_protocols(["h2", "http/1.1"])
        with socket.socket(socket.AF_UNIX) as plain:
            eventually(lambda: plain.connect_ex(addresses[address]) == 0)
            with trusting.wrap_socket(plain) as browser:
                assert browser.selected_alpn_protocol() == "h2"
    finally:
        nginx.terminate()
        nginx.wait(WAIT_SECONDS)


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
