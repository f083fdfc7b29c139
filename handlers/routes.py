"""The one table of routes. Law: a path that is not here does not exist, and one that is here is documented.

A route is a row: a frozen value that says everything about one method of one path. A gateway binds the rows
to the objects that answer (`bound`). The OpenAPI document and the tests of permissions read the same rows
without any gateway. A new endpoint is a new row.

In a text of a row, `$name` stands for a number that an operator can set: the document fills it in.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from msgspec import Struct
from pydantic import BaseModel

from core.refusals import Conflict, Invalid, NotFound, StatsRefused, Unavailable, VotedTooSoon
from handlers.debug import Debug, DebugBot, DebugState, SnapshotTaken, Verified
from handlers.manage import DeliveriesQuery, ListingsQuery, Operator
from handlers.manage_keys import ManageKeys
from handlers.manage_listings import KINDS, Kind, ManageListings
from handlers.manage_votes import ManageUsers, ManageVotes
from handlers.manage_webhooks import ManageWebhooks
from handlers.public import PublicApi
from handlers.reply import (
    JSON,
    ApiKeyRefused,
    BodyTooLarge,
    BotNotFound,
    MalformedUser,
    NotReady,
    OperatorTokenRefused,
    Reply,
    TooManyRequests,
    Unreadable,
)
from handlers.request import Endpoint, Request
from handlers.service import Service
from handlers.views import (
    ApprovedBot,
    BotAnswer,
    BotPage,
    CastVote,
    DeliveryAnswer,
    DeliveryPage,
    IssuedKey,
    KeyList,
    LimitsAnswer,
    Redelivered,
    RotatedKey,
    RotatedSecret,
    SavedWebhook,
    ServerAnswer,
    ServerCount,
    ServerPage,
    ShownBot,
    Success,
    UserVotes,
    WebhookAnswer,
)
from listings import forms
from listings.stats import StatsBody
from votes.queries import VoteStatus

HTML, BYTES = "text/html", "application/octet-stream"
Access = Literal["bot key", "operator", "anyone"]
"""The caller holds one of the bot's API keys, holds the operator token, or is anyone."""


class RefusalKind(NamedTuple):
    """A kind of refusal: an exception class or a branch of the tree, and its subject if it can have many."""

    kind: type[Exception]
    about: str = ""


NO_LISTING, NO_KEY = RefusalKind(NotFound, "listing"), RefusalKind(NotFound, "key")
NO_WEBHOOK, NO_DELIVERY = RefusalKind(NotFound, "webhook"), RefusalKind(NotFound, "delivery")
BAD_BODY, BAD_QUERY, BAD_ID = (
    RefusalKind(Invalid, "body"),
    RefusalKind(Invalid, "query"),
    RefusalKind(Invalid, "id"),
)
UNREADABLE, TOO_LARGE = RefusalKind(Unreadable), RefusalKind(BodyTooLarge)
NO_WRITES = RefusalKind(Unavailable)


@dataclass(frozen=True)
class Endpoints:
    """The objects that answer: one of a gateway."""

    public: PublicApi
    service: Service
    operator: Operator
    listings: Mapping[Kind, ManageListings]
    keys: ManageKeys
    webhooks: Mapping[Kind, ManageWebhooks]
    votes: Mapping[Kind, ManageVotes]
    users: ManageUsers
    debug: Debug


@dataclass(frozen=True)
class Route:
    """A method of a path.

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
    """

    method: str
    path: str
    name: str
    endpoint: Callable[[Endpoints], Endpoint]
    access: Access
    tag: str
    summary: str
    description: str
    answer: type[Struct] | None
    outcome: str
    refuses: tuple[RefusalKind, ...] = ()
    body: type[BaseModel] | type[StatsBody] | None = None
    query: type[Struct] | None = None
    status: int = 200
    content_type: str = JSON

    @property
    def refusals(self) -> tuple[RefusalKind, ...]:
        """Everything that a caller may be refused for, but for bugs."""
        found = [*_OF_CALLERS[self.access]]
        if self.query is not None:
            found.append(BAD_QUERY)
        if self.body is not None:
            found += [UNREADABLE, TOO_LARGE]
            if self.body is not StatsBody:
                found.append(BAD_BODY)
        return (*found, *self.refuses)


