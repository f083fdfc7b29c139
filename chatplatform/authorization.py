"""Signing in with the chat platform: OAuth 2.0 authorization code (RFC 6749, 4.1) with PKCE (RFC 7636).

Invariant: a code is exchanged only for the browser that asked for it. `state` ties the answer to the request,
and the verifier ties the token to both; the caller keeps the two where only that browser has them.

    sign_in_url -> (the user decides there) -> read_callback -> token_form -> read_token
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Literal, NamedTuple
from urllib.parse import urlencode

from chatplatform.answers import fields_of

SCOPES = ("identify", "email", "guilds")
RANDOM_BYTES = 32
"""The random bytes behind a state or a verifier."""

# A code is opaque (RFC 6749, 4.1.2). It is bounded, because it is sent back.
_CODE = re.compile(r"[\x21-\x7e]{1,512}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,4096}")

Failure = Literal["cancelled", "state", "platform"]
"""Why a sign-in failed. `cancelled`: the user said no. `state`: the answer does not belong to a request of
this browser, or is too late. `platform`: the platform refused, or its answer is not as it should be."""


class SignInFailed(Exception):
    def __init__(self, why: Failure) -> None:
        super().__init__(why)
        self.why = why


class SignIn(NamedTuple):
    """A request for authorization that is under way. Both texts are secrets of one browser."""

    state: str
    verifier: str


def new_sign_in(random: bytes) -> SignIn:
    """Make a request of 64 random bytes."""
    if len(random) != 2 * RANDOM_BYTES:
        raise ValueError(f"a request takes {2 * RANDOM_BYTES} random bytes")
    return SignIn(_text(random[:RANDOM_BYTES]), _text(random[RANDOM_BYTES:]))


def sign_in_url(
    authorize_url: str, client_id: str, redirect_uri: str, request: SignIn, *, asks_again: bool = True
) -> str:
    """Return the address to which the browser goes.

    Args:
        redirect_uri: where the platform sends the browser back, exactly as it is registered there.
        asks_again: false to come back at once if the user has agreed before.
    """
    query = {
        "response_type": "code",
        "client_id": client_id,
        "scope": " ".join(SCOPES),
        "redirect_uri": redirect_uri,
        "state": request.state,
        "prompt": "consent" if asks_again else "none",
        "code_challenge": challenge(request.verifier),
        "code_challenge_method": "S256",
    }
    return f"{authorize_url}?{urlencode(query)}"


def challenge(verifier: str) -> str:
    """Return the challenge of a verifier by the method S256 (RFC 7636, 4.2)."""
    return _text(hashlib.sha256(verifier.encode("ascii")).digest())


def is_answer_to(query: Mapping[str, str], request: SignIn) -> bool:
    """Return true if the browser came back with the state of its request."""
    return hmac.compare_digest(query.get("state", "").encode(), request.state.encode())


def read_callback(query: Mapping[str, str], request: SignIn | None) -> str:
    """Return the code that came back with the browser. Raises SignInFailed.

    Args:
        request: the request of this browser; None if it has none, or one that is too old.
    """
    if request is None or not is_answer_to(query, request):
        raise SignInFailed("state")
    if "error" in query:
        raise SignInFailed("cancelled" if query["error"] == "access_denied" else "platform")
    code = query.get("code", "")
    if not _CODE.fullmatch(code):
        raise SignInFailed("platform")
    return code


def token_form(code: str, redirect_uri: str, request: SignIn) -> dict[str, str]:
    """Return the form that is exchanged for a token. The client's id and secret go into a header."""
    return {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": request.verifier,
    }


def read_token(answer: object) -> str:
    """Return the access token of an answer to the form. Raises SignInFailed, also without `identify`."""
    token, kind, scope = (fields_of(answer).get(name) for name in ("access_token", "token_type", "scope"))
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise SignInFailed("platform")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise SignInFailed("platform")
    if not isinstance(scope, str) or "identify" not in scope.split():
        raise SignInFailed("platform")
    return token


def _text(random: bytes) -> str:
    return base64.urlsafe_b64encode(random).rstrip(b"=").decode()
