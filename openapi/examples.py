"""The example values of the OpenAPI document. Invariant: each is valid against its schema.

The example of an answer is built from its schema, which is read off its type: of the examples of its fields
(`example` in `actions/views.py`), or else of the first of a union or an enumeration. `VARIANTS` are the same
with some fields changed: the other answers that an operation may give. A body is written here, or made of the
examples of its form's fields.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, to_builtins

from core.actors import OPERATOR
from core.user_rows import Quarantine
from forms.fields import Form, declared_fields
from forms.rules import About
from kinds.kind import Given, Kind
from kinds.registry import KINDS
from openapi.schemas import HOOKED, Node, name_of, ref, schema_components
from operators.operator_pages import ALL_ROUTES

BOT = KINDS[0].id.sample
OWNER = "223456789012345678"
CO_OWNER = "523456789012345678"
USER = "323456789012345678"
STRANGER = "623456789012345678"
KEY_ID = "0f4c81b2a95d3e6f7a8b9c0d"
DELIVERY_ID = "5ac0de95b1f04c7c8e2d3a41"
SESSION_ID = "4f1d0c9a7b3e5826"
NOW_MS = 1_750_000_000_000
DAY_MS = 86_400_000
SERVER_COUNT = 1_200
FAR_MS = 4_102_444_800_000
"""The year 2100. A time that must not be over yet is this one, so that readers can send the example."""
QUARANTINE = Quarantine("vote", "You voted from many accounts.", OPERATOR, NOW_MS, FAR_MS)
"""The examples have one listing of each kind, the owner of all, and a user who has voted."""

SCHEMAS = schema_components(ALL_ROUTES)


class Example(NamedTuple):
    """A body. An answer is of a component's type, and may be `only` for operations whose names begin so."""

    summary: str
    value: Any
    answer: str = ""
    only: str = ""


class Variant(NamedTuple):
    """An answer that differs from the usual one of its type in some fields."""

    name: str
    summary: str
    changes: Mapping[str, Any]
    only: str = ""


_URL, _CHAT_URL = "https://example.com/votes", "https://discord.com/api/webhooks/723456789012345678/"
_REASON = "The bot does not answer commands."
_HINT = (
    "The bot cannot push server_count before its actual server count is set. "
    f"Set it: votegate admin counts {BOT} <number>, "
    f'or PUT /manage/{KINDS[0].ref(BOT)}/actual-server-count with {{"server_count": <number>}}.'
)


def _written(kind: Kind) -> dict[str, Any]:
    """Return the body of an edit: the owner and the profile."""
    return {"owner_id": OWNER, **_with_lists(kind.written(kind.sample))}


def _shown(kind: Kind) -> dict[str, Any]:
    """Return the same fields as an answer shows them."""
    return {"owner_id": OWNER, **_with_lists({name: getattr(kind.sample, name) for name in kind.fields})}


def _with_lists(fields: Mapping[str, Any]) -> dict[str, Any]:
    lists = {name: list(value) for name, value in fields.items() if isinstance(value, tuple)}
    found: dict[str, Any] = to_builtins({**fields, **lists})
    return found


def _bodies_of(kind: Kind) -> dict[str, Mapping[str, "Example"]]:
    """Return the examples of a submission and of an edit."""
    noun, edit = kind.singular, _written(kind)
    invited = {"extra_owners": [CO_OWNER]} if kind.co_owners is not None else {}
    given = {"id": kind.id.sample} if isinstance(kind.id, Given) else {}
    submission = {**given, **edit, **invited}
    return {
        f"{kind.title}Submission": {f"{noun}Submission": Example(f"A {noun}", submission)},
        f"{kind.title}Edit": {f"{noun}Edit": Example(f"A {noun}, edited", edit)},
    }


_GIVEN: Mapping[str, Mapping[str, Any]] = {
    "FileRef": {"digest": "c0" * 32, "media_type": "image/png", "size": 900, "look": "", "peaks": ""},
    **{
        name.format(kind.title): {**_shown(kind), "id": kind.id.sample}
        for kind in KINDS
        for name in ("Listed{}", "{}Answer", "Shown{}", "Approved{}", "{}Version")
    },
    "Limit": {"requests": 10, "window_seconds": 7_200},
}
"""Fields that a form describes, by the components that show them."""


_OF_TYPES: Mapping[str, Any] = {"integer": 3, "number": 0.5, "boolean": False, "null": None}


def example_of(schema: Node, schemas: Node, name: str = "") -> Any:
    """Build an example of a schema. Raises LookupError for a text that has none.

    Args:
        schemas: the components that the schema may refer to.
        name: of the component, or of the field in one.
    """
    if "examples" in schema:
        return schema["examples"][0]
    if "$ref" in schema:
        component = schema["$ref"].rpartition("/")[2]
        return example_of(schemas[component], schemas, component)
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], schemas, name)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    if schema["type"] == "object":
        given, fields = _GIVEN.get(name, {}), schema.get("properties", {})
        return {
            field: given[field] if field in given else example_of(of, schemas, f"{name}.{field}")
            for field, of in fields.items()
            if field in schema["required"]
        }
    if schema["type"] == "array":
        return [example_of(schema["items"], schemas, name)]
    if schema["type"] in _OF_TYPES:
        return _OF_TYPES[schema["type"]]
    raise LookupError(f"{name} has no example")