_OF_CALLERS: Mapping[Access, tuple[RefusalKind, ...]] = {
    "bot key": (RefusalKind(ApiKeyRefused), RefusalKind(BotNotFound), RefusalKind(TooManyRequests)),
    "operator": (RefusalKind(OperatorTokenRefused), RefusalKind(TooManyRequests)),
    "anyone": (),
}


# -- Serving ----------------------------------------------------------------------------------------------

Finish = Callable[[Request, Reply], Reply]


@dataclass(frozen=True)
class Resource:
    """A path with its endpoints by method.

    `finish` sees every answer that no endpoint made (405, OPTIONS, a bug), to add the headers that each
    answer of the path must have. A path that is `lenient` is found with one trailing slash, too.
    """

    path: str
    endpoints: Mapping[str, Endpoint]
    finish: Finish = lambda _, reply: reply
    lenient: bool = False

    @property
    def pattern(self) -> str:
        pattern = re.sub(r"\\\{\w+\\\}", "([^/]+)", re.escape(self.path))
        return f"{pattern}/?" if self.lenient else pattern

    @property
    def allow(self) -> str:
        """The value of an `Allow` header (RFC 9110, 10.2.1)."""
        methods = [*self.endpoints, *(["HEAD"] if "GET" in self.endpoints else []), "OPTIONS"]
        return ", ".join(methods)


def bound(routes: Iterable[Route], to: Endpoints) -> list[Resource]:
    """Return the paths of the routes with their endpoints; those of the operator are refused to others."""
    paths: dict[str, dict[str, Endpoint]] = {}
    public: set[str] = set()
    for route in routes:
        endpoint = route.endpoint(to)
        endpoint = to.operator.only(endpoint) if route.access == "operator" else endpoint
        paths.setdefault(route.path, {})[route.method] = endpoint
        if route.access == "bot key":
            public.add(route.path)

    def finish(request: Request, reply: Reply) -> Reply:
        return to.public.unproven(request.address, reply)

    return [
        Resource(path, endpoints, finish, lenient=True) if path in public else Resource(path, endpoints)
        for path, endpoints in paths.items()
    ]


# -- The table --------------------------------------------------------------------------------------------

TAGS: Mapping[str, str] = {
    "Public": "For bot developers: push your bot's counts, and ask whether a user has voted.",
    "Service": "Whether the gateway is well, and what it can do.",
    "Listings": "Bots and servers: submit, review, edit, remove.",
    "Keys": "API keys of a bot. A key's value is in one answer only, the one that made it.",
    "Webhooks": "Where votes are sent to, and what became of each.",
    "Votes": "Cast a vote, look many up, forget a user.",
    "Debug": "The inside of the process, for operators.",
}

_PUBLIC = (
    Route(
        "PATCH",
        "/bots/{id}/stats",
        "updateStats",
        lambda to: to.public.push,
        "bot key",
        "Public",
        "Update a bot's counts",
        """Tells the platform how many servers your bot is in and how many commands it has. Send one count or
both; nothing changes unless all that you send is right.

The limit is $stats_limit, and only requests that succeed count. Your server count is compared with the actual
one: it must not be off by more than the larger of $max_difference and 10%.

The checks come in this order: key missing (401), bot unknown (404), key wrong (401), limit reached (429),
neither count (400), server count out of range (400), command count out of range (400), actual count unknown
(500), server count too far off (400).""",
        Success,
        "The counts are saved.",
        (RefusalKind(StatsRefused), NO_WRITES),
        StatsBody,
    ),
    Route(
        "GET",
        "/bots/{id}/voters/{user_id}",
        "checkVote",
        lambda to: to.public.check,
        "bot key",
        "Public",
        "Ask whether a user has voted",
        """Tells whether the user voted for your bot in the last $vote_window, how often over all time, and
when last. A well-formed id that nobody knows has never voted.

The limit is $voters_limit, and only requests that succeed count. This body alone has no `success`.""",
        VoteStatus,
        "How the user stands with the bot.",
        (RefusalKind(MalformedUser),),
    ),
)

