"""Pages of a listing: only a person with the right opens them, and one who may not see it learns nothing."""

import pytest

from core.events import CoOwnerSaved, ListingSaved
from core.ledger import Ledger
from core.state import State
from handlers.request import Request
from languages.refusals import Refusal
from pages.page_rows import STALE, listing_for
from pages.visitors import FRESH_MS, Person, ask_stale
from people.permissions import Right
from tests.support.co_owners import co_owner
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER
from web.pages import Instead, Visit


@pytest.fixture
def bot(ledger: Ledger, state: State) -> State:
    ledger.commit([ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS)])
    ledger.commit([CoOwnerSaved(BOT_REF, co_owner(OTHER_USER), NOW_MS)])
    return state


def person(user: str, *, is_moderator: bool = False, ago_ms: int = 0) -> Person:
    return Person(user, "Somebody", None, is_moderator, None, "d1", NOW_MS - ago_ms)


@pytest.mark.parametrize(("user", "right"), [(OWNER, "own"), (OWNER, "keys"), (OTHER_USER, "webhook")])
def test_a_person_with_the_right_gets_the_listing_and_all_rights(bot: State, user: str, right: Right) -> None:
    row, rights = listing_for(bot, person(user), BOT_REF, right)
    assert row.ref == BOT_REF
    assert right in rights


@pytest.mark.parametrize(
    ("user", "ref"), [(USER, BOT_REF), (OWNER, "bots/1"), (OWNER, BOT_REF.replace("bots", "servers"))]
)
def test_a_listing_that_a_person_may_not_see_is_one_that_does_not_exist(
    bot: State, user: str, ref: str
) -> None:
    with pytest.raises(Refusal, match="no_such_listing"):
        listing_for(bot, person(user), ref, "see")


def test_a_person_who_may_see_a_listing_learns_that_a_right_is_missing(bot: State) -> None:
    with pytest.raises(Refusal, match="not_permitted"):
        listing_for(bot, person(OTHER_USER), BOT_REF, "own")
    with pytest.raises(Refusal, match="not_permitted"):
        listing_for(bot, person(USER, is_moderator=True), BOT_REF, "keys")


def test_an_old_sign_in_has_to_be_made_again() -> None:
    request = Request("GET", "/bots/1/manage/keys", (), {}, {}, "127.0.0.1", b"", 1_024)
    ask_stale(Visit(request, person(OWNER, ago_ms=FRESH_MS - 1)), NOW_MS, STALE)
    with pytest.raises(Instead) as instead:
        ask_stale(Visit(request, person(OWNER, ago_ms=FRESH_MS)), NOW_MS, STALE)
    page = instead.value.page
    assert (page.status, page.values["back"]) == (403, request.path)