def _ref_example(component: str, **changes: Any) -> Any:
    return {**example_of(ref(component), SCHEMAS), **changes}


_NEW: Mapping[str, Any] = {"state": "in_review", "reviewed_at": None}
_NO_COUNTS = dict.fromkeys(("server_count", "command_count", "counts_updated_at", "actual_server_count"))
_DENIED: Mapping[str, Any] = {"state": "denied", "reason": _REASON}


def _variants_of(kind: Kind) -> Iterator[tuple[str, Sequence[Variant]]]:
    """Yield the other answers about a listing of a kind. One kind alone shows what a change looks like."""
    title, pushed = kind.title, _NO_COUNTS if kind.stats is not None else {}
    new = {**_NEW, **pushed}
    changed = {"change": _ref_example(f"{title}Change")}
    if kind.review is not None:
        yield (
            f"{title}Answer",
            (
                *(() if kind.is_seen_at_once else (Variant(f"new{title}", "In review", new, "submit"),)),
                Variant(f"denied{title}", "Denied", {**_DENIED, **pushed}, "deny"),
                Variant(f"withdrawn{title}", "Denied", _DENIED, "withdraw"),
                *((Variant(f"changed{title}", "Changed", changed, "edit"),) if kind is KINDS[0] else ()),
            ),
        )
    if kind.stats is not None:
        without = "Its first push of server_count would fail"
        about = Variant(f"approved{title}WithoutCount", without, {**_NO_COUNTS, "hint": _HINT})
        yield f"Approved{title}", (about,)


VARIANTS: Mapping[str, Sequence[Variant]] = {
    "VoteStatus": (
        Variant("votedBefore", "The last vote is older", {"voted": False, "lastVote": NOW_MS - 2 * DAY_MS}),
        Variant("neverVoted", "The user never voted", {"voted": False, "vote": 0, "lastVote": None}),
    ),
    **{name: variants for kind in KINDS for name, variants in _variants_of(kind)},
    "IssuedKey": (
        Variant("issuedKeyWithoutCount", "The first push of server_count would fail", {"hint": _HINT}),
    ),
    "WebhookAnswer": (
        Variant(
            "suspendedWebhook",
            "Its last events have failed",
            {"failed_in_a_row": 10, "suspension": _ref_example("Suspension")},
        ),
        Variant(
            "chatWebhook",
            "A chat platform's webhook",
            {
                "url": f"{_CHAT_URL}...",
                "has_token": False,
                "language": "pt-BR",
                "signed": False,
            },
        ),
    ),
    "SavedWebhook": (Variant("changedWebhook", "Later", {"secret": None}),),
    "DeliveryAnswer": (Variant("testDelivered", "The test was delivered", {"test": True}, "test"),),
    "UserAnswer": (
        Variant("appointed", "A moderator", {"moderator": "appointed", "quarantines": []}, "appoint"),
    ),
    "ClaimAnswer": (
        Variant("noClaim", "Nobody has claimed it", dict.fromkeys(("claimed_by", "claimed_at"))),
    ),
}


def body_of_fields(form: type[Struct]) -> Example:
    """Return a body made of the examples of the form's fields. Fields without one are left out."""
    abouts = ((each.name, each.note(About)) for each in declared_fields(form))
    given = {name: about.example for name, about in abouts if about is not None and about.example is not None}
    return Example(_summary(form), given)


def _summary(kind: type[Any]) -> str:
    """Return the first sentence of a type's docstring, without its full stop."""
    return (kind.__doc__ or "").partition(".")[0]


def _key(kind: type[Any]) -> str:
    name = name_of(kind)
    return f"{name[0].lower()}{name[1:]}"


def _answers(kind: type[Struct]) -> Iterator[tuple[str, Example]]:
    """Yield the example of an answer's type, and its variants, by their names."""
    answer = name_of(kind)
    usual = _ref_example(answer)
    yield _key(kind), Example(_summary(kind), usual, answer)
    for name, summary, changes, only in VARIANTS.get(answer, ()):
        yield name, Example(summary, {**usual, **changes}, answer, only)


ANSWERS: Mapping[str, Example] = {
    name: example
    for kind in dict.fromkeys(route.answer for route in ALL_ROUTES)
    if kind is not None
    for name, example in _answers(kind)
}


def answers_of(operation: str, answer: str) -> list[str]:
    """Return the names of the examples that an operation shows for the answer of its type."""
    of_type = {name: example for name, example in ANSWERS.items() if example.answer == answer}
    own = [name for name, example in of_type.items() if example.only and operation.startswith(example.only)]
    return own or [name for name, example in of_type.items() if not example.only]