_SERVICE = (
    Route(
        "GET",
        "/openapi.json",
        "describe",
        lambda to: to.service.describe,
        "anyone",
        "Service",
        "This description",
        "The API in the form of OpenAPI 3.1, with the limits that are in force here.",
        None,
        "The document.",
    ),
    Route(
        "GET",
        "/docs",
        "describeToPeople",
        lambda to: to.service.show,
        "anyone",
        "Service",
        "This description, to be read",
        "The same document as one HTML page that needs nothing else.",
        None,
        "The page.",
        content_type=HTML,
    ),
    Route(
        "GET",
        "/healthz",
        "isAlive",
        lambda to: to.service.is_alive,
        "anyone",
        "Service",
        "Ask whether the process is alive",
        "Succeeds as long as the process answers at all.",
        Success,
        "It is alive.",
    ),
    Route(
        "GET",
        "/readyz",
        "isReady",
        lambda to: to.service.is_ready,
        "anyone",
        "Service",
        "Ask whether the gateway takes requests",
        "Succeeds when everything is recovered, the journal takes writes, and the process is not stopping.",
        Success,
        "It is ready.",
        (RefusalKind(NotReady),),
    ),
)


def _listings(kind: Kind) -> tuple[Route, ...]:
    """Submit, list, show, edit, remove and review: the same for bots and servers."""
    thing, root, one = kind[:-1], f"/manage/{kind}", f"/manage/{kind}/{{id}}"
    form, is_bot = thing.capitalize(), kind == "bots"
    answer: type[Struct] = BotAnswer if is_bot else ServerAnswer
    return (
        Route(
            "POST",
            root,
            f"submit{form}",
            lambda to: to.listings[kind].submit,
            "operator",
            "Listings",
            f"Submit a {thing}",
            f"The {thing} is in review until it is approved or denied.",
            answer,
            f"The {thing}, in review.",
            (RefusalKind(Conflict, "listing_exists"), NO_WRITES),
            forms.BotSubmission if is_bot else forms.ServerSubmission,
            status=201,
        ),
        Route(
            "GET",
            root,
            f"list{form}s",
            lambda to: to.listings[kind].index,
            "operator",
            "Listings",
            f"List {kind}",
            "In the order of their ids as text, in pages.",
            BotPage if is_bot else ServerPage,
            f"A page of {kind}.",
            query=ListingsQuery,
        ),
        Route(
            "GET",
            one,
            f"show{form}",
            lambda to: to.listings[kind].show,
            "operator",
            "Listings",
            f"Show a {thing}",
            f"All that is known of the {thing} but its keys, votes and deliveries.",
            ShownBot if is_bot else ServerAnswer,
            "The bot, and what its pushes did wrong lately." if is_bot else "The server.",
            (NO_LISTING,),
        ),
        Route(
            "PUT",
            one,
            f"edit{form}",
            lambda to: to.listings[kind].edit,
            "operator",
            "Listings",
            f"Edit a {thing}",
            "Replaces what its owner wrote. An approved one stays approved; a denied one is in review again.",
            answer,
            f"The {thing}.",
            (NO_LISTING, NO_WRITES),
            forms.BotEdit if is_bot else forms.ServerEdit,
        ),
        Route(
            "DELETE",
            one,
            f"remove{form}",
            lambda to: to.listings[kind].remove,
            "operator",
            "Listings",
            f"Remove a {thing}",
            "Its keys, its webhook, its votes and its deliveries go with it.",
            Success,
            "It is gone.",
            (NO_LISTING, NO_WRITES),
        ),
        Route(
            "POST",
            f"{one}/approve",
            f"approve{form}",
            lambda to: to.listings[kind].approve,
            "operator",
            "Listings",
            f"Approve a {thing} in review",
            "From then on it can be voted for, and a bot can have API keys.",
            ApprovedBot if is_bot else ServerAnswer,
            f"The {thing}.",
            (NO_LISTING, RefusalKind(Conflict, "not_in_review"), NO_WRITES),
            forms.Nothing,
        ),
        Route(
            "POST",
            f"{one}/deny",
            f"deny{form}",
            lambda to: to.listings[kind].deny,
            "operator",
            "Listings",
            f"Deny a {thing} in review",
            "It goes back to review when its owner edits it.",
            answer,
            f"The {thing}, denied.",
            (NO_LISTING, RefusalKind(Conflict, "not_in_review"), NO_WRITES),
            forms.Denial,
        ),
    )


