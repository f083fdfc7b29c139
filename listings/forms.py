"""The forms that a client may send about a listing. Law: a form that exists is valid.

`read` reports every wrong field at once. A form's JSON Schema says the same as its validators, as far as JSON
Schema can.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails

from core.refusals import Invalid
from core.rows import WebhookEvent
from grammars.header_values import HEADER_VALUE
from grammars.patterns import CHAT_URL, CHAT_WEBHOOK_URL, ONE_LINE, PROSE, TEXT
from languages.language_names import Language
from languages.said import Code, Fault
from listings.fields import (
    IN_PROSE,
    IS_HEADER_VALUE,
    IS_ONE_LINE,
    IS_PROSE,
    IS_TEXT,
    MAX_MS,
    MAX_SERVER_COUNT,
    ON_ONE_LINE,
    WHOLE,
    BotCategory,
    Broken,
    Name,
    OverlapSeconds,
    ServerCategory,
    Snowflake,
    Url,
    other_users,
    sized,
    unique,
)

MOST_CO_OWNERS = 4
"""Co-owners and invitations of one listing together."""
MOST_STRUCK = 1_000
"""Users whose votes one call strikes out."""
ChangeVersion = Annotated[
    str,
    Field(
        pattern=r"^[0-9a-f]{16}$",
        description="The `version` of the change that you have seen. If it is another one by now, the answer "
        "is 409.",
        examples=["5f1e9c02a7d46b83"],
    ),
]
_Time = Annotated[int, Field(ge=0, le=MAX_MS), WHOLE]


class Form(BaseModel):
    """The base of all forms. It converts no field from another type and takes no unknown field."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BotEdit(Form):
    """A bot's profile, written by its owner."""

    owner_id: Snowflake
    name: Name
    short_description: Annotated[str, sized(16, 150, ON_ONE_LINE, pattern=ONE_LINE), IS_ONE_LINE]
    description: Annotated[str, sized(32, 8_192, f"Markdown. {IN_PROSE}", pattern=PROSE), IS_PROSE]
    categories: Annotated[list[BotCategory], sized(1, 12, uniqueItems=True), AfterValidator(unique)]
    support_invite: Annotated[Url | None, Field(description="Where users of the bot find help.")] = None


class BotSubmission(BotEdit):
    """A new bot with its profile."""

    id: Snowflake
    extra_owners: Annotated[
        list[Snowflake],
        sized(
            *(0, MOST_CO_OWNERS),
            "Other users than the owner, who are invited to manage the bot.",
            uniqueItems=True,
        ),
        AfterValidator(unique),
        AfterValidator(other_users),
    ] = []


class ServerEdit(Form):
    """A server's profile, written by its owner."""

    owner_id: Snowflake
    name: Name
    description: Annotated[
        str, sized(0, 256, "Without bidirectional embeddings, overrides and isolates.", pattern=TEXT), IS_TEXT
    ]
    keywords: Annotated[
        list[Annotated[str, sized(1, 32, ON_ONE_LINE, pattern=ONE_LINE), IS_ONE_LINE]],
        sized(0, 5, uniqueItems=True),
        AfterValidator(unique),
    ]
    category: ServerCategory


class ServerSubmission(ServerEdit):
    """A new server with its profile."""

    id: Snowflake


class Heir(Form):
    """The user to whom a listing is handed over."""

    heir: Snowflake


class Denial(Form):
    """The reason for denying a listing."""

    reason: Annotated[str, sized(1, 1_000, f"Shown to the owner. {IN_PROSE}", pattern=PROSE), IS_PROSE]


class ChangeAgreement(Form):
    """The version of a change to agree to."""

    version: ChangeVersion


class ChangeRefusal(Denial):
    """The version of a change to refuse, and the reason."""

    version: ChangeVersion


class KeyName(Form):
    """A name for a key."""

    name: Name


class Rotation(Form):
    """The time for which the old key works beside the new one."""

    overlap_seconds: OverlapSeconds = 0


class WebhookSettings(Form):
    """The endpoint for votes and other events. Saving replaces url, token, language and events together."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"url": {"pattern": CHAT_URL}}},
            # Each branch names every field: some validators refuse those that a branch does not know.
            "then": {
                "properties": {
                    "url": {"pattern": CHAT_WEBHOOK_URL},
                    "token": {"type": "null"},
                    "language": {},
                    "events": {},
                }
            },
            "else": {"properties": {"url": {}, "token": {}, "language": {"type": "null"}, "events": {}}},
        }
    )

    url: Annotated[
        Url,
        Field(
            description="A URL that the deployment may send to: https, a public address that is not its own, "
            "and no port of mail, databases and the like, unless its settings say otherwise. Or a chat "
            "platform's webhook URL."
        ),
    ]
    token: Annotated[
        Annotated[str, sized(1, 512, pattern=HEADER_VALUE), IS_HEADER_VALUE] | None,
        Field(
            description="Sent as the `Authorization` header of every request; left out, none is sent. "
            "Not for a chat platform's webhook URL."
        ),
    ] = None
    language: Annotated[
        Language | None,
        Field(
            description="Of the messages to a chat platform's webhook URL, and for no other; en if left out."
        ),
    ] = None
    events: Annotated[
        Annotated[list[WebhookEvent], sized(1, 4, uniqueItems=True), AfterValidator(unique)] | None,
        Field(description="What the endpoint is told of; left out, of votes alone."),
    ] = None


class Overlap(Form):
    """The time for which the old secret signs beside the new one."""

    overlap_seconds: OverlapSeconds = 0


class FailedSince(Form):
    """The deliveries to send again."""

    failed_since: Annotated[
        int,
        Field(ge=0, le=MAX_MS, description="Those that failed then or later, in Unix milliseconds."),
        WHOLE,
    ]


class Voter(Form):
    """The user who votes, or whom a test names as the voter."""

    user: Snowflake


class Voters(Form):
    """The users whose votes to look up."""

    users: Annotated[list[Snowflake], sized(0, 1_000)]


def _way(name: str, **fields: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of one way to choose votes: the field that chooses, and what others must be."""
    # Each branch names every field: some validators refuse those that a branch does not know.
    return {"required": [name], "properties": {"reason": {}, "dry_run": {}, **fields}}