(_FIRST, _FIRST_ID), *_, (_OTHER, _OTHER_ID) = (
    (kind.singular, {id_name: kind.id.sample}) for kind, id_name in HOOKED
)
"""Two kinds whose events are shown."""
_BODIES: Mapping[str, Mapping[str, Example]] = {
    "Stats": {
        "bothCounts": Example("Both counts", {"server_count": SERVER_COUNT, "command_count": 42}),
        "serverCountAlone": Example("The server count alone", {"server_count": SERVER_COUNT}),
        "commandCountAlone": Example("The command count alone", {"command_count": 42}),
    },
    **{name: example for kind in KINDS for name, example in _bodies_of(kind).items()},
    "Heir": {"heir": Example("The new owner", {"heir": CO_OWNER})},
    "Nothing": {"nothing": Example("An empty body", {})},
    "Denial": {"denial": Example("A reason", {"reason": _REASON})},
    "ChangeRefusal": {
        "changeRefusal": Example("A reason", {"version": "5f1e9c02a7d46b83", "reason": _REASON})
    },
    "ChangeAgreement": {"changeAgreement": Example("The version", {"version": "5f1e9c02a7d46b83"})},
    "KeyName": {"keyName": Example("A name", {"name": "production"})},
    "Rotation": {
        "atOnce": Example("The old key stops at once", {}),
        "withOverlap": Example("The old key works for an hour more", {"overlap_seconds": 3_600}),
    },
    "WebhookSettings": {
        "withToken": Example("With a token", {"url": _URL, "token": "a-secret-of-yours"}),
        "withoutToken": Example("Without a token", {"url": _URL}),
        "chatPlatform": Example(
            "A message to a channel",
            {"url": f"{_CHAT_URL}a-secret", "language": "pt-BR"},
        ),
    },
    "Overlap": {
        "secretAtOnce": Example("The old secret stops at once", {}),
        "secretOverlap": Example("Both secrets sign for a day", {"overlap_seconds": 86_400}),
    },
    "FailedSince": {
        "failedSince": Example("The failures of the last hour", {"failed_since": NOW_MS - 3_600_000})
    },
    "NewReport": {
        "newReport": Example(
            "A bot that is silent",
            {"user": USER, "reason": "does_not_work", "text": "It joins, but answers no command."},
        )
    },
    "ReportsSeen": {
        "allReports": Example("All reports", {}),
        "seenReports": Example("A report that you have seen", {"seen": [f"1750000000000-{USER}"]}),
    },
    "Voter": {"voter": Example("A user", {"user": USER})},
    "NewTest": {
        "ownersTest": Example("It names the owner", {}),
        "usersTest": Example("It names a user", {"user": USER}),
    },
    "Voters": {"voters": Example("Two users", {"users": [USER, STRANGER]})},
    "Strike": {
        "struckUsers": Example(
            "The votes of two users", {"reason": "Accounts of one person.", "users": [USER, STRANGER]}
        ),
        "struckFlags": Example("The flagged votes", {"reason": "Accounts of one person.", "flagged": True}),
        "struckTime": Example(
            "The votes of one minute, as a dry run",
            {
                "reason": "Accounts of one person.",
                "since": 1_750_000_000_000,
                "until": 1_750_000_060_000,
                "dry_run": True,
            },
        ),
    },
    "QuarantineTerms": {
        "untilThen": Example("Until 2100", {"reason": QUARANTINE.reason, "until": QUARANTINE.until_ms}),
        "untilLifted": Example("Without an end", {"reason": "You sell votes."}),
    },
    "ActualServerCount": {"actualServerCount": Example("The count", {"server_count": SERVER_COUNT})},
    "Limits": {
        "higherStats": Example("More updates", {"stats": {"requests": 10, "window_seconds": 7_200}}),
        "defaultLimits": Example("Back to the defaults", {}),
    },
    "Vote": {
        **{
            f"{kind.singular}Vote": Example(
                f"A vote for {kind.one}", {id_name: kind.id.sample, "user": USER, "test": False}
            )
            for kind, id_name in HOOKED
        },
        "testVote": Example("A test", {"user": USER, "test": True}),
    },
    "ListingEvent": {
        f"{_FIRST}Approved": Example(
            f"A {_FIRST} was approved", {"type": "review.approved", **_FIRST_ID, "at": NOW_MS}
        ),
        f"{_OTHER}Denied": Example(
            f"A {_OTHER} was denied",
            {"type": "review.denied", **_OTHER_ID, "at": NOW_MS, "reason": "Say what it is about."},
        ),
        "voteStruck": Example(
            f"Votes for a {_FIRST} were removed",
            {
                "type": "vote.struck",
                **_FIRST_ID,
                "user": USER,
                "at": NOW_MS,
                "reason": "Accounts of one person.",
            },
        ),
        "ratingPosted": Example(
            f"A user has reviewed a {_FIRST}",
            {"type": "rating.posted", **_FIRST_ID, "user": USER, "stars": 4, "at": NOW_MS},
        ),
    },
}
BODIES: Mapping[str, Mapping[str, Example]] = {
    **_BODIES,
    **{
        name_of(route.body): {_key(route.body): body_of_fields(route.body)}
        for route in ALL_ROUTES
        if route.body is not None and issubclass(route.body, Form) and name_of(route.body) not in _BODIES
    },
}
"""By the name of the body's schema."""
