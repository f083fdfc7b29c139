"""Styles and scripts: addresses with digests, types, and what is vendored."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateways import ROOT, ThreadGateway, running
from web.static_files import CONTENT_TYPES, FOLDER, read_static_files

VENDOR = ROOT / "web/vendor"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
PAGE_KB = 30
"""The most that scripts and styles of a page may weigh, packed. Only one page loads the charts' library."""


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    with running(tmp_path_factory.mktemp("static") / "data") as gateway:
        yield gateway


def sent(path: Path) -> bytes:
    """Return the content of a file as it is sent: styles have no comments, and our own files no lines of
    comment and no margins."""
    content = path.read_bytes()
    if path.suffix == ".css":
        content = re.sub(rb"/\*.*?\*/\n?", b"", content, flags=re.DOTALL)
    if path.parent.name == "vendor" or path.suffix not in {".css", ".js"}:
        return content
    lines = [line.lstrip(b" ") for line in content.split(b"\n")]
    return b"\n".join(line for line in lines if not line.startswith(b"//"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_served_for_ever_under_its_digest(gate: ThreadGateway, path: Path) -> None:
    address = read_static_files().address(path.name)
    response = gate.request("GET", address)
    assert response.status_code == 200
    assert response.content == sent(path)
    assert response.headers["Content-Type"] == CONTENT_TYPES[path.suffix]
    assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Encoding"] == "gzip"  # requests asks for it, and unpacks it
    assert "Set-Cookie" not in response.headers
    plain = gate.request("GET", address, headers={"Accept-Encoding": "identity"})
    assert (plain.content, plain.headers.get("Content-Encoding")) == (sent(path), None)


def test_a_file_waits_for_no_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[object] = []
    monkeypatch.setattr("web.templates.load_drawing", loaded.append)
    with running(tmp_path / "data") as gateway:
        assert gateway.request("GET", read_static_files().address("site.css")).status_code == 200
    assert loaded == []


@pytest.mark.parametrize(
    "path", ["0" * 16 + "/site.css", "x/../../server.py", "x/..%2F..%2Fserver.py", "x/y"]
)
def test_another_digest_and_another_name_are_not_found(gate: ThreadGateway, path: str) -> None:
    assert gate.request("GET", f"/static/{path}").status_code == 404


def test_script_and_style_of_a_page_are_small() -> None:
    of_operators = {"htmx.min.js", "hx-sse.min.js", "live.js", "uplot.min.js", "uplot.min.css", "charts.js"}
    of_some = {*of_operators, "altcha-pbkdf2.js", "challenge.js"}
    packed = {path.name: len(gzip.compress(sent(path))) for path in FILES if path.suffix != ".svg"}
    assert sum(size for name, size in packed.items() if name not in of_some) <= PAGE_KB * 1_000, packed
    assert sum(packed.values()) <= 60_000, packed


def test_vendored_files_are_those_that_the_list_names() -> None:
    lines = (VENDOR / "SHA512SUMS").read_text().splitlines()
    listed = {name: digest for digest, name in map(str.split, lines)}
    kept = {
        path.name: hashlib.sha512(path.read_bytes()).hexdigest() for path in (FOLDER / "vendor").iterdir()
    }
    assert kept == listed


def test_packages_are_pinned_with_hashes_and_without_a_host() -> None:
    text = (VENDOR / "package-lock.json").read_text()
    assert "resolved" not in text
    assert "://" not in text
    wanted = json.loads((VENDOR / "package.json").read_text())["dependencies"]
    locked = {
        name.removeprefix("node_modules/"): package
        for name, package in json.loads(text)["packages"].items()
        if name
    }
    assert {name: package["version"] for name, package in locked.items()} == wanted
    for package in locked.values():
        assert len(base64.b64decode(package["integrity"].removeprefix("sha512-"))) == 64


def test_the_licence_of_every_package_is_told() -> None:
    wanted = json.loads((VENDOR / "package.json").read_text())["dependencies"]
    text = (ROOT / "THIRD_PARTY.md").read_text()
    assert dict(re.findall(r"^## (\S+) (\S+)$", text, re.MULTILINE)) == wanted


def test_no_file_of_ours_names_another_host() -> None:
    for path in FILES:
        if path.parent.name != "vendor":
            assert re.findall(r"https?://(?!www\.w3\.org/)", path.read_text()) == [], path