_NO_TIME: dict[str, dict[str, Any]] = {"since": {"type": "null"}, "until": {"type": "null"}}
_ANY_TIME: dict[str, dict[str, Any]] = {"since": {"type": "integer"}, "until": {}}


def _one_way(users: list[str], info: ValidationInfo) -> list[str]:
    """Refuse a body that names votes in no way, or in two."""
    others = info.data
    if {"flagged", "since", "until"} <= others.keys():
        ways = [bool(users), others["flagged"], others["since"] is not None]
        if sum(ways) != 1:
            raise Broken("not_one_way")
        if others["until"] is not None and others["since"] is None:
            raise Broken("end_alone")
    return users


class Strike(Form):
    """The votes to strike out: those of users, the flagged ones, or those within a time."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                _way("users", users={"minItems": 1}, flagged={"const": False}, **_NO_TIME),
                _way("flagged", users={"maxItems": 0}, flagged={"const": True}, **_NO_TIME),
                _way("since", users={"maxItems": 0}, flagged={"const": False}, **_ANY_TIME),
            ]
        }
    )

    reason: Annotated[
        str,
        sized(1, 512, f"Shown to the owner. {IN_PROSE}", pattern=PROSE),
        IS_PROSE,
    ]
    flagged: Annotated[
        bool, Field(description="True for the users of all votes of the listing that a rule has flagged.")
    ] = False
    since: Annotated[
        _Time | None,
        Field(description="For the users whose last vote came then or later, in Unix milliseconds."),
    ] = None
    until: Annotated[
        _Time | None, Field(description="With `since`: and not later than this; left out, up to now.")
    ] = None
    users: Annotated[
        list[Snowflake],
        sized(0, MOST_STRUCK),
        AfterValidator(_one_way),
        Field(validate_default=True),
    ] = []
    dry_run: Annotated[bool, Field(description="True to count the votes, and to leave them.")] = False


class ActualServerCount(Form):
    """The number of servers that a bot is really in."""

    server_count: Annotated[int, Field(ge=0, le=MAX_SERVER_COUNT), WHOLE]


class Limit(Form):
    """Requests per window."""

    requests: Annotated[int, Field(ge=1, le=1_000_000), WHOLE]
    window_seconds: Annotated[int, Field(ge=1, le=2_592_000), WHOLE]


class Limits(Form):
    """A limit left out, or null, is the deployment's default."""

    stats: Limit | None = None
    voters: Limit | None = None


class Nothing(Form):
    """A body without fields."""


F = TypeVar("F", bound=Form)


def read(form: type[F], body: Mapping[str, Any]) -> F:
    """Return the form, filled in from a JSON object. Raises Invalid with a reason for every wrong field."""
    try:
        return form.model_validate(body)
    except ValidationError as error:
        faults: dict[str, Fault] = {}
        for problem in error.errors(include_url=False, include_input=False):
            faults.setdefault(".".join(str(step) for step in problem["loc"]), _fault(problem))
        raise Invalid(faults) from None


def _fault(problem: ErrorDetails) -> Fault:
    """Return what pydantic says as a fault of ours."""
    context = problem.get("ctx", {})
    if problem["type"] == "value_error":
        fault: Fault = context["error"].fault
        return fault
    if problem["type"] == "string_too_short" and context["min_length"] == 1:
        return Fault("text_empty")
    code, facts = _OF_PYDANTIC[problem["type"]]
    return Fault(code, {fact: context[name] for fact, name in facts.items()})


_OF_PYDANTIC: Mapping[str, tuple[Code, Mapping[str, str]]] = {
    "missing": ("missing", {}),
    "extra_forbidden": ("unknown_field", {}),
    "string_type": ("not_text", {}),
    "string_unicode": ("not_text", {}),
    "string_too_short": ("text_too_short", {"least": "min_length"}),
    "string_too_long": ("text_too_long", {"most": "max_length"}),
    "string_pattern_mismatch": ("not_matching", {"pattern": "pattern"}),
    "bool_type": ("not_boolean", {}),
    "int_type": ("not_whole", {}),
    "greater_than_equal": ("too_low", {"least": "ge"}),
    "less_than_equal": ("too_high", {"most": "le"}),
    "list_type": ("not_a_list", {}),
    "too_short": ("list_empty", {}),
    "too_long": ("list_too_long", {"most": "max_length", "given": "actual_length"}),
    "literal_error": ("not_a_choice", {"choices": "expected"}),
    "model_type": ("not_a_form", {"form": "class_name"}),
}
"""The codes of pydantic's errors, and their facts by the names in its context."""
