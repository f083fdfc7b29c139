"""The shared parts of the management endpoints: their caller, their queries, and how they commit."""

import hashlib
import hmac
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Annotated, Protocol, cast, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from core import rows
from core.actors import OPERATOR
from core.clock import Clock
from core.events import Event
from core.ledger import Ledger
from core.refusals import Invalid
from core.rows import DeliveryState, Review, WebhookEvent
from core.snowflake import NO_SNOWFLAKE, is_snowflake
from core.webhook_events import NewDeliveries
from handlers.reply import (
    InvalidOperatorToken,
    OperatorTokenRequired,
    Reply,
    success,
    too_many,
)
from handlers.request import Endpoint, Request
from handlers.security_log import tell
from handlers.views import Snowflake
from handlers.webhook_views import DELIVERY_CURSOR_PATTERN, DeliveryCursor
from listings.keys import KeyDigester
from listings.rules import EditsShown
from listings.stats_problems import StatsProblems
from listings.webhooks import WebhookPolicy
from people.roles import Moderators
from people.user_sessions import Sessions
from ratelimit.address import address_key
from ratelimit.limiter import FailureGuard
from votes.user_search import Searches

PAGE = 50
MAX_PAGE = 500


class VoteClaims(Protocol):
    """Claims that keep two nodes of a fleet from taking a user's vote for one listing at the same time."""

    def holding(self, ref: str, user: str, at_ms: int) -> AbstractAsyncContextManager[None]:
        """Return a context in which this node alone may take the vote.

        An exception in the context gives the claim back. Otherwise the claim stands until the user may vote
        again. Raises VotedTooSoon.
        """


@dataclass(frozen=True)
class ManageContext:
    """The objects that the endpoints work with. `new_id()` makes ids; `random(n)` gives n random bytes.

    `claims` and `mark` are a fleet's: outside of one there are no claims, and a user's mark is empty.
    `tells_owners` is True if owners are sent a message about each decision. `edits` says which version of an
    edited listing the public sees.
    """

    ledger: Ledger
    clock: Clock
    digester: KeyDigester
    new_id: Callable[[], str]
    random: Callable[[int], bytes]
    window_ms: int
    cooldown_ms: int
    keys_per_listing: int
    webhooks: WebhookPolicy
    searches: Searches
    problems: StatsProblems
    missing_count: Callable[[str], str | None]
    """Returns why a bot's actual server count cannot be known and what to do; None if nothing is missing."""
    moderators: Moderators
    sessions: Sessions
    claims: VoteClaims | None = None
    mark: Callable[[str], str] = lambda _: ""
    tells_owners: bool = False
    edits: EditsShown = "after"
    vote_mark: Callable[[str, str], str] = field(kw_only=True)
    """Returns the mark of a listing and a user, as core/cooldown_table.py keeps it."""

    async def commit(self, events: Sequence[Event], reply: Callable[[], Reply] = success) -> Reply:
        """Commit, and answer with `reply()` once the record is durable. Raises Unavailable.

        The reply is made before the wait: afterwards the state may hold more than this request's change.
        """
        position = self.ledger.commit(events)
        made = reply()
        await self.ledger.durable(position)
        return made

    def new_deliveries(self) -> NewDeliveries:
        """Return what makes deliveries of events of listings."""
        return NewDeliveries(self.new_id, self.webhooks.pending_most(self.ledger.state))

    def hint(self, ref: str) -> str | UnsetType:
        """Return why the bot's first push of server_count would be answered 500; UNSET if it would not."""
        missing = self.missing_count(ref)
        return UNSET if missing is None else missing


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
                refusal = self.refusal(request.address, _bearer_token(request.authorization))
                if refusal is not None:
                    return refusal
            reply = endpoint(request._replace(by=OPERATOR))
            return await reply if inspect.isawaitable(reply) else reply

        return guarded

    def refusal(self, address: str, token: str | None) -> Reply | None:
        """Return None for the operator, and the answer 429 at an address that failed too often.

        A wrong token is counted. None is a token that was not given. Raises OperatorTokenRefused.
        """
        if self._is_right(token):
            return None
        key, now_ns = address_key(address), self._clock.monotonic_ns()
        refused = self._failures.refusal(key, now_ns)
        if refused is not None:
            return too_many(refused)
        self._failures.failed(key, now_ns)
        if token is not None:
            tell("wrong_operator_token")
        raise OperatorTokenRequired if token is None else InvalidOperatorToken

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


