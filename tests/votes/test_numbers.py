"""votes/numbers.py: the numbers of votes that owners see, without names."""

from hypothesis import given
from hypothesis import strategies as st

from core.clock import day_of, month_of
from core.events import UserErased, VoteCast
from core.ledger import Ledger
from core.state import State
from core.user_rows import user_ref
from tests.support.committed_rows import a_listing
from tests.support.examples import examples
from tests.support.memory_ledger import empty_state
from tests.support.people import signed_in
from tests.support.sample_rows import BOT_REF, DAY_MS, HOUR_MS, NOW_MS, USER
from tests.support.slots_set import naming_set
from votes.numbers import DAYS, HOURS, MONTHS, TopVoter, VoterSurvey, votes_to_now


def hours(state: State) -> tuple[int, ...]:
    return surveyed(state).hours


def surveyed(state: State) -> VoterSurvey:
    survey = VoterSurvey(state, BOT_REF)
    for _ in survey.slices():
        pass
    return survey


def test_days_and_months_have_no_gaps_and_end_today(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    for ago in (40, 0):
        ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS - ago * DAY_MS, of_day=1, of_month=1)])
    counted = votes_to_now(state, BOT_REF, NOW_MS)
    today, month = day_of(NOW_MS), month_of(NOW_MS)
    assert list(counted.days) == list(range(today - DAYS + 1, today + 1))
    assert list(counted.months) == list(range(month - MONTHS + 1, month + 1))
    assert [day for day, votes in counted.days.items() if votes] == [today - 40, today]
    assert sum(counted.months.values()) == 2


def test_what_is_too_old_or_not_yet_is_not_shown(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    for ago in (DAYS, -2):
        ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS - ago * DAY_MS, of_day=1, of_month=1)])
    assert not sum(votes_to_now(state, BOT_REF, NOW_MS).days.values())


@examples(50)
@given(st.dictionaries(st.integers(1, 5_000), st.integers(0, 40 * HOURS), max_size=60))
def test_each_voter_counts_once_at_the_hour_of_the_latest_vote(latest: dict[int, int]) -> None:
    state = empty_state()
    for user, hour in latest.items():
        for earlier in (7, 0):
            state.apply(VoteCast(BOT_REF, str(user), 1, (hour - earlier) * HOUR_MS + 5, "b.1"))
    model = [sum(1 for hour in latest.values() if hour % HOURS == at) for at in range(HOURS)]
    assert list(hours(state)) == model


def test_a_listing_with_many_voters_is_counted_leaf_by_leaf() -> None:
    state = empty_state()
    for user in range(5_000):
        state.apply(VoteCast(BOT_REF, str(user), 1, NOW_MS, "b.1"))
    counted = VoterSurvey(state, BOT_REF)
    assert sum(1 for _ in counted.slices()) > 1
    assert sum(counted.hours) == 5_000


def test_the_top_are_those_who_voted_most_and_let_owners_see_it() -> None:
    state = empty_state()
    for user in range(1, 40):
        state.apply(signed_in(str(user), f"d{user}"))
        state.apply(naming_set(user_ref(str(user)), user % 2 > 0, NOW_MS))
        state.apply(VoteCast(BOT_REF, str(user), 1 + user // 4, NOW_MS + user, "b.1"))
    state.apply(VoteCast(BOT_REF, "1000", 99, NOW_MS, "b.1"))  # nobody has asked this one
    top = surveyed(state).top
    assert [each.user for each in top] == ["37", "39", "33", "35", "29", "31", "25", "27", "21", "23"]
    assert top[0] == TopVoter("37", "Ada", 10)


def test_who_takes_the_choice_back_or_is_erased_is_on_top_no_more() -> None:
    state = empty_state()
    for user in ("1", "2"):
        state.apply(signed_in(user, f"d{user}"))
        state.apply(naming_set(user_ref(user), True, NOW_MS))
        state.apply(VoteCast(BOT_REF, user, 1, NOW_MS, "b.1"))
    assert len(surveyed(state).top) == 2
    survey = surveyed(state)
    state.apply(naming_set(user_ref("1"), False, NOW_MS))
    state.apply(UserErased("2", (BOT_REF, user_ref("2"))))
    assert survey.top == surveyed(state).top == ()
