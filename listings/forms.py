"""What a client may write about a listing. Law: a form that exists is valid.

Lengths are in characters (Unicode code points) after the text is taken as it came; nothing is trimmed or
repaired. `read` reports every wrong field at once.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from core.refusals import Invalid
from core.snowflake import is_snowflake

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

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LAYOUT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# The contract's form of a chat platform's webhook URL, with the API version some clients put in.
_CHAT_WEBHOOK_PATH = re.compile(r"/api/(?:v\d+/)?webhooks/\d+/[^/]+/?")


def _snowflake(text: str) -> str:
    if not is_snowflake(text):
        raise ValueError("must be a snowflake: 17 to 20 digits")
    return text


def _one_line(text: str) -> str:
    if _CONTROL.search(text) or not text.strip():
        raise ValueError("must be visible text on one line")
    return text


def _prose(text: str) -> str:
    if _CONTROL_BUT_LAYOUT.search(text) or not text.strip():
        raise ValueError("must be visible text")
    return text


def _unique(items: list[str]) -> list[str]:
    if len(set(items)) != len(items):
        raise ValueError("must not name one twice")
    return items


def _http_url(text: str) -> str:
    """An http or https URL with a host; nothing that two parsers could read in two ways."""
    if not text.isascii() or re.search(r"[\x00-\x20\x7f\\]", text):
        raise ValueError("must be plain ASCII without spaces or backslashes")
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be an http or https URL with a host")
    if "@" in parts.netloc:
        raise ValueError("must not carry a user name or password")
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        raise ValueError("must have a port from 1 to 65535")
    return text


def _webhook_url(text: str) -> str:
    if _CHAT_WEBHOOK_PATH.fullmatch(urlsplit(_http_url(text)).path):
        raise ValueError("chat-platform webhook URLs are not supported by this version")
    return text


def _header_value(text: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?", text):
        raise ValueError("must be visible ASCII, because it is sent as a header")
    return text


def _no_language(_: str) -> str:
    raise ValueError("is only for chat-platform webhook URLs")


Snowflake = Annotated[
    str, Field(pattern=r"^[1-9][0-9]{16,19}$", examples=["123456789012345678"]), AfterValidator(_snowflake)
]
Name = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_one_line)]
Url = Annotated[str, Field(max_length=2_048, json_schema_extra={"format": "uri"}), AfterValidator(_http_url)]


class Form(BaseModel):
    """Strict: no field is converted from another type, none is unknown."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BotEdit(Form):
    owner_id: Snowflake
    name: Name
    short_description: Annotated[str, Field(min_length=16, max_length=150), AfterValidator(_one_line)]
    description: Annotated[str, Field(min_length=32, max_length=8_192), AfterValidator(_prose)]
    categories: Annotated[list[BotCategory], Field(min_length=1, max_length=12), AfterValidator(_unique)]
    extra_owners: Annotated[list[Snowflake], Field(max_length=4), AfterValidator(_unique)] = []
    support_invite: Url | None = None


class BotSubmission(BotEdit):
    id: Snowflake


class ServerEdit(Form):
    owner_id: Snowflake
    name: Name
    description: Annotated[str, Field(max_length=256), AfterValidator(_prose)]
    keywords: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=32), AfterValidator(_one_line)]],
        Field(max_length=5),
        AfterValidator(_unique),
    ]
    category: ServerCategory


class ServerSubmission(ServerEdit):
    id: Snowflake


class Denial(Form):
    reason: Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(_prose)]


class KeyName(Form):
    name: Name


class Rotation(Form):
    """`overlap_seconds`: how long the old key goes on beside the new one; 0 stops it at once."""

    overlap_seconds: Annotated[int, Field(ge=0, le=604_800)] = 0


class WebhookSettings(Form):
    url: Annotated[
        str,
        Field(max_length=2_048, json_schema_extra={"format": "uri"}),
        AfterValidator(_webhook_url),
    ]
    token: Annotated[str, Field(min_length=1, max_length=512), AfterValidator(_header_value)] | None = None
    language: Annotated[str, AfterValidator(_no_language)] | None = None


class User(Form):
    user: Snowflake


class Users(Form):
    users: Annotated[list[Snowflake], Field(max_length=1_000)]


class ActualServerCount(Form):
    server_count: Annotated[int, Field(ge=0, le=MAX_SERVER_COUNT)]


class Limit(Form):
    requests: Annotated[int, Field(ge=1, le=1_000_000)]
    window_seconds: Annotated[int, Field(ge=1, le=2_592_000)]


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
