"""chatplatform/authorization.py: a sign-in ends with a token for its own browser, or with a reason."""

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatplatform.authorization import (
    SignIn,
    SignInFailed,
    challenge,
    new_sign_in,
    read_callback,
    read_token,
    sign_in_url,
    token_form,
)
from tests.support.examples import examples

AUTHORIZE = "https://chat.example/oauth2/authorize"
BACK = "https://bots.example/signin/callback"
SIGN_IN = new_sign_in(bytes(range(64)))
TOKEN: dict[str, Any] = {
    "access_token": "6qrZcUqja7812RVdnEKjpzOL4CvHBFG",
    "token_type": "Bearer",
    "expires_in": 604_800,
    "refresh_token": "D43f5y0ahjqew82jZ4NViEr2YafMKhue",
    "scope": "identify email guilds",
}


def failure(query: dict[str, str], request: SignIn | None = SIGN_IN) -> str:
    with pytest.raises(SignInFailed) as failed:
        read_callback(query, request)
    return failed.value.why


def test_the_challenge_is_that_of_the_standard() -> None:
    # RFC 7636, appendix B
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_a_request_is_as_random_as_its_bytes_and_no_longer_than_the_standard_lets_it_be() -> None:
    assert (len(SIGN_IN.state), len(SIGN_IN.verifier)) == (43, 43)
    assert SIGN_IN.state != SIGN_IN.verifier
    with pytest.raises(ValueError, match="64 random bytes"):
        new_sign_in(b"too few")


def test_the_browser_is_sent_with_everything_that_the_platform_needs_and_without_the_verifier() -> None:
    url = sign_in_url(AUTHORIZE, "123", BACK, SIGN_IN)
    assert url.startswith(AUTHORIZE + "?")
    assert parse_qs(urlsplit(url).query) == {
        "response_type": ["code"],
        "client_id": ["123"],
        "scope": ["identify email guilds"],
        "redirect_uri": [BACK],
        "state": [SIGN_IN.state],
        "prompt": ["consent"],
        "code_challenge": [challenge(SIGN_IN.verifier)],
        "code_challenge_method": ["S256"],
    }
    assert SIGN_IN.verifier not in url
    assert "prompt=none" in sign_in_url(AUTHORIZE, "123", BACK, SIGN_IN, asks_again=False)


def test_the_code_of_a_good_answer_is_exchanged_with_the_verifier() -> None:
    code = read_callback({"code": "a-code", "state": SIGN_IN.state}, SIGN_IN)
    assert token_form(code, BACK, SIGN_IN) == {
        "grant_type": "authorization_code",
        "code": "a-code",
        "redirect_uri": BACK,
        "code_verifier": SIGN_IN.verifier,
    }


@pytest.mark.parametrize("state", ["", "other", SIGN_IN.verifier, SIGN_IN.state + "x", "ä"])
def test_an_answer_of_another_request_is_refused_before_anything_else_is_read(state: str) -> None:
    for query in ({"code": "a-code"}, {"error": "access_denied"}, {}):
        assert failure({**query, "state": state}) == "state"
    assert failure({"code": "a-code", "state": SIGN_IN.state}, None) == "state"


def test_a_user_who_says_no_has_cancelled_and_any_other_error_is_the_platforms() -> None:
    assert failure({"error": "access_denied", "state": SIGN_IN.state}) == "cancelled"
    assert failure({"error": "server_error", "state": SIGN_IN.state}) == "platform"
    assert failure({"error": "access_denied", "code": "x", "state": SIGN_IN.state}) == "cancelled"


@pytest.mark.parametrize("code", ["", " ", "a b", "ä", "x" * 513, "a\n"])
def test_an_answer_without_a_code_is_the_platforms_failure(code: str) -> None:
    assert failure({"code": code, "state": SIGN_IN.state}) == "platform"


def test_a_token_is_read() -> None:
    assert read_token(TOKEN) == TOKEN["access_token"]
    assert read_token({**TOKEN, "token_type": "bearer", "scope": "guilds identify"}) == TOKEN["access_token"]


@pytest.mark.parametrize(
    "change",
    [
        {"access_token": None},
        {"access_token": ""},
        {"access_token": "with\r\nX-Header: 1"},
        {"token_type": "MAC"},
        {"token_type": None},
        {"scope": "email guilds"},
        {"scope": "identify2"},
        {"scope": ["identify"]},
    ],
)
def test_a_token_that_is_none_or_is_for_something_else_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(SignInFailed) as failed:
        read_token({**TOKEN, **change})
    assert failed.value.why == "platform"


@examples(200)
@given(st.none() | st.integers() | st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()))
def test_no_answer_raises_anything_else(answer: object) -> None:
    with pytest.raises(SignInFailed):
        read_token(answer)


@examples(200)
@given(st.dictionaries(st.sampled_from(["code", "state", "error"]), st.text()))
def test_no_query_raises_anything_else(query: dict[str, str]) -> None:
    with pytest.raises(SignInFailed):
        read_callback(query, SIGN_IN)