_OF_BOTS = (
    Route(
        "PUT",
        "/manage/bots/{id}/actual-server-count",
        "setActualServerCount",
        lambda to: to.listings["bots"].set_actual_count,
        "operator",
        "Listings",
        "Set how many servers a bot is really in",
        "What the bot tells is compared with it, unless the deployment looks the number up elsewhere.",
        ServerCount,
        "The number.",
        (NO_LISTING, NO_WRITES),
        forms.ActualServerCount,
    ),
    Route(
        "PUT",
        "/manage/bots/{id}/limits",
        "setLimits",
        lambda to: to.listings["bots"].set_limits,
        "operator",
        "Listings",
        "Give a bot limits of its own",
        "Replaces both: a limit left out is the deployment's default again.",
        LimitsAnswer,
        "The bot's own limits.",
        (NO_LISTING, NO_WRITES),
        forms.Limits,
    ),
)

_KEYS = (
    Route(
        "POST",
        "/manage/bots/{id}/keys",
        "issueKey",
        lambda to: to.keys.issue,
        "operator",
        "Keys",
        "Issue an API key",
        "For an approved bot, which has $keys_per_listing keys at most. Keep the value: it is shown in this "
        "answer alone.",
        IssuedKey,
        "The key with its value.",
        (
            NO_LISTING,
            RefusalKind(Conflict, "keys_need_approval"),
            RefusalKind(Conflict, "too_many_keys"),
            NO_WRITES,
        ),
        forms.KeyName,
        status=201,
    ),
    Route(
        "GET",
        "/manage/bots/{id}/keys",
        "listKeys",
        lambda to: to.keys.index,
        "operator",
        "Keys",
        "List a bot's API keys",
        "Without their values, which nobody keeps.",
        KeyList,
        "The keys.",
        (NO_LISTING,),
    ),
    Route(
        "POST",
        "/manage/bots/{id}/keys/{key_id}/rotate",
        "rotateKey",
        lambda to: to.keys.rotate,
        "operator",
        "Keys",
        "Give an API key a new value",
        "The old value stops at once, or after an overlap that you choose.",
        RotatedKey,
        "The key with its new value.",
        (NO_LISTING, NO_KEY, NO_WRITES),
        forms.Rotation,
    ),
    Route(
        "DELETE",
        "/manage/bots/{id}/keys/{key_id}",
        "deleteKey",
        lambda to: to.keys.delete,
        "operator",
        "Keys",
        "Delete an API key",
        "It stops at once.",
        Success,
        "It is gone.",
        (NO_LISTING, NO_KEY, NO_WRITES),
    ),
)


