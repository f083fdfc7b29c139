"""Links between documents lead to files and sections that are there."""

import re
from pathlib import Path

import pytest

from tests.support.gateways import ROOT

DOCUMENTS = [
    path
    for pattern in ("*.md", "docs/**/*.md", "deploy/*.md", "bench/results/*.md")
    for path in sorted(ROOT.glob(pattern))
]
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]+)?\)")


def anchors(path: Path) -> set[str]:
    """The sections of a document, as links name them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {"#" + re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_section(path: Path) -> None:
    for name, anchor in LINK.findall(path.read_text()):
        target = path.parent / name if name else path
        assert target.exists(), name
        assert not anchor or anchor in anchors(target), name + anchor
