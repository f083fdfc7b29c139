"""docs/architecture.md: its table of rooms is the architecture test's; the README tours the same rooms."""

import re

from tests.support.gateways import ROOT
from tests.support.rooms import COMPOSITION, MAY_IMPORT

DOCUMENT = (ROOT / "docs/architecture.md").read_text()
ROW = re.compile(
    r"^\| `(?P<room>\w+)/`(?:, `server\.py`)? \|.*\| (?P<files>[^|]+) \| (?P<imports>[^|]+) \|$", re.MULTILINE
)


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def rooms() -> list[re.Match[str]]:
    return [*ROW.finditer(section(DOCUMENT, "The rooms"))]


def test_the_table_of_rooms_says_who_may_import_whom() -> None:
    imports = {row["room"]: row["imports"] for row in rooms()}
    assert imports.pop("gateway") == "everything"
    assert {
        room: set() if names == "nothing" else set(names.split(", ")) for room, names in imports.items()
    } == MAY_IMPORT


def test_every_file_to_open_first_is_there() -> None:
    for row in rooms():
        for name in re.findall(r"`([^`]+)`", row["files"]):
            assert (ROOT / row["room"] / name).is_file(), name


def test_the_readme_tours_every_room_in_the_same_order() -> None:
    tour = section((ROOT / "README.md").read_text(), "A tour of the source")
    toured = re.findall(r"^\d+\. \[(\w+)/\]", tour, re.MULTILINE)
    assert toured == [row["room"] for row in rooms()]
    assert set(toured) == (MAY_IMPORT.keys() | COMPOSITION) - {"server"}


def test_the_glossary_is_in_order() -> None:
    words = re.findall(r"^\| ([\w ]+) \|", section(DOCUMENT, "Glossary"), re.MULTILINE)[1:]
    assert len(words) > 20
    assert words == sorted(words)


def test_every_file_that_the_document_names_exists() -> None:
    for name in re.findall(rf"`((?:{'|'.join(MAY_IMPORT)})/[\w/]+\.py)`", DOCUMENT):
        assert (ROOT / name).is_file(), name
