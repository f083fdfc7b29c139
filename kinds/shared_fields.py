"""Fields that profiles of several kinds have."""

from collections.abc import Mapping
from typing import Annotated

from forms.fields import ABOUT_TEXT, Name, Tag
from forms.file_fields import FileRef, Files
from forms.rules import IN_TEXT, UNIQUE, About, Display, OneOf, Sample, Size
from languages.language_names import FURTHER_NAMES, OWN_NAMES
from languages.texts import Text

Title = Annotated[Name, Display(Text("Name"), hint=Text("Up to 100 characters."), finds="title")]
Summary = Annotated[
    str,
    Size(0, 256),
    About(ABOUT_TEXT),
    IN_TEXT,
    Display(Text("Description"), "text", Text("Up to 256 characters. Optional."), finds="word"),
]
Tags = Annotated[
    tuple[Tag, ...],
    Size(0, 8),
    UNIQUE,
    About("Kept in lower case, with hyphens for spaces."),
    Display(
        Text("Tags"),
        "lines",
        Text("Up to 8, one per line, each up to 32 characters. Optional."),
        rows=4,
        finds="keyword",
    ),
]
PICTURES = ("image/png", "image/jpeg", "image/webp")
Banner = Annotated[
    FileRef | None,
    Files("picture", PICTURES, 1 << 20, 1_500, 500),
    Sample(None),
    Display(
        Text("Banner"),
        "picture",
        Text("A wide picture for the top of the page: PNG, JPEG or WebP, up to 1 MiB. Optional."),
    ),
]
Screenshots = Annotated[
    tuple[FileRef, ...],
    Size(0, 5),
    UNIQUE,
    Files("picture", PICTURES, 1 << 20, 1_920, 1_920),
    Sample(()),
    Display(
        Text("Screenshots"),
        "pictures",
        Text("Up to 5 pictures: PNG, JPEG or WebP, each up to 1 MiB. Optional."),
    ),
]
TEXT_LANGUAGES: Mapping[str, Text] = {
    "": Text("Not specified"),
    # A language has its own name in every language of the site, so that its readers know it.
    **{tag: Text(name) for names in (OWN_NAMES, FURTHER_NAMES) for tag, name in names.items()},
}
TextLanguage = Annotated[
    str,
    OneOf(TEXT_LANGUAGES),
    About("The language of the description; empty if the owner does not say."),
    Sample("en"),
    Display(
        Text("Language"),
        "choice",
        Text("The language of your texts. Visitors can look for listings in their language."),
        public="language",
        finds="language",
    ),
]
"""The language of the owner's texts, as the owner says it. Its default is the empty text."""
