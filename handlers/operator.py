"""The operator, known by a bearer token. Invariant: a right token is served at every address."""

import hashlib
import hmac
from collections.abc import Callable, Sequence
from inspect import isawaitable

from core.actors import OPERATOR
from core.clock import Clock
from handlers.reply import Reply
from handlers.request import Endpoint, Request
from languages.refusals import Refusal
from ratelimit.address import address_key
from ratelimit.bucket import FailureGuard, TooManyRequests
from watchers.security_log import tell


class Operator:
    """The principal who may do everything, known by a bearer token (RFC 6750).

    There may be several tokens at once, so that one can be replaced while both are in use.

    A missing or wrong token is a failure of its address, in one count with those of API keys. Further
    failures of an address that failed too often are answered 429. The right token is served at every address,
    because the platform's site may share its own with strangers. The token that the gateway makes has 256
    random bits, so guessing does not find it.
    """

    def __init__(self, tokens: Sequence[str], failures: FailureGuard, clock: Clock) -> None:
        self.change_tokens(tokens)
        self._failures = failures
        self._clock = clock

    def change_tokens(self, tokens: Sequence[str]) -> None:
        """Accept these tokens from now on, and no others."""
        self._digests = tuple(map(token_digest, tokens))

    def knows(self, authorization: str | None) -> bool:
        """Return true for the header of a right token. Nothing is counted."""
        return self._is_right(_bearer_token(authorization))

    def accepts(self, digest: bytes) -> bool:
        """Return true if a token with this digest is accepted now."""
        return digest in self._digests

    def only(self, endpoint: Endpoint, is_signed_in: Callable[[Request], bool] | None = None) -> Endpoint:
        """Return the endpoint behind a guard: others get 401, and 429 once their address fails too often.

        Args:
            is_signed_in: tells whether a request without an `Authorization` header has a session; None where
                a session counts for nothing.
        """

        async def guarded(request: Request) -> Reply:
            by_session = request.authorization is None and is_signed_in is not None and is_signed_in(request)
            if not by_session:
                self.check(request.address, _bearer_token(request.authorization))
            reply = endpoint(request.acting(OPERATOR))
            return await reply if isawaitable(reply) else reply

        return guarded

    def check(self, address: str, token: str | None) -> None:
        """Check a token; None if none was given. Count a wrong one as a failure of its address.

        Raises Refusal, and TooManyRequests at an address that failed too often.
        """
        if self._is_right(token):
            return
        key, now_ns = address_key(address), self._clock.monotonic_ns()
        refused = self._failures.refusal(key, now_ns)
        if refused is not None:
            raise TooManyRequests(refused)
        self._failures.failed(key, now_ns)
        if token is not None:
            tell("wrong_operator_token")
        raise Refusal("operator_token_required" if token is None else "invalid_operator_token")

    def _is_right(self, token: str | None) -> bool:
        presented = token_digest(token or "")
        matches = [hmac.compare_digest(presented, digest) for digest in self._digests]
        return token is not None and any(matches)


def token_digest(token: str) -> bytes:
    return hashlib.sha256(token.strip().encode("utf-8", "surrogatepass")).digest()


def _bearer_token(authorization: str | None) -> str | None:
    """Return the token of an `Authorization` header: "" under another scheme, None without a header."""
    if authorization is None:
        return None
    scheme, _, token = authorization.partition(" ")
    return token if scheme.lower() == "bearer" else ""
