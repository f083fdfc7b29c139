"""A route: one method of one path, as a value that says everything but what its endpoint does.

A gateway binds routes to the objects that answer (`bound`). The OpenAPI document and the tests of permissions
read the same values without a gateway. The routes themselves are in `routes.py`.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from actions.action import RefusedFor
from actions.tools import Tools
from handlers.gzip_body import takes_gzip
from handlers.late import Late
from handlers.operator import Operator
from handlers.public import PublicApi
from handlers.reply import JSON, Reply
from handlers.request import Endpoint, Request
from handlers.vote_feed import VoteFeed
from kinds.kind import Kind, PartName
from languages.said import Code
from listings.stats import StatsBody

Access = Literal["bot key", "operator", "anyone"]
"""The caller holds one of the bot's API keys, holds the operator token, or is anyone."""

PAGE = "page"
"""The operation under which all pages are counted together: so many paths are no labels."""


@dataclass(frozen=True)
class Endpoints:
    """The objects that answer: one of a gateway."""

    description: Late[Reply]
    """The OpenAPI document."""
    documents: Mapping[str, Mapping["AnswerVariant", Late[Reply]]]
    """The pages of the documentation, by path and variant."""
    readiness: Callable[[], str | None]
    """Returns None when the gateway is ready, else why it is not."""
    public: PublicApi
    operator: Operator
    tools: Tools
    feed: VoteFeed
    is_signed_in: Callable[[Request], bool]
    """True for a browser with a session of the operator, in which it may read the JSON variants of pages."""
    missing_workers: Callable[[], Sequence[int]] = tuple
    """Returns the numbers of the workers of this machine that take no requests."""
    look: Callable[[Mapping[str, str]], str | None] = lambda _: None
    """Returns the look that a visitor chose on the site, by the headers of a request; None without one."""

    def document_variant(self, headers: Mapping[str, str]) -> "AnswerVariant":
        return AnswerVariant(takes_gzip(headers), self.look(headers))


E = TypeVar("E")


@dataclass(frozen=True)
class RouteOf(Generic[E]):
    """A method of a path. `E` is the type of the objects that answer.

    Args:
        path: a template with `{name}` parameters.
        name: the operation's id, of which clients make the names of functions.
        endpoint: picks the function that answers.
        access: who may call.
        answer: the type of a success's body; None if that is not a body of ours.
        outcome: a sentence on what a success means.
        refuses: the endpoint's own refusals; `refusals` adds those that follow from the rest of the row.
        body: the form that reads the body, or the shapes that it may have.
        query: the parameters in the query.
        has_events: True if it also answers with server-sent events, to clients that accept them.
        takes_file: True if the body is a file, up to the size of an upload.
        is_kept: True if the answer is the same for everybody and may be kept.
        follows_look: True if a kept answer differs by the look of the site.
        is_lenient: True if the path may end in one slash. Paths of bots always may.
        kind: the kind of listing that it is for; None for all of them.
        of: the part that the kind must have, if it takes one.
    """

    method: str
    path: str
    name: str
    endpoint: Callable[[E], Endpoint]
    access: Access
    tag: str
    summary: str
    description: str
    answer: type[Struct] | None
    outcome: str
    refuses: tuple[RefusedFor, ...] = ()
    body: type[Struct] | None = None
    query: type[Struct] | None = None
    status: int = 200
    content_type: str = JSON
    has_events: bool = False
    takes_file: bool = False
    is_kept: bool = False
    follows_look: bool = False
    is_lenient: bool = False
    kind: Kind | None = None
    of: PartName | None = None

    @property
    def is_of_page(self) -> bool:
        """True for the JSON variant of a page. A visitor who may see the page may read it, too."""
        return self.method == "GET" and self.path.endswith(".json") and self.access == "operator"

    @property
    def refusals(self) -> tuple[RefusedFor, ...]:
        """Everything that a caller may be refused for, but for bugs."""
        found: list[RefusedFor] = [*_OF_CALLERS[self.access]]
        if self.query is not None:
            found.append("invalid_query")
        if self.body is not None:
            found += ["not_json", "not_an_object", "doubled_field", "body_too_large"]
            if self.body is not StatsBody:
                found.append("invalid_fields")
        return (*found, *self.refuses)


class OfKind(Protocol):
    """A route or a page, which may be for one kind of listing, and for one part."""

    @property
    def kind(self) -> Kind | None: ...

    @property
    def of(self) -> PartName | None: ...


K = TypeVar("K", bound=OfKind)
Route = RouteOf[Endpoints]
AnyRoute = RouteOf[Any]

_OF_CALLERS: Mapping[Access, tuple[Code, ...]] = {
    "bot key": (
        *("authorization_required", "invalid_key", "key_with_scheme"),
        *("bot_not_found", "too_many_requests"),
    ),
    "operator": ("operator_token_required", "invalid_operator_token", "too_many_requests"),
    "anyone": (),
}


