"""The fields of forms. Law: a field's JSON Schema says the same as its validators.

Lengths are in characters (Unicode code points). Nothing trims or repairs a text. Patterns are of ECMA-262,
and spell white space out because engines differ.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo
from typing_extensions import TypeAliasType

from grammars.header_values import HEADER_VALUE
from grammars.http_urls import HTTP_URL, MAX_URL_CHARACTERS, read_url
from grammars.patterns import (
    NOT_IN_PROSE,
    NOT_ON_ONE_LINE,
    ONE_LINE,
    PROSE,
    SNOWFLAKE,
    TEXT,
)
from grammars.snowflake import MAX, is_snowflake
from languages.said import NO_FACTS, Code, Facts, Fault

MAX_SERVER_COUNT = 10_000_000
MAX_MS = (1 << 53) - 1  # every JSON reader holds integers up to here exactly
LAST_MS = 253_402_300_799_999  # the end of the year 9999: no calendar of ours shows a later time

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


class Broken(ValueError):
    """A broken rule, for pydantic."""

    def __init__(self, code: Code, facts: Facts = NO_FACTS) -> None:
        super().__init__(code)
        self.fault = Fault(code, facts)


def sized(least: int, most: int, description: str | None = None, **schema: Any) -> Any:
    """Return a field of `least` to `most` characters or items, with more keywords for its JSON Schema."""
    return Field(
        min_length=least or None, max_length=most, description=description, json_schema_extra=schema or None
    )


def _snowflake(text: str) -> str:
    if not is_snowflake(text):
        raise Broken("no_snowflake")
    return text


def _matching(pattern: str, reason: Callable[[str], Fault]) -> AfterValidator:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise Broken(*reason(text))
        return text

    return AfterValidator(check)


def _without(refused: str) -> Callable[[str], Fault]:
    """Return a function that says why a text is refused: a refused character, or none that can be seen.

    It names the character by its number and by Unicode's name, because its writer may not see it.
    """

    def reason(text: str) -> Fault:
        found = re.search(f"[{refused}]", text)
        if found is None:
            return Fault("nothing_seen")
        character, category = found[0], unicodedata.category(found[0])
        facts = {"character": f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()}
        if character in "\n\r" or category in {"Zl", "Zp"}:
            return Fault("not_one_line", facts)
        if category == "Cc":
            return Fault("control_character", facts)
        return Fault("direction_changed", facts)

    return reason


def unique(items: list[str]) -> list[str]:
    if len(set(items)) != len(items):
        raise Broken("named_twice")
    return items


def other_users(owners: list[str], info: ValidationInfo) -> list[str]:
    if info.data.get("owner_id") in owners:
        raise Broken("names_the_owner")
    return owners


def _http_url(text: str) -> str:
    """Return the URL unchanged if it is an http or https URL that all parsers read in the same way."""
    read_url(text)
    return text


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
IS_ONE_LINE = _matching(ONE_LINE, _without(NOT_ON_ONE_LINE))
IS_PROSE = _matching(PROSE, _without(NOT_IN_PROSE))
IS_TEXT = _matching(TEXT, _without(NOT_IN_PROSE))
IS_HEADER_VALUE = _matching(HEADER_VALUE, lambda _: Fault("not_header_value"))
# 1.0 is the integer 1, as in JSON Schema.
WHOLE = BeforeValidator(lambda n: int(n) if isinstance(n, float) and n.is_integer() else n)
ON_ONE_LINE = "On one line, with a character that can be seen, without bidirectional controls."
IN_PROSE = "With a character that can be seen, without bidirectional embeddings, overrides and isolates."
Name = Annotated[str, sized(1, 100, ON_ONE_LINE, pattern=ONE_LINE), IS_ONE_LINE]
Url = Annotated[str, sized(0, MAX_URL_CHARACTERS, pattern=HTTP_URL), AfterValidator(_http_url)]
OverlapSeconds = Annotated[
    int,
    Field(ge=0, le=604_800, description="0 stops the old one at once; a week is the longest."),
    WHOLE,
]
