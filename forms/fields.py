"""The fields of a form as it declares them, and the types of fields that several forms share.

Lengths are in code points, and nothing trims a text.
"""

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, structs

from forms.rules import (
    IN_PROSE,
    IS_COLOUR,
    IS_HANDLE,
    IS_HTTPS,
    IS_INVITE,
    IS_PAIR,
    IS_SNOWFLAKE,
    IS_TEMPLATE,
    IS_TEMPLATE_CODE,
    IS_URL,
    NOT_A_COLOUR,
    NOT_RESERVED,
    ON_ITS_HOST,
    ON_ONE_LINE,
    About,
    Between,
    ComparedAs,
    Component,
    Says,
    Size,
    Spelled,
)
from grammars.colours import spelled_colour
from grammars.handles import LONGEST, SHORTEST, skeleton
from grammars.http_urls import MAX_URL_CHARACTERS
from grammars.patterns import MAX_SNOWFLAKE
from grammars.platform_codes import INVITE, TEMPLATE
from grammars.tags import MOST_CHARACTERS, tag_of

N = TypeVar("N")
MAX_MS = (1 << 53) - 1  # every JSON reader holds integers up to here exactly
LAST_MS = 253_402_300_799_999  # the end of the year 9999: no calendar of ours shows a later time
ABOUT_LINE = "It must be one line with a visible character, without bidirectional controls."
ABOUT_TEXT = "It must have no bidirectional embeddings, overrides or isolates."
ABOUT_PROSE = "It must have a visible character, and no bidirectional embeddings, overrides or isolates."

Snowflake = Annotated[
    str, Component("Snowflake"), About(f"A number of 17 to 20 digits, up to {MAX_SNOWFLAKE}."), IS_SNOWFLAKE
]
Name = Annotated[str, Size(1, 100), About(ABOUT_LINE), ON_ONE_LINE]
Url = Annotated[str, Size(0, MAX_URL_CHARACTERS), IS_URL]
HttpsUrl = Annotated[Url, IS_HTTPS]
Tag = Annotated[str, Size(1, MOST_CHARACTERS), About(ABOUT_LINE), ON_ONE_LINE, Spelled(tag_of)]
Pair = Annotated[
    str,
    Size(4, 200),
    About(f"A name of up to 60 characters, a colon with a space, and what it means. {ABOUT_LINE}"),
    ON_ONE_LINE,
    IS_PAIR,
]
Invite = Annotated[
    str,
    Size(2, MAX_URL_CHARACTERS),
    About("An invite to the server, as a URL or as a code. It is kept as a code."),
    IS_INVITE,
    Spelled(INVITE.of),
]
TemplateCode = Annotated[str, Size(10, 32), About("The code of a template of servers."), IS_TEMPLATE_CODE]
TemplateLink = Annotated[
    str,
    Size(10, MAX_URL_CHARACTERS),
    About("A template of servers, as a URL or as a code. It is kept as a code."),
    IS_TEMPLATE,
    Spelled(TEMPLATE.of),
]
Colour = Annotated[
    str,
    About("#rrggbb or #rgb. Kept as #rrggbb in lower case."),
    IS_COLOUR,
    Spelled(spelled_colour),
    Says(NOT_A_COLOUR),
]
Handle = Annotated[
    str,
    Size(SHORTEST, LONGEST),
    About(
        "A name for an address: a-z, 0-9, `_` and `.`, with a letter or a digit. Kept in lower case. Some "
        "names are reserved. No two listings have names that look alike, such as `ada_1` and `ada.l`."
    ),
    IS_HANDLE,
    NOT_RESERVED,
    Spelled(str.lower),
    ComparedAs(skeleton),
]
SocialUrl = Annotated[
    str,
    Size(0, 256),
    About("An https URL. If it names a known platform, it is on the platform's own host."),
    IS_URL,
    IS_HTTPS,
    ON_ITS_HOST,
]
Time = Annotated[int, Between(0, MAX_MS)]
OverlapSeconds = Annotated[
    int, Between(0, 604_800), About("0 stops the old one at once. The longest time is a week.")
]
Reason = Annotated[str, Size(1, 1_000), About(f"Shown to the owner. {ABOUT_PROSE}"), IN_PROSE]


class Form(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of all forms. `of_the_whole` are the keywords of its JSON Schema about several fields."""

    of_the_whole: ClassVar[Mapping[str, Any]] = MappingProxyType({})


class Nothing(Form, frozen=True):
    """A body without fields."""


class Declared(NamedTuple):
    """A field of a form. A required one has no default (NODEFAULT). Its `annotation` includes the notes."""

    name: str
    annotation: Any
    notes: tuple[Any, ...]
    default: Any

    @property
    def is_required(self) -> bool:
        return self.default is NODEFAULT

    def note(self, kind: type[N]) -> N | None:
        """Return the field's note of this kind, if it has one."""
        return next((note for note in self.notes if isinstance(note, kind)), None)


@functools.cache
def declared_fields(form: type[Struct]) -> tuple[Declared, ...]:
    """Return the fields of a form in their order."""
    hints = get_type_hints(form, include_extras=True)
    return tuple(
        Declared(each.name, hints[each.name], unwrapped(hints[each.name])[1], each.default)
        for each in structs.fields(form)
    )


def unwrapped(declared: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without the notes around it, and these notes."""
    if get_origin(declared) is not Annotated:
        return declared, ()
    inner, *notes = get_args(declared)
    return inner, tuple(notes)