Finish = Callable[[Request, Reply], Reply]
MostBytes = Callable[[Mapping[str, str]], int | None]


def usual_size(_: Mapping[str, str]) -> None:
    """The size of the largest body is that of the settings."""


class AnswerVariant(NamedTuple):
    """A request's choice among the answers at one address. `is_packed`: it accepts gzip."""

    is_packed: bool
    others: Hashable = None


OUR_COOKIES = "votegate-"
"""A part of the name of each cookie of the gateway. No other cookie changes an answer."""


def by_packing(headers: Mapping[str, str]) -> AnswerVariant:
    """Return the variant of an answer that is the same for everybody."""
    return AnswerVariant(takes_gzip(headers))


@dataclass(frozen=True)
class AnswerKeeping:
    """The declaration that answers to a GET may be kept, if every cache may keep them.

    Args:
        parameters: the names that the query may have. An answer to another query is not kept.
        variant: returns the variant by the headers of a request; None for an answer that is made for its
            sender alone.
    """

    parameters: Collection[str] = ()
    variant: Callable[[Mapping[str, str]], AnswerVariant | None] = by_packing


@dataclass(frozen=True)
class Resource:
    """A path with its endpoints by method, and the operations' ids by method.

    `finish` sees every answer that no endpoint made (405, OPTIONS, a bug), to add the headers that each
    answer of the path must have. A path that is `lenient` is found with one trailing slash, too. A parameter
    `{name*}` is the rest of the path, slashes included. `most_bytes` returns the size of the largest body
    of a request with these headers, before the body is read; None for the usual size. Without `keeping`, no
    answer is kept.
    """

    path: str
    endpoints: Mapping[str, Endpoint]
    finish: Finish = lambda _, reply: reply
    lenient: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    most_bytes: MostBytes = usual_size
    keeping: AnswerKeeping | None = None

    def name(self, method: str) -> str | None:
        """Return the id of the operation that answers a method. None if no route does."""
        return self.names.get("GET" if method == "HEAD" else method)

    @property
    def pattern(self) -> str:
        pattern = re.sub(r"\\\{\w+\\\}", "([^/]+)", re.escape(self.path))
        pattern = re.sub(r"\\\{\w+\\\*\\\}", "(.*)", pattern)
        return f"{pattern}/?" if self.lenient else pattern

    @property
    def allow(self) -> str:
        """The value of an `Allow` header (RFC 9110, 10.2.1)."""
        methods = [*self.endpoints, *(["HEAD"] if "GET" in self.endpoints else []), "OPTIONS"]
        return ", ".join(methods)


def of_kinds(rows: Iterable[K], kinds: Collection[Kind], without: Collection[PartName]) -> list[K]:
    """Return the routes or pages of these kinds, and those of no kind, without those of some parts."""
    return [row for row in rows if (row.kind is None or row.kind in kinds) and row.of not in without]


def bound(routes: Iterable[RouteOf[E]], to: E, callers: Endpoints) -> list[Resource]:
    """Return the paths of the routes with their endpoints; those of the operator are refused to others.

    Args:
        to: the objects that answer.
        callers: those that know the operator and the bots.
    """
    paths = defaultdict[str, dict[str, Endpoint]](dict)
    names = defaultdict[str, dict[str, str]](dict)
    public, takes_files, lenient = set[str](), set[str](), set[str]()
    kept = dict[str, AnswerKeeping]()
    for route in routes:
        endpoint = route.endpoint(to)
        if route.access == "operator":
            known = callers.is_signed_in if route.is_of_page else None
            endpoint = callers.operator.only(endpoint, known)
        paths[route.path][route.method] = endpoint
        names[route.path][route.method] = route.name
        if route.access == "bot key":
            public.add(route.path)
        if route.takes_file:
            takes_files.add(route.path)
        if route.is_kept:
            variant = callers.document_variant if route.follows_look else by_packing
            kept[route.path] = AnswerKeeping(variant=variant)
        if route.is_lenient:
            lenient.add(route.path)

    def most_bytes(headers: Mapping[str, str]) -> int | None:
        return callers.tools.upload_bytes if callers.operator.knows(headers.get("Authorization")) else None

    def finish(request: Request, reply: Reply) -> Reply:
        return callers.public.unproven(request.address, reply)

    return [
        Resource(path, endpoints, finish, lenient=True, names=names[path])
        if path in public
        else Resource(
            path,
            endpoints,
            lenient=path in lenient,
            names=names[path],
            most_bytes=most_bytes if path in takes_files else usual_size,
            keeping=kept.get(path),
        )
        for path, endpoints in paths.items()
    ]
