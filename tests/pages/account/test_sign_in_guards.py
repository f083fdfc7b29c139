"""Guards of sign-ins: the state of a sign-in counts once, and a cookie keeps a sign-in that is under way."""

import asyncio
import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatplatform.authorization import new_sign_in
from core.rows import Policy
from pages.account import sign_in_guards
from pages.account.sign_in_guards import FirstInFleet, SignInGuards, SignInUnderWay, sign_in_seal
from tests.support.fake_clock import FakeClock
from web.cookies import MOST_CHARACTERS, SIGN_IN_SECONDS, people_cookies
from web.other_sites import LONGEST_WAY_BACK


def guards(clock: FakeClock, first_in_fleet: FirstInFleet | None = None) -> SignInGuards:
    return SignInGuards(Policy(20, 300), clock, first_in_fleet)


def taken(kept: SignInGuards, *each: str) -> list[bool]:
    async def take() -> list[bool]:
        return [await kept.is_first(state) for state in each]

    return asyncio.run(take())


def test_a_state_counts_once() -> None:
    assert taken(guards(FakeClock()), "a", "b", "a", "a", "b") == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_state_is_remembered_until_its_sign_in_is_too_old_everywhere() -> None:
    clock = FakeClock()
    kept = guards(clock)
    taken(kept, "a")
    clock.advance(2 * SIGN_IN_SECONDS - 1)
    assert taken(kept, "a") == [False]
    clock.advance(1)
    assert taken(kept, "b", "a") == [True, True]


def test_however_many_come_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_guards, "MOST_STATES", 3)
    kept = guards(FakeClock())
    assert taken(kept, *"abcd", "d", "b", "a") == [True, True, True, True, False, False, True]


def test_a_state_that_another_node_has_used_does_not_count() -> None:
    async def first(digest: str, seconds: float) -> bool:
        asked.append((digest, seconds))
        return answers.pop(0)

    asked, answers = list[tuple[str, float]](), [True, False]
    assert taken(guards(FakeClock(), first), "a", "b") == [True, False]
    assert [seconds for _, seconds in asked] == [2 * SIGN_IN_SECONDS] * 2


NOW_MS = 1_790_000_000_000
SECRET = b"a secret of the deployment"
SEAL = sign_in_seal(SECRET, bytes)
UNDER_WAY = SignInUnderWay(new_sign_in(bytes(range(64))), "/bots/11/vote")
VALUE = SEAL.sealed(UNDER_WAY, NOW_MS)


@given(st.binary(min_size=64, max_size=64), st.text())
def test_what_was_sealed_is_opened(random: bytes, path: str) -> None:
    under_way = SignInUnderWay(new_sign_in(random), path)
    sealed = SEAL.sealed(under_way, NOW_MS)
    assert sign_in_seal(SECRET, bytes).opened(sealed, NOW_MS) == (
        under_way if len(sealed) <= MOST_CHARACTERS else None
    )


def test_the_longest_way_back_has_room_in_a_cookie() -> None:
    sealed = SEAL.sealed(UNDER_WAY._replace(return_to="/" * LONGEST_WAY_BACK), NOW_MS)
    assert len(people_cookies(1, are_secure=True).sign_in.opened(sealed)) <= MOST_CHARACTERS


def test_the_cookie_tells_nothing_of_what_is_in_it() -> None:
    plain = base64.urlsafe_b64decode(VALUE + "=" * (-len(VALUE) % 4))
    for secret in (*UNDER_WAY.request, UNDER_WAY.return_to):
        assert secret.encode() not in plain
        assert secret not in VALUE


@pytest.mark.parametrize(
    ("seconds", "is_fresh"),
    [(0, True), (SIGN_IN_SECONDS - 1, True), (SIGN_IN_SECONDS, False), (10**6, False)],
)
def test_a_sign_in_that_began_too_long_ago_is_none(seconds: int, is_fresh: bool) -> None:
    assert (SEAL.opened(VALUE, NOW_MS + seconds * 1_000) is not None) == is_fresh


def test_the_clock_of_the_node_where_it_began_may_be_ahead() -> None:
    assert SEAL.opened(VALUE, NOW_MS - 1_000) == UNDER_WAY


@given(st.none() | st.text() | st.binary().map(lambda each: base64.urlsafe_b64encode(each).decode()))
def test_what_nobody_sealed_is_none(value: str | None) -> None:
    assert SEAL.opened(value, NOW_MS) is None


@given(st.binary(min_size=1, max_size=64).filter(lambda each: each != SECRET))
def test_a_cookie_of_another_deployment_is_none(secret: bytes) -> None:
    assert sign_in_seal(secret, bytes).opened(VALUE, NOW_MS) is None
