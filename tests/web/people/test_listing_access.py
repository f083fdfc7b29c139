"""web/people/listing_access.py: who may not see a listing does not learn that it is there."""

import pytest

from core.events import CoOwnerSaved, ListingSaved
from core.ledger import Ledger
from core.state import State
from handlers.request import Request
from languages.refusals import Refusal
from people.permissions import Right
from tests.support.co_owners import co_owner
from tests.support.fake_clock import FakeClock
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER
from web.pages import Instead, Visit
from web.people.listing_access import FRESH_MS, ListingAccess
from web.people.visitors import Person


@pytest.fixture
def access(ledger: Ledger, state: State) -> ListingAccess:
    ledger.commit([ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS)])
    ledger.commit([CoOwnerSaved(BOT_REF, co_owner(OTHER_USER), NOW_MS)])
    return ListingAccess(state, FakeClock(NOW_MS))


def visit(user: str, bot: str = BOT_REF, *, is_moderator: bool = False, ago_ms: int = 0) -> Visit[Person]:
    request = Request("GET", "/", (bot.partition("/")[2],), {}, {}, "127.0.0.1", b"", 1_024)
    return Visit(request, Person(user, "Somebody", None, is_moderator, None, "d1", NOW_MS - ago_ms))


@pytest.mark.parametrize(("user", "right"), [(OWNER, "own"), (OWNER, "keys"), (OTHER_USER, "webhook")])
def test_who_may_gets_the_listing_and_what_else_is_allowed(
    access: ListingAccess, user: str, right: Right
) -> None:
    found = access.of(visit(user), "bots", right)
    assert (found.row.ref, found.person.id) == (BOT_REF, user)
    assert right in found.rights


def test_who_may_not_see_it_does_not_learn_that_it_is_there(access: ListingAccess) -> None:
    with pytest.raises(Refusal, match="no_such"):
        access.of(visit(USER), "bots", "see")
    with pytest.raises(Refusal, match="no_such"):
        access.of(visit(OWNER, "bots/1"), "bots", "see")
    with pytest.raises(Refusal, match="no_such"):
        access.of(visit(OWNER), "servers", "see")


def test_who_may_see_it_but_not_do_that_is_told_so(access: ListingAccess) -> None:
    with pytest.raises(Refusal, match="not_permitted"):
        access.of(visit(OTHER_USER), "bots", "own")
    with pytest.raises(Refusal, match="not_permitted"):
        access.of(visit(USER, is_moderator=True), "bots", "keys")


def test_an_old_sign_in_has_to_be_made_again(access: ListingAccess) -> None:
    assert access.fresh(visit(OWNER, ago_ms=FRESH_MS - 1), "bots", "keys").row.ref == BOT_REF
    stale = visit(OWNER, ago_ms=FRESH_MS)
    with pytest.raises(Instead) as instead:
        access.fresh(stale, "bots", "keys")
    page = instead.value.page
    assert (page.status, page.values["back"]) == (403, stale.path)


def test_who_may_not_do_it_is_not_asked_to_sign_in_again(access: ListingAccess) -> None:
    with pytest.raises(Refusal, match="not_permitted"):
        access.fresh(visit(OTHER_USER, ago_ms=FRESH_MS), "bots", "own")
