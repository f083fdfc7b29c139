"""listings/profile_changes.py: the difference between two versions of a profile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from listings.profile_changes import COMPARED, ChangedField, ChangedLine, changed_fields
from tests.support.examples import examples
from tests.support.sample_rows import BOT_PROFILE, SERVER_PROFILE

few_lines = st.lists(st.sampled_from("abc"), max_size=12)
texts = few_lines.map("\n".join)


def lines_of(before: str, after: str) -> list[ChangedLine]:
    (field,) = changed_fields({"description": before}, {"description": after})
    return [*field.lines]


def test_only_what_differs_is_named() -> None:
    after = replace(BOT_PROFILE, name="Another", support_invite="https://help.example")
    assert changed_fields(asdict(BOT_PROFILE), asdict(after)) == [
        ChangedField("name", [ChangedLine("gone", BOT_PROFILE.name), ChangedLine("new", "Another")]),
        ChangedField("support_invite", [ChangedLine("new", "https://help.example")]),
    ]
    assert changed_fields(asdict(BOT_PROFILE), asdict(BOT_PROFILE)) == []


def test_an_entry_of_a_list_is_a_line() -> None:
    before = replace(SERVER_PROFILE, keywords=("a", "b", "c"))
    (field,) = changed_fields(asdict(before), {**asdict(before), "keywords": ["a", "c", "d"]})
    assert [(line.state, line.text) for line in field.lines] == [
        ("same", "a"),
        ("gone", "b"),
        ("same", "c"),
        ("new", "d"),
    ]


@examples(200)
@given(texts, texts)
def test_both_versions_can_be_read_off(before: str, after: str) -> None:
    if before == after:
        return
    lines = lines_of(before, after)
    left_out = sum(int(line.text) for line in lines if line.state == "left out")
    for state, text in (("gone", before), ("new", after)):
        shown = [line.text for line in lines if line.state in {"same", state}]
        assert len(shown) + left_out == (len(text.split("\n")) if text else 0)
        assert left_out or "\n".join(shown) == text


def test_what_is_the_same_and_far_from_a_change_is_counted_alone() -> None:
    before = "\n".join(map(str, range(100)))
    lines = lines_of(before, before.replace("50", "fifty"))
    assert [line.text for line in lines if line.state == "same"] == ["47", "48", "49", "51", "52", "53"]
    assert [line.text for line in lines if line.state == "left out"] == ["47", "46"]


@pytest.mark.parametrize("number", [COMPARED, COMPARED + 1])
def test_texts_that_differ_in_many_lines_stand_one_after_the_other(number: int) -> None:
    before = "\n".join(["first", *(f"{at}" for at in range(number)), "last"])
    after = "\n".join(["first", *(f"{at + 1}" for at in range(number)), "last"])
    states = {line.state for line in lines_of(before, after)[1:-1]}
    assert ("same" in states) == (number <= COMPARED)