def _webhooks(kind: Kind) -> tuple[Route, ...]:
    thing, one = kind[:-1], f"/manage/{kind}/{{id}}/webhook"
    form = thing.capitalize()
    return (
        Route(
            "PUT",
            one,
            f"save{form}Webhook",
            lambda to: to.webhooks[kind].save,
            "operator",
            "Webhooks",
            f"Set a {thing}'s webhook",
            "Replaces url, token and language together: what is left out is removed. The first time, the "
            "answer shows the secret that requests are signed with. A suspension ends.",
            SavedWebhook,
            "The settings, without the token.",
            (NO_LISTING, NO_WRITES),
            forms.WebhookSettings,
        ),
        Route(
            "GET",
            one,
            f"show{form}Webhook",
            lambda to: to.webhooks[kind].show,
            "operator",
            "Webhooks",
            f"Show a {thing}'s webhook",
            "The token is never shown.",
            WebhookAnswer,
            "The settings without the token, and how deliveries go.",
            (NO_LISTING, NO_WEBHOOK),
        ),
        Route(
            "DELETE",
            one,
            f"remove{form}Webhook",
            lambda to: to.webhooks[kind].remove,
            "operator",
            "Webhooks",
            f"Remove a {thing}'s webhook",
            "What is still to be delivered, and the log of what was, go with it.",
            Success,
            "It is gone.",
            (NO_LISTING, NO_WEBHOOK, NO_WRITES),
        ),
        Route(
            "POST",
            f"{one}/secret/rotate",
            f"rotate{form}WebhookSecret",
            lambda to: to.webhooks[kind].rotate_secret,
            "operator",
            "Webhooks",
            "Change what requests are signed with",
            "The old secret stops at once, or signs beside the new one for as long as you ask.",
            RotatedSecret,
            "The new secret.",
            (NO_LISTING, NO_WEBHOOK, RefusalKind(Conflict, "not_signed"), NO_WRITES),
            forms.Overlap,
        ),
        Route(
            "POST",
            f"{one}/test",
            f"test{form}Webhook",
            lambda to: to.webhooks[kind].test,
            "operator",
            "Webhooks",
            f"Send a test to a {thing}'s webhook",
            "Goes the way of a real vote. Answers after the first attempt, whatever became of it, or when it "
            "takes too long.",
            DeliveryAnswer,
            "The delivery after its first attempt.",
            (NO_LISTING, NO_WEBHOOK, RefusalKind(Conflict, "too_many_tests"), NO_WRITES),
            forms.User,
        ),
        Route(
            "GET",
            f"{one}/deliveries",
            f"list{form}Deliveries",
            lambda to: to.webhooks[kind].deliveries,
            "operator",
            "Webhooks",
            f"List a {thing}'s deliveries",
            "What is kept of them, newest first, in pages, with their attempts.",
            DeliveryPage,
            "A page of deliveries.",
            (NO_LISTING,),
            query=DeliveriesQuery,
        ),
        Route(
            "POST",
            f"{one}/deliveries/{{delivery_id}}/redeliver",
            f"redeliver{form}Delivery",
            lambda to: to.webhooks[kind].redeliver,
            "operator",
            "Webhooks",
            "Send a finished delivery again",
            "Under its own id, with a new round of attempts. Answers after the first of them, or at once "
            "while the endpoint is suspended.",
            DeliveryAnswer,
            "The delivery after its first new attempt.",
            (
                NO_LISTING,
                NO_WEBHOOK,
                NO_DELIVERY,
                RefusalKind(Conflict, "delivery_pending"),
                RefusalKind(Conflict, "too_many_pending"),
                NO_WRITES,
            ),
            forms.Nothing,
        ),
        Route(
            "POST",
            f"{one}/deliveries/redeliver",
            f"redeliverFailed{form}Deliveries",
            lambda to: to.webhooks[kind].redeliver_failed,
            "operator",
            "Webhooks",
            "Send again what has failed",
            "Every delivery of the log that has failed since then but tests, in the order of votes, each "
            "under its own id, as many as may wait. Answers at once; the log shows what becomes of them.",
            Redelivered,
            "How many there are.",
            (NO_LISTING, NO_WEBHOOK, NO_WRITES),
            forms.FailedSince,
        ),
    )


