"""pages/voting/vote_guards.py: the counts of presses and votes, their windows, and their bounds."""

import pytest

from core.rows import Policy
from pages.voting import vote_guards
from pages.voting.vote_guards import CROWD_SECONDS, GuardPolicy, Tripped, VoteGuards
from ratelimit.bucket import TooManyRequests
from tests.support.fake_clock import FakeClock
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF

HOME, ELSEWHERE = "192.0.2.1", "198.51.100.1"
USERS = [str(700_000_000_000_000_000 + number) for number in range(10)]
MANY = Policy(1_000, 60)


def guards(clock: FakeClock, **changed: object) -> VoteGuards:
    policy = GuardPolicy(0, MANY, MANY, 2, MANY)
    return VoteGuards(policy._replace(**changed), clock)  # type: ignore[arg-type]


def test_a_further_account_of_an_address_is_suspicious_for_an_hour() -> None:
    clock = FakeClock(NOW_MS)
    some = guards(clock)
    for user in (*USERS[:2], *USERS[:2]):
        assert some.tripped(BOT_REF, user, HOME) is None
        some.count(BOT_REF, user, HOME)
    clock.advance(60)
    ends_ms = NOW_MS + CROWD_SECONDS * 1_000
    assert some.tripped(OTHER_REF, USERS[2], HOME) == Tripped("crowded_address", ends_ms)
    assert some.tripped(BOT_REF, USERS[0], HOME) is None
    assert some.tripped(BOT_REF, USERS[2], ELSEWHERE) is None
    clock.advance(CROWD_SECONDS - 60)
    assert some.tripped(OTHER_REF, USERS[2], HOME) is None


def test_an_ipv6_network_of_56_bits_is_one_address() -> None:
    some = guards(FakeClock(NOW_MS))
    for user, address in zip(USERS, ("2001:db8:0:1::1", "2001:db8:0:ff::9"), strict=False):
        some.count(BOT_REF, user, address)
    assert some.tripped(BOT_REF, USERS[2], "2001:db8:0:7::1") is not None
    assert some.tripped(BOT_REF, USERS[2], "2001:db8:0:100::1") is None


def test_a_burst_makes_votes_for_that_listing_suspicious_until_its_minute_ends() -> None:
    clock = FakeClock(NOW_MS)
    some = guards(clock, burst=Policy(2, 60), accounts=100)
    for user in USERS[:2]:
        some.count(BOT_REF, user, HOME)
    clock.advance(20)
    assert some.tripped(BOT_REF, USERS[2], ELSEWHERE) == Tripped("burst", NOW_MS + 60_000)
    assert some.tripped(OTHER_REF, USERS[2], ELSEWHERE) is None
    clock.advance(40)
    assert some.tripped(BOT_REF, USERS[2], ELSEWHERE) is None


def test_a_user_and_an_address_press_so_often_and_no_more() -> None:
    some = guards(FakeClock(NOW_MS), of_user=Policy(1, 60), of_address=Policy(2, 60))
    some.take(USERS[0], HOME)
    with pytest.raises(TooManyRequests):
        some.take(USERS[0], ELSEWHERE)
    some.take(USERS[1], HOME)
    with pytest.raises(TooManyRequests):
        some.take(USERS[2], HOME)
    some.take(USERS[3], ELSEWHERE)


def test_the_age_of_an_account_is_that_of_its_id() -> None:
    clock = FakeClock(NOW_MS)
    made_ms = 1_420_070_400_000 + (int(USERS[0]) >> 22)
    assert guards(clock, min_account_days=7).old_enough_ms(USERS[0]) == made_ms + 7 * 86_400_000
    assert guards(clock).old_enough_ms(USERS[0]) == 0


def test_so_many_addresses_are_counted_and_the_oldest_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vote_guards, "MOST_ADDRESSES", 2)
    clock = FakeClock(NOW_MS)
    some = guards(clock, accounts=1)
    for number in range(4):
        some.count(BOT_REF, USERS[0], f"192.0.2.{number}")
    tripped = [some.tripped(BOT_REF, USERS[1], f"192.0.2.{number}") is not None for number in range(4)]
    assert tripped == [True, True, False, False]
    clock.advance(CROWD_SECONDS)
    some.count(BOT_REF, USERS[0], "192.0.2.3")
    assert some.tripped(BOT_REF, USERS[1], "192.0.2.3") is not None