def bot_ref(request: Request) -> str:
    return rows.BOTS + request.params[0]


def server_ref(request: Request) -> str:
    return rows.SERVERS + request.params[0]


def user_id(request: Request, at: int = 0) -> str:
    """Return the id of the user in the path. Raises Invalid, because it may be of somebody unknown.

    Args:
        at: the number of the path's parameter.
    """
    its_id = request.params[at]
    if not is_snowflake(its_id):
        raise Invalid({"id": NO_SNOWFLAKE})
    return its_id


# -- Queries ----------------------------------------------------------------------------------------------

_AFTER = Meta(description="The `next` of the page before.")
_STATE = Meta(description="Only those in this state.")
PageLimit = Annotated[int, Meta(ge=1, le=MAX_PAGE, description="How many there are on a page at most.")]


class ListingsQuery(Struct, frozen=True):
    """The query of a list of listings. A parameter that is None was left out."""

    after: Annotated[Snowflake | None, _AFTER] = None
    limit: PageLimit = PAGE
    state: Annotated[Review | None, _STATE] = None


class UsersQuery(Struct, frozen=True):
    """The query of a list of users. A parameter that is None was left out."""

    after: Annotated[Snowflake | None, _AFTER] = None
    limit: PageLimit = PAGE


class DeliveriesQuery(Struct, frozen=True):
    """The query of a list of deliveries. A parameter that is None was left out."""

    after: Annotated[DeliveryCursor | None, _AFTER] = None
    limit: PageLimit = PAGE
    state: Annotated[DeliveryState | None, _STATE] = None
    type: Annotated[WebhookEvent | None, Meta(description="Only those of this event.")] = None


def listings_query(query: Mapping[str, str]) -> ListingsQuery:
    """Read the query of a list of listings. Raises Invalid."""
    state = cast(Review | None, _one_of(query, "state", get_args(Review)))
    return ListingsQuery(after_in(query, is_snowflake), limit_in(query), state)


def users_query(query: Mapping[str, str]) -> UsersQuery:
    """Read the query of a list of users. Raises Invalid."""
    return UsersQuery(after_in(query, is_snowflake), limit_in(query))


def deliveries_query(query: Mapping[str, str]) -> DeliveriesQuery:
    """Read the query of a list of deliveries. Raises Invalid."""
    state = cast(DeliveryState | None, _one_of(query, "state", get_args(DeliveryState)))
    kind = cast(WebhookEvent | None, _one_of(query, "type", get_args(WebhookEvent)))
    return DeliveriesQuery(after_in(query, _is_delivery_cursor), limit_in(query), state, kind)


def after_in(query: Mapping[str, str], is_cursor: Callable[[str], bool]) -> str | None:
    """Return the cursor in a query. Raises Invalid."""
    after = query.get("after")
    if after is not None and not is_cursor(after):
        raise Invalid({"after": "must be the `next` of another page"})
    return after


def _one_of(query: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str | None:
    chosen = query.get(name)
    if chosen is not None and chosen not in choices:
        raise Invalid({name: f"must be one of {', '.join(choices)}"})
    return chosen


def limit_in(query: Mapping[str, str]) -> int:
    """Return how many a query asks for at most. Raises Invalid."""
    limit = query.get("limit", str(PAGE))
    if not (limit.isascii() and limit.isdigit() and len(limit) <= 3 and 1 <= int(limit) <= MAX_PAGE):
        raise Invalid({"limit": f"must be from 1 to {MAX_PAGE}"})
    return int(limit)


def _is_delivery_cursor(text: str) -> bool:
    return re.fullmatch(DELIVERY_CURSOR_PATTERN, text, re.ASCII) is not None
