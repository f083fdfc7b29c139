"""ratelimit/bucket.py: an address that keeps failing is refused before any other check."""

import pytest

from core.rows import Policy
from ratelimit.bucket import NS, Decision, FailureGuard, is_failure

POLICY = Policy(requests=300, window_seconds=300)
ADDRESS = "192.0.2.1"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 431, 499])
def test_a_request_that_the_caller_got_wrong_is_a_failure(status: int) -> None:
    assert is_failure(status)


@pytest.mark.parametrize("status", [200, 204, 301, 399, 429, 500, 503])
def test_success_a_limit_and_a_fault_of_ours_are_no_failures(status: int) -> None:
    assert not is_failure(status)


def test_an_address_that_fails_300_times_in_5_minutes_is_refused() -> None:
    guard = FailureGuard(POLICY, capacity=10)
    for number in range(300):
        assert guard.check(ADDRESS, number).allowed
        assert guard.failed(ADDRESS, number).remaining == 299 - number
    assert not guard.check(ADDRESS, 300).allowed
    assert not guard.failed(ADDRESS, 300).allowed


def test_a_refused_address_may_try_again_after_the_wait() -> None:
    guard = FailureGuard(POLICY, capacity=10)
    for _ in range(300):
        guard.failed(ADDRESS, 0)
    refused = guard.check(ADDRESS, NS // 2)
    assert (refused.allowed, refused.reset_seconds) == (False, 300)
    assert not guard.check(ADDRESS, 300 * NS - 1).allowed
    assert guard.check(ADDRESS, 300 * NS).allowed


def test_checking_counts_nothing() -> None:
    guard = FailureGuard(POLICY, capacity=10)
    for _ in range(1_000):
        assert guard.check(ADDRESS, 0).remaining == 300
    assert len(guard) == 0


def test_one_address_does_not_pay_for_another() -> None:
    guard = FailureGuard(Policy(1, 300), capacity=10)
    guard.failed(ADDRESS, 0)
    assert not guard.check(ADDRESS, 0).allowed
    assert guard.check("192.0.2.2", 0).allowed


def test_junk_addresses_free_nobody_and_take_no_more_room() -> None:
    guard = FailureGuard(Policy(1, 300), capacity=1_000)
    guard.failed(ADDRESS, 0)
    for number in range(200_000):
        guard.failed(str(number), 1 + number)
    assert len(guard) == 1_000
    assert not guard.check(ADDRESS, 200_000).allowed


def test_an_address_is_told_of_once_when_it_begins_to_be_refused() -> None:
    told: list[tuple[str, Decision]] = []
    guard = FailureGuard(Policy(2, 300), capacity=2, began=lambda key, decision: told.append((key, decision)))

    guard.failed("a", 0)
    assert told == []
    for _ in range(3):
        guard.failed("a", 10 * NS)
    assert told == [("a", Decision(True, 2, 0, 290, 300, 0))]

    for _ in range(2):
        guard.failed("a", 300 * NS)
    assert [key for key, _ in told] == ["a", "a"]


def test_an_address_beyond_the_capacity_is_never_told_of() -> None:
    told: list[str] = []
    guard = FailureGuard(Policy(1, 300), capacity=1, began=lambda key, _: told.append(key))

    for key in "abab":
        guard.failed(key, 0)

    assert told == ["a"]
