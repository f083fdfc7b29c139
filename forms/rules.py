"""The vocabulary of a declared field: its rules, and what people see of it.

A field is a type with notes: `Annotated[str, Size(1, 100), ON_ONE_LINE, Display(Text("Name"))]`. msgspec
ignores the notes. So a stored row may break a rule that is newer than the row, and can still be read.

Notes compare by identity, because `typing` hashes those of a union.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, get_args

from grammars.colours import COLOUR
from grammars.handles import HANDLE, NOT_A_HANDLE, is_reserved
from grammars.http_urls import HTTP_URL, UrlRefused, read_url
from grammars.patterns import (
    HEADER_VALUE,
    NOT_IN_PROSE,
    NOT_ON_ONE_LINE,
    ONE_LINE,
    PAIR,
    PROSE,
    SNOWFLAKE,
    TEXT,
    is_snowflake,
)
from grammars.platform_codes import INVITE, TEMPLATE
from grammars.social_links import pretends
from languages.said import Fault
from languages.texts import Text


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A rule on a value of the right type. `schema` says the same in JSON Schema, as far as that can."""

    check: Callable[[Any], Fault | None]
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Spelled:
    """The one spelling in which a valid text is kept. The rules before this note are about the text as given.

    Invariant: `spelling` of its own result changes nothing.
    """

    spelling: Callable[[str], str]


@dataclass(frozen=True, slots=True, eq=False)
class ComparedAs:
    """The fold of a unique field's values before they are compared. Without it, only case is ignored."""

    fold: Callable[[str], str]


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """A rule on a valid value beside the valid values of the fields before it, with their defaults."""

    check: Callable[[Any, Mapping[str, Any]], Fault | None]


@dataclass(frozen=True, slots=True, eq=False)
class Size:
    """The number of characters (Unicode code points) of a text, or of entries of a list."""

    least: int
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """The bounds of a whole number, both included. 1.0 is the integer 1, as in JSON Schema."""

    least: int
    most: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Says:
    """The fault of a field whichever of its rules is broken, its type included."""

    fault: Fault


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """The choices for a text, by their names in the API, each with its name for people."""

    choices: Mapping[str, Text]


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """The description of a field for programmers, and an example."""

    text: str = ""
    example: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A value of the field, for the examples of documents."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """The name under which the OpenAPI document describes a type once."""

    name: str


Widget = Literal[
    "line",
    "text",
    "choice",
    "choices",
    "lines",
    "pairs",
    "url",
    "links",
    "invite",
    "colour",
    "tick",
    "picture",
    "pictures",
    "sound",
]
"""The way in which a page asks for a field: one line, several lines, one or more of the choices, a list with
one entry on each line, a list of names with what each means, an address, a list of addresses, an invite to a
server, a colour, yes or no, files."""
Part = Literal["title", "word", "category", "keyword", "language"]
"""The part of a search that finds a listing by a field: by words, or as a filter."""


@dataclass(frozen=True, slots=True, eq=False)
class Display:
    """The look of a field: what people see of it.

    Args:
        brief: the label where a moderator reads the field; None for the same one.
        public: the name of the field in the JSON of public pages; empty for the same one.
        rows: the height of the widget `text`, `lines`, `links` or `pairs`.
        is_markdown: True if pages draw the text as Markdown.
        icon: the icon beside the address of a field `url`, by its name in `web/static/icons.svg`.
        finds: how a search finds a listing by the field; None if it does not look at the field. Pictures are
            found by the categories "Animated" and "Static".
        hides: true if a yes hides the listing from lists and search engines.
    """

    label: Text
    widget: Widget = "line"
    hint: Text | None = None
    brief: Text | None = None
    public: str = ""
    rows: int = 4
    is_markdown: bool = False
    icon: str = "link"
    finds: Part | None = None
    hides: bool = False


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern compiled at its first use: three of them would cost each start 50 ms."""
    return re.compile(pattern)


def one_of(choices: Any) -> Says:
    """Return the note of a field that takes one of the choices of a Literal, or another fault."""
    return Says(Fault("not_one_of", {"choices": ", ".join(get_args(choices))}))


def matching(pattern: str, fault: Fault | None = None) -> Rule:
    """Return the rule that a text matches a pattern, which Python and ECMA-262 read alike."""
    broken = fault or Fault("not_matching", {"pattern": pattern})
    return Rule(lambda text: None if _compiled(pattern).fullmatch(text) else broken, {"pattern": pattern})


def _also_matching(pattern: str, fault: Fault) -> Rule:
    """Return the rule that a part of a text matches a pattern, beside the one that another rule has."""
    return Rule(
        lambda text: None if _compiled(pattern).search(text) else fault, {"allOf": [{"pattern": pattern}]}
    )


def _without(pattern: str, refused: str) -> Rule:
    """Return the rule of a pattern that refuses characters, or texts without one that can be seen."""

    def check(text: str) -> Fault | None:
        return None if _compiled(pattern).fullmatch(text) else _refused_character(text, refused)

    return Rule(check, {"pattern": pattern})


def _refused_character(text: str, refused: str) -> Fault:
    """Name the first refused character by its number and by Unicode's name: its writer may not see it."""
    found = _compiled(f"[{refused}]").search(text)
    if found is None:
        return Fault("nothing_seen")
    character, category = found[0], unicodedata.category(found[0])
    name = f"U+{ord(character):04X} {unicodedata.name(character, '')}".rstrip()
    if character in "\n\r" or category in {"Zl", "Zp"}:
        return Fault("not_one_line", {"character": name})
    return Fault("control_character" if category == "Cc" else "direction_changed", {"character": name})


def _unique(items: tuple[str, ...]) -> Fault | None:
    return Fault("named_twice") if len(set(items)) != len(items) else None


def _url(text: str) -> Fault | None:
    try:
        read_url(text)
    except UrlRefused as refused:
        return refused.fault
    return None


IS_SNOWFLAKE = Rule(
    lambda text: None if is_snowflake(text) else Fault("no_snowflake"), {"pattern": SNOWFLAKE}
)
ON_ONE_LINE = _without(ONE_LINE, NOT_ON_ONE_LINE)
ON_ONE_LINE_OR_NONE = _without(f"^$|{ONE_LINE}", NOT_ON_ONE_LINE)
IN_PROSE = _without(PROSE, NOT_IN_PROSE)
IN_TEXT = _without(TEXT, NOT_IN_PROSE)
IS_PAIR = _also_matching(PAIR, Fault("not_a_pair"))
IS_INVITE = matching(INVITE.link, Fault("not_an_invite"))
IS_TEMPLATE = matching(TEMPLATE.link, Fault("not_a_template"))
IS_TEMPLATE_CODE = matching(f"^{TEMPLATE.code}$", Fault("not_a_template"))
NOT_A_COLOUR = Fault("not_a_colour")
IS_COLOUR = matching(COLOUR, NOT_A_COLOUR)
IS_HANDLE = matching(HANDLE, Fault("not_a_handle"))
NOT_RESERVED = Rule(
    lambda handle: Fault("name_reserved") if is_reserved(handle) else None,
    {"not": {"pattern": NOT_A_HANDLE}},
)
ON_ITS_HOST = Rule(pretends)
IS_HEADER_VALUE = matching(HEADER_VALUE, Fault("not_header_value"))
IS_URL = Rule(_url, {"pattern": HTTP_URL})
IS_HTTPS = _also_matching("^[Hh][Tt][Tt][Pp][Ss]:", Fault("not_https"))
UNIQUE = Rule(_unique, {"uniqueItems": True})