def _votes(kind: Kind) -> tuple[Route, ...]:
    thing, one = kind[:-1], f"/manage/{kind}/{{id}}/votes"
    form = thing.capitalize()
    return (
        Route(
            "POST",
            one,
            f"voteFor{form}",
            lambda to: to.votes[kind].cast,
            "operator",
            "Votes",
            f"Cast a vote for a {thing}",
            "A user can vote for it again after $vote_cooldown. With a webhook set, its owner is told.",
            CastVote,
            "The vote is cast.",
            (
                NO_LISTING,
                RefusalKind(Conflict, "votes_need_approval"),
                RefusalKind(VotedTooSoon),
                NO_WRITES,
            ),
            forms.User,
            status=201,
        ),
        Route(
            "POST",
            f"{one}/check",
            f"check{form}Votes",
            lambda to: to.votes[kind].check,
            "operator",
            "Votes",
            f"Look many users' votes for a {thing} up",
            "Up to 1,000 users at once, answered in the order they are given in.",
            UserVotes,
            "How each user stands with it.",
            (NO_LISTING,),
            forms.Users,
        ),
    )


_USERS = (
    Route(
        "DELETE",
        "/manage/users/{id}",
        "forgetUser",
        lambda to: to.users.erase,
        "operator",
        "Votes",
        "Forget a user",
        "Removes the user's votes, and every delivery that names the user, everywhere. Succeeds for a user "
        "that nobody knows, too.",
        Success,
        "The user's votes, and the deliveries that name the user, are gone.",
        (BAD_ID, NO_WRITES),
    ),
)

_DEBUG = (
    Route(
        "GET",
        "/debug/state",
        "showState",
        lambda to: to.debug.state,
        "operator",
        "Debug",
        "Show the process",
        "Positions of the log, counts, limiter, digest, memory, and how late the event loop runs.",
        DebugState,
        "The process.",
    ),
    Route(
        "GET",
        "/debug/bots/{id}",
        "showBotInside",
        lambda to: to.debug.bot,
        "operator",
        "Debug",
        "Show all about a bot",
        "The listing, its keys without values, its webhook, its limits as they stand, its newest deliveries.",
        DebugBot,
        "The bot.",
        (NO_LISTING,),
    ),
    Route(
        "POST",
        "/debug/snapshot",
        "takeSnapshot",
        lambda to: to.debug.snapshot,
        "operator",
        "Debug",
        "Take a snapshot now",
        "Writes the state whole. Answers once it is on disk.",
        SnapshotTaken,
        "It is on disk.",
        (NO_WRITES,),
    ),
    Route(
        "GET",
        "/debug/snapshot",
        "backUp",
        lambda to: to.debug.backup,
        "operator",
        "Debug",
        "Download a backup",
        """The whole state in one file, as it is when the last byte leaves. It is sealed, so keep the sealing
keys, in another place.

A backup that could not be brought to its end is cut off with its connection, and refused when it is read.""",
        None,
        "The backup.",
        (NO_WRITES,),
        content_type=BYTES,
    ),
    Route(
        "POST",
        "/debug/verify",
        "verifyState",
        lambda to: to.debug.verify,
        "operator",
        "Debug",
        "Compare memory with disk",
        "Folds what is on disk afresh and compares digests, at one position of the log.",
        Verified,
        "Both digests.",
        (NO_WRITES,),
    ),
)


def _of_kinds(routes: Callable[[Kind], tuple[Route, ...]]) -> tuple[Route, ...]:
    return tuple(route for kind in KINDS for route in routes(kind))


ROUTES: tuple[Route, ...] = (
    *_PUBLIC,
    *_SERVICE,
    *_of_kinds(_listings),
    *_OF_BOTS,
    *_KEYS,
    *_of_kinds(_webhooks),
    *_of_kinds(_votes),
    *_USERS,
    *_DEBUG,
)
