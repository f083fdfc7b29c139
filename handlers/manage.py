"""What the management endpoints share: who may call them, and how a change becomes an answer."""

import hashlib
import hmac
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from core import rows
from core.clock import Clock
from core.events import Event
from core.ledger import Ledger
from core.refusals import Invalid
from handlers.reply import Reply, failure, success
from handlers.request import Endpoint, Request
from listings.keys import KeyDigester
from listings.webhooks import WebhookPolicy
from votes.search import Searches

ID_PATTERN = r"^[0-9a-f]{24}$"  # of keys and deliveries
DELIVERY_CURSOR_PATTERN = r"^[0-9]{1,15}-[0-9a-f]{24}$"
PAGE = 50
MAX_PAGE = 500


class VoteClaims(Protocol):
    """What keeps two nodes of a fleet from taking a user's vote for the same listing at once."""

    def holding(self, ref: str, user: str, at_ms: int) -> AbstractAsyncContextManager[None]:
        """A context in which this node alone may take the vote. What is raised in it gives the claim back;
        otherwise it stands until the user may vote again. Raises VotedTooSoon."""


@dataclass(frozen=True)
class ManageContext:
    """What the endpoints work with. `new_id()` makes ids; `random(n)` gives n random bytes for a key.

    `claims` and `mark` are a fleet's: outside of one there are no claims, and a user's mark is empty.
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
    claims: VoteClaims | None = None
    mark: Callable[[str], str] = lambda _: ""

    async def commit(self, events: Sequence[Event], reply: Callable[[], Reply] = success) -> Reply:
        """Commits, and answers with `reply()` once the record is durable. Raises Unavailable.

        The reply is made before the wait: afterwards the state may hold more than this request's change.
        """
        position = self.ledger.commit(events)
        made = reply()
        await self.ledger.durable(position)
        return made


@dataclass(frozen=True)
class Operator:
    """The principal who may do everything, known by a bearer token (RFC 6750)."""

    token: str = field(repr=False)

    def only(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint, refused with 401 to everybody else."""
        expected = hashlib.sha256(self.token.encode()).digest()

        async def guarded(request: Request) -> Reply:
            if request.authorization is None:
                return failure(401, "The operator token is required.", {"www-authenticate": "Bearer"})
            scheme, _, token = request.authorization.partition(" ")
            presented = hashlib.sha256(token.strip().encode("utf-8", "surrogatepass")).digest()
            if scheme.lower() != "bearer" or not hmac.compare_digest(presented, expected):
                return failure(401, "Invalid operator token.", {"www-authenticate": "Bearer"})
            reply = endpoint(request)
            return await reply if inspect.isawaitable(reply) else reply

        return guarded


def is_delivery_cursor(text: str) -> bool:
    """Whether the text can be the `next` of a page of deliveries."""
    return re.fullmatch(DELIVERY_CURSOR_PATTERN, text, re.ASCII) is not None


def bot_ref(request: Request) -> str:
    return rows.BOTS + request.params[0]


def server_ref(request: Request) -> str:
    return rows.SERVERS + request.params[0]


def page_of(query: Mapping[str, str], is_cursor: Callable[[str], bool]) -> tuple[str | None, int]:
    """(`after`, `limit`) of a list in pages. Raises Invalid."""
    after, limit = query.get("after"), query.get("limit", str(PAGE))
    if after is not None and not is_cursor(after):
        raise Invalid({"after": "must be the `next` of another page"})
    if not (limit.isascii() and limit.isdigit() and len(limit) <= 3 and 1 <= int(limit) <= MAX_PAGE):
        raise Invalid({"limit": f"must be from 1 to {MAX_PAGE}"})
    return after, int(limit)
