"""listings/reports.py: reports of a listing and of its reviews, each settled alone."""

import pytest

from core.actors import OPERATOR, UNKNOWN, user_actor
from core.events import ReportsSettled, UserSlotsSet
from core.state import State
from languages.refusals import Refusal
from listings.reports import report, report_id, settle, settled
from tests.support.memory_ledger import state_after
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_USER, USER, listed


@pytest.fixture
def state() -> State:
    """A listing that a user has reported, with a review of it by another one."""
    state = state_after(listed())
    for rating in (UNKNOWN, user_actor(OTHER_USER)):
        row = state.listings[BOT_REF]
        for event in report(row, USER, "other", " Look at it. ", NOW_MS, rating=rating):
            state.apply(event)
    return state


def test_a_user_has_one_report_of_a_listing_and_one_of_each_review(state: State) -> None:
    found = state.listings[BOT_REF].open_reports
    assert [(each.rating, each.text) for each in found] == [
        (UNKNOWN, "Look at it."),
        (user_actor(OTHER_USER), "Look at it."),
    ]
    (again,) = report(state.listings[BOT_REF], USER, "breaks_rules", "", NOW_MS)
    state.apply(again)
    assert [each.reason for each in state.listings[BOT_REF].open_reports] == ["other", "breaks_rules"]


def test_a_report_is_later_than_all_that_a_moderator_may_have_seen(state: State) -> None:
    first, second = state.listings[BOT_REF].open_reports
    assert (first.at_ms, second.at_ms) == (NOW_MS, NOW_MS + 1)


def test_a_moderator_settles_the_reports_that_the_moderator_has_seen(state: State) -> None:
    row = state.listings[BOT_REF]
    _, of_review = row.open_reports
    done, told = settle(row, [report_id(of_review)], NOW_MS, by=OPERATOR)
    assert isinstance(done, ReportsSettled)
    assert [each.rating for each in done.settled] == [user_actor(OTHER_USER)]
    assert isinstance(told, UserSlotsSet)
    assert told.ref == user_actor(USER)
    state.apply(done)
    assert [each.rating for each in state.listings[BOT_REF].open_reports] == [UNKNOWN]
    assert settled(row, [], NOW_MS, by=OPERATOR) == []
    with pytest.raises(Refusal, match="no_reports"):
        settle(row, ["1-1"], NOW_MS, by=OPERATOR)


def test_who_settles_an_own_report_gets_no_notice(state: State) -> None:
    assert len(settle(state.listings[BOT_REF], None, NOW_MS, by=user_actor(USER))) == 1


def test_a_user_has_10_open_reports_of_a_listing_and_its_reviews_at_most(state: State) -> None:
    for number in range(8):
        (event,) = report(
            state.listings[BOT_REF],
            USER,
            "other",
            "",
            NOW_MS,
            rating=user_actor(f"5000000000000000{number:02}"),
        )
        state.apply(event)
    row = state.listings[BOT_REF]
    assert len(row.open_reports) == 10
    with pytest.raises(Refusal, match="too_many_reports"):
        report(row, USER, "other", "", NOW_MS, rating=user_actor("500000000000000099"))
    assert report(row, USER, "breaks_rules", "", NOW_MS), "a report in the place of an open one"
    assert report(row, OTHER_USER, "other", "", NOW_MS)


def test_only_a_public_listing_is_reported() -> None:
    state = state_after(listed()[:1])
    with pytest.raises(Refusal, match="not_public"):
        report(state.listings[BOT_REF], USER, "other", "", NOW_MS)
