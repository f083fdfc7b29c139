"""Every error that an answer can be, by kind. Law: the one table in `handlers/reply.py` writes each.

A kind has a name, a summary, and a refusal of it as an example. A row of the routes that names a branch of
the tree of refusals means all kinds below it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from core import refusals as no
from grammars.snowflake import NO_SNOWFLAKE
from handlers import reply
from handlers.manage_users import NO_ACT
from handlers.reply import Reply, failure, reply_to
from handlers.route import RefusalKind
from listings.forms import MOST_CO_OWNERS, BotEdit, read
from openapi.cast import BOT, NOW_MS, QUARANTINE, SERVER_COUNT
from openapi.deployment import Deployment

REQUEST_ID = "9f2c4e6a8b0d1f35"
BUG, TOO_LONG = RefusalKind(AssertionError), RefusalKind(OverflowError)
"""Kinds that no exception stands for: any bug, and headers that the parser refuses."""


class Error(NamedTuple):
    kind: RefusalKind
    name: str
    summary: str
    reply: Reply


class _Case(NamedTuple):
    """A refusal as an example of its kind. `about` is the subject of one that carries none itself."""

    name: str
    summary: str
    refusal: Exception
    about: str = ""


def errors(deployment: Deployment) -> tuple[Error, ...]:
    """Return every error that an operation can be answered, as this deployment words it."""
    tree = (
        Error(_kind(example), example.name, example.summary, reply_to(example.refusal))
        for example in _cases(deployment)
    )
    return (*tree, *_OTHERS)


_OTHERS = (
    Error(BUG, "bug", "A bug", reply.bug(REQUEST_ID)),
    Error(
        TOO_LONG,
        "headersTooLarge",
        "The request line and the headers are too large together",
        failure(431, "The request's headers are too large."),
    ),
)
OUTSIDE = (
    Error(BUG, "malformedRequest", "What came is not HTTP", failure(400, "The HTTP request is malformed.")),
    Error(BUG, "noSuchPath", "There is nothing at this path", reply.no_such_path()),
    Error(
        BUG,
        "methodNotAllowed",
        "The path has no such method",
        reply.method_not_allowed(["GET"], "GET, HEAD, OPTIONS"),
    ),
)
"""Errors outside of any operation."""


def of_kinds(every: Iterable[Error], kinds: Iterable[RefusalKind]) -> list[Error]:
    """Return the errors of the kinds, in this order. Raises LookupError for a kind without an example."""
    found: list[Error] = []
    every = tuple(every)
    for kind in kinds:
        below = [error for error in every if _is_below(error.kind, kind)]
        if not below:
            raise LookupError(kind)
        found += below
    return found


def _is_below(kind: RefusalKind, branch: RefusalKind) -> bool:
    return issubclass(kind.kind, branch.kind) and branch.about in {"", kind.about}


def _kind(example: _Case) -> RefusalKind:
    match example.refusal:
        case no.NotFound(thing=thing):
            return RefusalKind(no.NotFound, thing)
        case no.Conflict(reason=reason):
            return RefusalKind(no.Conflict, reason)
        case no.Quarantined(act=act):
            return RefusalKind(no.Quarantined, act)
        case refusal:
            return RefusalKind(type(refusal), example.about)


def _invalid_edit() -> no.Invalid:
    try:
        read(BotEdit, {"owner_id": BOT[:3], "name": "", "categories": ["Utility"]})
    except no.Invalid as refusal:
        return refusal
    raise AssertionError("the form took it")


def _cases(deployment: Deployment) -> tuple[_Case, ...]:
    allowed = max(deployment.max_difference, SERVER_COUNT // 10)
    cooldown_ms = round(deployment.vote_cooldown_seconds * 1_000)
    return (
        # The contract's, in the order of its checks.
        _Case("noCountGiven", "Neither count is given", no.NoCountGiven()),
        _Case(
            "serverCountOutOfRange",
            "The server count is not an integer from 0 to 10,000,000",
            no.ServerCountOutOfRange(),
        ),
        _Case(
            "commandCountOutOfRange",
            "The command count is not an integer from 0 to 1,000",
            no.CommandCountOutOfRange(),
        ),
        _Case(
            "serverCountTooFarOff",
            "The server count is not close to the actual one",
            no.ServerCountTooFarOff(max(5_000, SERVER_COUNT + allowed + 1), allowed, SERVER_COUNT),
        ),
        _Case("authorizationRequired", "No key is sent", reply.AuthorizationRequired()),
        _Case("invalidKey", "The key is not one of this bot's", reply.InvalidKey()),
        _Case("keyWithScheme", "A word stands before the key", reply.KeyWithScheme()),
        _Case("botNotFound", "There is no such bot, or its id is malformed", reply.BotNotFound()),
        _Case(
            "tooManyRequests",
            "The limit is reached, or this address has failed too often",
            reply.TooManyRequests(),
        ),
        _Case(
            "countUnknown",
            "The actual server count is not known, so none can be compared with it",
            no.ActualCountUnknown(None),
        ),
        _Case(
            "countAskedFor",
            "The chat platform is being asked for the actual server count",
            no.ActualCountUnknown(5),
        ),
        # Of every body.
        _Case("notJson", "The body is not JSON", reply.NotJson()),
        _Case("notAnObject", "The body is no object", reply.NotAnObject()),
        _Case("doubledField", "A field is named twice", reply.DoubledField()),
        _Case("bodyTooLarge", "The body is too large", reply.BodyTooLarge(deployment.max_body_bytes)),
        _Case(
            "invalidFields",
            "Fields are not valid",
            _invalid_edit(),
            "body",
        ),
        _Case("malformedUser", "The user id is no snowflake", reply.MalformedUser()),
        # Of the management API.
        _Case(
            "invalidId",
            "The id is no snowflake",
            no.Invalid({"id": NO_SNOWFLAKE}),
            "id",
        ),
        _Case("invalidAct", "There is no such act", no.Invalid({"act": NO_ACT}), "act"),
        _Case(
            "invalidQuery",
            "A parameter is not valid",
            no.Invalid({"limit": "must be from 1 to 500"}),
            "query",
        ),
        _Case("operatorTokenRequired", "No token is sent", reply.OperatorTokenRequired()),
        _Case("invalidOperatorToken", "The token is not the operator's", reply.InvalidOperatorToken()),
        _Case("noSuchListing", "There is no such listing", no.NotFound("listing")),
        _Case("noSuchKey", "The listing has no such key", no.NotFound("key")),
        _Case("noSuchWebhook", "The listing has no webhook", no.NotFound("webhook")),
        _Case("noSuchDelivery", "The listing has no such delivery", no.NotFound("delivery")),
        _Case("noSuchUser", "Nobody here knows the user", no.NotFound("user")),
        _Case("noSuchSession", "The user has no such session", no.NotFound("session")),
        _Case("noSuchQuarantine", "The act is not forbidden to the user", no.NotFound("quarantine")),
        _Case("noInvitation", "The user is not invited", no.NotFound("invitation")),
        _Case("noExtraOwner", "The user is neither a co-owner nor invited", no.NotFound("extra_owner")),
        _Case("noHandOver", "Nothing is offered to the user", no.NotFound("hand_over")),
        _Case("ownsAlready", "The user is the owner", no.Conflict("owns_already")),
        _Case(
            "tooManyOwners",
            "No more users can be invited",
            no.Conflict("too_many_owners", most=MOST_CO_OWNERS),
        ),
        _Case("listingExists", "The id is taken", no.Conflict("listing_exists")),
        _Case("notInReview", "It was decided before", no.Conflict("not_in_review", review="approved")),
        _Case("isApproved", "It is approved", no.Conflict("is_approved")),
        _Case("notApproved", "It is not approved", no.Conflict("not_approved")),
        _Case("noChange", "No change waits", no.Conflict("no_change")),
        _Case("otherVersion", "It was changed meanwhile", no.Conflict("other_version")),
        _Case("keysNeedApproval", "The listing is not approved", no.Conflict("keys_need_approval")),
        _Case(
            "tooManyKeys",
            "The listing has all the keys it may have",
            no.Conflict("too_many_keys", most=deployment.keys_per_listing),
        ),
        _Case("votesNeedApproval", "The listing is not approved", no.Conflict("votes_need_approval")),
        _Case(
            "votedTooSoon",
            "The user voted not long ago",
            no.VotedTooSoon(NOW_MS + cooldown_ms, cooldown_ms),
        ),
        _Case(
            "ownerQuarantined",
            "Its owner, or its heir, may not submit listings",
            no.Quarantined("submit", "You submitted malware.", QUARANTINE.until_ms),
        ),
        _Case(
            "quarantined",
            "The user may not vote",
            no.Quarantined(QUARANTINE.act, QUARANTINE.reason, QUARANTINE.until_ms),
        ),
        _Case("moderatorBySettings", "The settings name the moderator", no.Conflict("moderator_by_settings")),
        _Case("deliveryPending", "It is still on its way", no.Conflict("delivery_pending")),
        _Case("tooManyPending", "The endpoint's line is full", no.Conflict("too_many_pending")),
        _Case("tooManyTests", "Tests before it have not been answered", no.Conflict("too_many_tests")),
        _Case("notSuspended", "Events flow to it", no.Conflict("not_suspended")),
        _Case("nothingToProbe", "Nothing waits for it", no.Conflict("nothing_to_probe")),
        _Case("notSigned", "It is a chat platform's webhook URL", no.Conflict("not_signed")),
        _Case("placeLost", "The cursor is too old, or of another journal", no.PlaceLost()),
        # Ours.
        _Case(
            "unavailable",
            "Nothing can be written at the moment",
            no.Unavailable("the disk does not keep up"),
        ),
        _Case(
            "notReady",
            "The process is stopping, or its journal takes no writes",
            reply.NotReady("the journal does not take writes: no space left on the disk"),
        ),
    )
