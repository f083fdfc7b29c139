"""What a client may write about a listing. Law: a form that exists is valid.

Lengths are in characters (Unicode code points) after the text is taken as it came; nothing is trimmed or
repaired. `read` reports every wrong field at once. A form's JSON Schema says what its validators say,
wherever JSON Schema can; its patterns are of ECMA-262, and spell white space out because engines differ.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from typing_extensions import TypeAliasType

from core.refusals import Invalid
from core.snowflake import MAX, is_snowflake
from listings.patterns import CHAT_WEBHOOK_URL, HEADER_VALUE, HTTP_URL, ONE_LINE, PROSE, SNOWFLAKE, TEXT

MAX_SERVER_COUNT = 10_000_000

BotCategory = Literal[
    "Moderation",
    "Utility",
    "Fun & Games",
    "Music",
    "Economy",
    "Roleplay",
    "Technology",
    "Art & Design",
    "Virtual Assistants",
    "Social Media Integration",
    "Anime & Manga",
    "Other",
]
ServerCategory = Literal[
    "Gaming",
    "Anime",
    "Public",
    "Community",
    "Music",
    "Art",
    "Programming",
    "Science",
    "Technology",
    "Education",
    "Language",
    "Other",
]


def _sized(least: int, most: int, description: str | None = None, **schema: Any) -> Any:
    """A field of so many characters or items, with more keywords for its JSON Schema."""
    return Field(
        min_length=least or None, max_length=most, description=description, json_schema_extra=schema or None
    )


def _snowflake(text: str) -> str:
    if not is_snowflake(text):
        raise ValueError("must be a snowflake: 17 to 20 digits")
    return text


def _matching(pattern: str, otherwise: str) -> AfterValidator:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(otherwise)
        return text

    return AfterValidator(check)


def _unique(items: list[str]) -> list[str]:
    if len(set(items)) != len(items):
        raise ValueError("must not name one twice")
    return items


def _other_users(owners: list[str], info: ValidationInfo) -> list[str]:
    if info.data.get("owner_id") in owners:
        raise ValueError("must be other users than the owner")
    return owners


def _http_url(text: str) -> str:
    """An http or https URL with a host; nothing that two parsers could read in two ways."""
    if not text.isascii() or re.search(r"[\x00-\x20\x7f\\]", text):
        raise ValueError("must be plain ASCII without spaces or backslashes")
    if re.match(r"[^/?#]*//[^/?#]*@", text):
        raise ValueError("must not carry a user name or password")
    if not re.fullmatch(HTTP_URL, text):
        raise ValueError("must be an http or https URL with a host, and a port from 1 to 65535 if any")
    return text


def _webhook_url(text: str) -> str:
    if re.match(CHAT_WEBHOOK_URL, _http_url(text)):
        raise ValueError("chat-platform webhook URLs are not supported by this version")
    return text


def _no_language(_: str) -> str:
    raise ValueError("is only for chat-platform webhook URLs")


Snowflake = TypeAliasType(
    "Snowflake",
    Annotated[
        str,
        Field(
            description=f"A number of 17 to 20 digits, up to {MAX}.", json_schema_extra={"pattern": SNOWFLAKE}
        ),
        AfterValidator(_snowflake),
    ],
)
_IS_ONE_LINE = _matching(ONE_LINE, "must be visible text on one line")
_IS_PROSE = _matching(PROSE, "must be visible text")
_IS_TEXT = _matching(TEXT, "must have no control characters")
_IS_HEADER_VALUE = _matching(HEADER_VALUE, "must be visible ASCII, because it is sent as a header")
# 1.0 is the integer 1, as in JSON Schema.
_WHOLE = BeforeValidator(lambda n: int(n) if isinstance(n, float) and n.is_integer() else n)
Name = Annotated[str, _sized(1, 100, pattern=ONE_LINE), _IS_ONE_LINE]
Url = Annotated[str, _sized(0, 2_048, pattern=HTTP_URL), AfterValidator(_http_url)]


class Form(BaseModel):
    """Strict: no field is converted from another type, none is unknown."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BotEdit(Form):
    """What the owner of a bot writes about it."""

    owner_id: Snowflake
    name: Name
    short_description: Annotated[str, _sized(16, 150, pattern=ONE_LINE), _IS_ONE_LINE]
    description: Annotated[str, _sized(32, 8_192, "Markdown.", pattern=PROSE), _IS_PROSE]
    categories: Annotated[list[BotCategory], _sized(1, 12, uniqueItems=True), AfterValidator(_unique)]
    extra_owners: Annotated[
        list[Snowflake],
        _sized(0, 4, "Other users than the owner who may manage the bot.", uniqueItems=True),
        AfterValidator(_unique),
        AfterValidator(_other_users),
    ] = []
    support_invite: Annotated[Url | None, Field(description="Where users of the bot find help.")] = None


