"""core/version.py: the versions of the program and of the API are each written once."""

import re
import sys
from types import ModuleType

import pytest

from core.version import API_VERSION, VERSION, VERSIONS, Build, build
from tests.support.gateways import ROOT
from tests.support.openapi_lookup import DOCUMENT

BESIDE_SOURCES = {".venv", "bench", "build", "examples", "tests"}


def test_a_source_tree_has_no_build() -> None:
    assert build() is None


def test_a_build_is_what_was_written_into_it(monkeypatch: pytest.MonkeyPatch) -> None:
    built = ModuleType("core.built")
    built.__dict__.update(COMMIT="0123", DATE="2026-01-02T03:04:05Z")
    monkeypatch.setitem(sys.modules, "core.built", built)
    assert build() == Build("0123", "2026-01-02T03:04:05Z")


@pytest.mark.parametrize("version", [VERSION, API_VERSION])
def test_a_version_is_written_once(version: str) -> None:
    quoted = re.compile(rf"""["']{re.escape(version)}["']""")
    files = [path for path in ROOT.glob("*/**/*.py") if path.relative_to(ROOT).parts[0] not in BESIDE_SOURCES]
    places = [
        str(path.relative_to(ROOT))
        for path in [*files, ROOT / "server.py", ROOT / "pyproject.toml"]
        if quoted.search(path.read_text())
    ]
    assert places == ["core/version.py"]


def test_both_versions_and_how_they_relate_are_shown_where_people_look() -> None:
    assert DOCUMENT["info"]["version"] == API_VERSION
    readme = " ".join((ROOT / "README.md").read_text().split())
    for text in (DOCUMENT["info"]["description"], readme):
        assert VERSIONS in text
        assert f"version {API_VERSION} of the API" in text
    assert f"Version {VERSION} of the gateway answers it." in DOCUMENT["info"]["description"]
    assert f"Votegate {VERSION} answers" in readme
