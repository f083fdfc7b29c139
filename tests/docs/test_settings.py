"""Every setting that a document names is there, and docs/settings.md knows every secret."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from core.rows import WebhookEvent
from settings.model import SECRETS, Settings
from tests.support.gateways import ROOT

DOCUMENTS = [
    path
    for pattern in ("*.md", "docs/*.md", "deploy/*.md")
    for path in sorted(ROOT.glob(pattern))
    if path.name != "CHANGELOG.md"  # it also names settings that are gone
]
DOCUMENT = ROOT / "docs/settings.md"
NAMED = re.compile(rf"`((?:{'|'.join(Settings.model_fields)})\.[a-z_.]+(?:\.\*)?)[`:]")
EVENTS = set(get_args(WebhookEvent))  # some are named like settings
FILES = (".conf", ".keys", ".md", ".py", ".secret", ".svg", ".token", ".yaml")


def names(section: type[BaseModel], before: str = "") -> Iterator[str]:
    """Every section and setting, named like "server.port"."""
    for name, field in section.model_fields.items():
        yield before + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from names(field.annotation, f"{before}{name}.")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_setting_that_a_document_names_exists(path: Path) -> None:
    known = set(names(Settings))
    named = {name.removesuffix(".*") for name in NAMED.findall(path.read_text())}
    assert {name for name in named - EVENTS if not name.endswith(FILES)} <= known


def test_the_table_of_secrets_is_complete() -> None:
    table = DOCUMENT.read_text().split("## Secrets\n")[1]
    assert set(re.findall(r"^\| `([a-z_.]+)` \|", table, re.MULTILINE)) == SECRETS


def test_the_documents_name_enough_settings_for_this_test_to_mean_something() -> None:
    assert len(NAMED.findall(DOCUMENT.read_text())) > 20