class BotSubmission(BotEdit):
    """A bot and what its owner writes about it."""

    id: Snowflake


class ServerEdit(Form):
    """What the owner of a server writes about it."""

    owner_id: Snowflake
    name: Name
    description: Annotated[str, _sized(0, 256, pattern=TEXT), _IS_TEXT]
    keywords: Annotated[
        list[Annotated[str, _sized(1, 32, pattern=ONE_LINE), _IS_ONE_LINE]],
        _sized(0, 5, uniqueItems=True),
        AfterValidator(_unique),
    ]
    category: ServerCategory


class ServerSubmission(ServerEdit):
    """A server and what its owner writes about it."""

    id: Snowflake


class Denial(Form):
    """Why a listing is denied."""

    reason: Annotated[str, _sized(1, 1_000, "Shown to the owner.", pattern=PROSE), _IS_PROSE]


class KeyName(Form):
    """What the owner calls a key."""

    name: Name


class Rotation(Form):
    """How long the old key goes on beside the new one."""

    overlap_seconds: Annotated[
        int,
        Field(ge=0, le=604_800, description="0 stops the old key at once; a week is the longest."),
        _WHOLE,
    ] = 0


class WebhookSettings(Form):
    """Where votes are sent to. Saving replaces url and token together."""

    url: Annotated[
        str,
        _sized(
            0,
            2_048,
            "An http or https URL. Chat-platform webhook URLs are not supported by this version.",
            pattern=HTTP_URL,
            **{"not": {"pattern": CHAT_WEBHOOK_URL}},
        ),
        AfterValidator(_webhook_url),
    ]
    token: Annotated[
        Annotated[str, _sized(1, 512, pattern=HEADER_VALUE), _IS_HEADER_VALUE] | None,
        Field(description="Sent as the `Authorization` header of every request; left out, none is sent."),
    ] = None
    language: Annotated[
        Annotated[str, AfterValidator(_no_language)] | None,
        WithJsonSchema({"type": "null", "description": "Only for chat-platform webhook URLs."}),
    ] = None


class User(Form):
    """Who votes, or who a test says has voted."""

    user: Snowflake


class Users(Form):
    """Whose votes to look up."""

    users: Annotated[list[Snowflake], _sized(0, 1_000)]


class ActualServerCount(Form):
    """How many servers a bot is really in."""

    server_count: Annotated[int, Field(ge=0, le=MAX_SERVER_COUNT), _WHOLE]


class Limit(Form):
    """Requests per window."""

    requests: Annotated[int, Field(ge=1, le=1_000_000), _WHOLE]
    window_seconds: Annotated[int, Field(ge=1, le=2_592_000), _WHOLE]


class Limits(Form):
    """A limit left out, or null, is the deployment's default."""

    stats: Limit | None = None
    voters: Limit | None = None


class Nothing(Form):
    """A body without fields."""


F = TypeVar("F", bound=Form)


def read(form: type[F], body: Mapping[str, Any]) -> F:
    """The form filled in from a JSON object. Raises Invalid with a reason for every wrong field."""
    try:
        return form.model_validate(body)
    except ValidationError as error:
        fields: dict[str, str] = {}
        for problem in error.errors(include_url=False, include_context=False, include_input=False):
            name = ".".join(str(step) for step in problem["loc"])
            message = problem["msg"].removeprefix("Value error, ")
            fields.setdefault(name, message[:1].lower() + message[1:])
        raise Invalid(fields) from None
