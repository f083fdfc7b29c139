"""Views of listings are made of the profiles and the parts of their kinds."""

import pytest
from msgspec.structs import fields

from actions.listing_views import VIEWS
from kinds.kind import Kind
from kinds.registry import KINDS


def names(view: type) -> list[str]:
    return [field.name for field in fields(view)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_listing_shows_every_field_of_its_profile(kind: Kind) -> None:
    shown = names(VIEWS[kind.plural].listing)
    assert shown[:2] == ["id", "owner_id"]
    assert shown[2 : 2 + len(kind.fields)] == [*kind.fields]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_an_answer_begins_with_success_and_is_the_listing(kind: Kind) -> None:
    views = VIEWS[kind.plural]
    assert names(views.answer) == ["success", *names(views.listing)]


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ("co_owners", "invited"),
        ("stats", "actual_server_count"),
        ("keys", "limits"),
        ("checks", "eligibility"),
        ("invites", "invite_check"),
    ],
)
def test_a_field_of_a_part_is_shown_by_the_kinds_that_have_it(part: str, field: str) -> None:
    for kind in KINDS:
        assert (field in names(VIEWS[kind.plural].listing)) == (getattr(kind, part) is not None)
