"""Each limit of a field, over a socket: its least and its most are taken, and one less or one more is not.

The numbers are those of the contract, and of the pages that ask for the fields. The last test fails if a
kind has a field with a limit that is not here.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from forms.rules import Size
from kinds.kind import Kind
from kinds.registry import BY_PLURAL, KINDS
from tests.support.contract import sample_submission, uploaded
from tests.support.gateways import OWNER, WAIT_SECONDS, ThreadGateway, running
from tests.support.media_files import noise, picture

LIMITS = {
    "bots": {
        "name": (1, 100),
        "short_description": (16, 150),
        "description": (32, 8_192),
        "categories": (1, 12),
        "tags": (0, 8),
        "commands": (0, 60),
        "screenshots": (0, 5),
        "extra_owners": (0, 4),
    },
    "servers": {"name": (1, 100), "description": (0, 256), "keywords": (0, 5), "screenshots": (0, 5)},
    "templates": {"name": (1, 100), "description": (32, 256), "categories": (1, 3), "tags": (0, 8)},
    "emojis": {"pictures": (1, 9), "categories": (1, 4)},
    "sounds": {"name": (1, 100), "categories": (1, 4), "description": (0, 256), "tags": (0, 8)},
    "themes": {"name": (1, 100), "categories": (1, 10)},
    "profiles": {
        "name": (1, 100),
        "handle": (3, 32),
        "bio": (0, 512),
        "pronouns": (0, 32),
        "links": (0, 8),
    },
}
"""The least and the most characters of a text, or entries of a list."""
BYTES = {
    "bots": {"banner": 1 << 20, "screenshots": 1 << 20},
    "servers": {"banner": 1 << 20, "screenshots": 1 << 20},
    "emojis": {"pictures": 256 << 10},
    "profiles": {"banner": 1 << 20},
}
"""The most bytes of a clean picture. `test_sounds.py` has those of a sound."""
ENTRIES = {
    "bots": {"tags": 32},
    "servers": {"keywords": 32},
    "templates": {"tags": 32},
    "sounds": {"tags": 32},
    "profiles": {"links": 256},
}
"""The most characters of an entry of a list."""
CHARACTERS = {"handle": "a"}
"""The characters of texts that take no others. Texts of people count characters, not bytes."""


class Listed(NamedTuple):
    """A gateway, with the bodies of good submissions and the digests of six pictures by kind."""

    gateway: ThreadGateway
    bodies: dict[str, dict[str, Any]]
    pictures: dict[str, list[str]]

    def faults(self, plural: str, **fields: Any) -> set[str]:
        """Submit a listing, and remove it again. Return the fields that are refused."""
        body = msgspec.json.encode({**self.bodies[plural], **fields})
        headers = {"Authorization": f"Bearer {self.gateway.operator_token}"}
        answer = self.gateway.request("POST", f"/manage/{plural}", headers=headers, data=body)
        if answer.status_code == 201:
            shown = answer.json()
            kept = {**shown, "extra_owners": sorted(shown.get("invited", ()))}
            assert {name: _written(kept[name]) for name in fields} == fields
            self.gateway.done("DELETE", f"/manage/{plural}/{shown['id']}")
            return set()
        assert answer.status_code == 400, answer.text
        return {name.partition(".")[0] for name in answer.json()["fields"]}


def _written(value: Any) -> Any:
    """Return a value of a view as a form has it: a file by its digest."""
    files = isinstance(value, list) and value and isinstance(value[0], dict)
    return [file["digest"] for file in value] if files else value


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listed]:
    with running(tmp_path_factory.mktemp("limits")) as gateway:
        bodies = {kind.plural: sample_submission(gateway, kind) for kind in KINDS}
        pictures = {
            kind.plural: [
                uploaded(gateway, kind, name, picture(size=(60 + number, 60))).digest
                for name in kind.file_rules
                if kind.shown[name].widget == "pictures"
                for number in range(10)
            ]
            for kind in KINDS
        }
        yield Listed(gateway, bodies, pictures)


def value(listed: Listed, kind: Kind, name: str, count: int) -> Any:
    """Return a text of so many characters, or a list of so many entries."""
    widget = kind.shown[name].widget if name in kind.shown else "lines"
    match widget:
        case "line" | "text":
            return CHARACTERS.get(name, "🤖") * count
        case "choices":
            return [*kind.choices(name)][:count]
        case "pictures":
            return listed.pictures[kind.plural][:count]
        case "links":
            return [f"https://example.com/{number}" for number in range(count)]
        case "pairs":
            return [f"name{number}: what it does" for number in range(count)]
    return [f"9{number:017}" for number in range(count)]


OF_TEXTS_AND_LISTS = [
    pytest.param(BY_PLURAL[plural], name, least, most, id=f"{plural} {name} {least} to {most}")
    for plural, limits in LIMITS.items()
    for name, (least, most) in limits.items()
]


@pytest.mark.parametrize(("kind", "name", "least", "most"), OF_TEXTS_AND_LISTS)
def test_a_field_has_its_limits(listed: Listed, kind: Kind, name: str, least: int, most: int) -> None:
    for count in (least, most):
        assert listed.faults(kind.plural, **{name: value(listed, kind, name, count)}) == set()
    for count in (least - 1, most + 1):
        wrong = value(listed, kind, name, count) if count >= 0 else None
        if wrong is not None and len(wrong) == count:
            assert listed.faults(kind.plural, **{name: wrong}) == {name}


@pytest.mark.parametrize(
    ("plural", "name", "most"),
    [
        pytest.param(plural, name, most, id=f"{plural} {name}")
        for plural, limits in ENTRIES.items()
        for name, most in limits.items()
    ],
)
def test_an_entry_of_a_list_has_its_most_characters(
    listed: Listed, plural: str, name: str, most: int
) -> None:
    begin = "https://example.com/" if name == "links" else ""
    assert listed.faults(plural, **{name: [begin + "a" * (most - len(begin))]}) == set()
    assert listed.faults(plural, **{name: [begin + "a" * (most - len(begin) + 1)]}) == {name}


@pytest.mark.parametrize(
    ("plural", "name", "most"),
    [
        pytest.param(plural, name, most, id=f"{plural} {name} {most >> 10} KiB")
        for plural, limits in BYTES.items()
        for name, most in limits.items()
    ],
)
def test_a_picture_has_its_most_bytes(listed: Listed, plural: str, name: str, most: int) -> None:
    rules = BY_PLURAL[plural].file_rules[name]
    width, height = min(rules.width, 760), min(rules.height, 480)
    content = noise(width, height, frames=20 if rules.most_frames > 1 else 1)
    assert most < len(content) < 3 * most
    path = f"{listed.gateway.base_url}/manage/files?user={OWNER}&kind={plural}&field={name}"
    headers = {"Authorization": f"Bearer {listed.gateway.operator_token}"}
    answer = listed.gateway.session.post(path, content, headers=headers, timeout=WAIT_SECONDS)
    assert answer.status_code == 400, answer.text
    assert answer.json()["fields"].keys() == {name}


def test_no_other_field_has_a_limit() -> None:
    for kind in KINDS:
        sized = {name for name, field in kind.fields.items() if field.note(Size) is not None}
        pictures = {name for name, rules in kind.file_rules.items() if rules.sort == "picture"}
        own = {"extra_owners"} if kind.has("co_owners") else set()
        assert LIMITS[kind.plural].keys() == sized | own
        assert BYTES.get(kind.plural, {}).keys() == pictures
