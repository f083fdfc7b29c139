"""A sign-in under way is what was sealed here, for this, a moment ago; anything else is none."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatplatform.authorization import new_sign_in
from web.cookies import SIGN_IN_SECONDS, people_cookies
from web.links import MOST_CHARACTERS as LONGEST_PATH
from web.sealed_values import MOST_CHARACTERS, NONCE_BYTES
from web.sign_in_cookie import SignInSeal, SignInUnderWay

NOW_MS = 1_790_000_000_000
SECRET, NONCE = b"a secret of the deployment", bytes(NONCE_BYTES)
SEAL = SignInSeal(SECRET)
UNDER_WAY = SignInUnderWay(new_sign_in(bytes(range(64))), "/bots/11/vote", NOW_MS)
VALUE = SEAL.sealed(UNDER_WAY, NONCE)


@given(st.binary(min_size=64, max_size=64), st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES), st.text())
def test_what_was_sealed_is_opened(random: bytes, nonce: bytes, path: str) -> None:
    under_way = SignInUnderWay(new_sign_in(random), path, NOW_MS)
    sealed = SEAL.sealed(under_way, nonce)
    assert SignInSeal(SECRET).opened(sealed, NOW_MS) == (
        under_way if len(sealed) <= MOST_CHARACTERS else None
    )


def test_the_longest_way_back_has_room_in_a_cookie() -> None:
    sealed = SEAL.sealed(UNDER_WAY._replace(return_to="/" * LONGEST_PATH), NONCE)
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
    assert SignInSeal(secret).opened(VALUE, NOW_MS) is None
