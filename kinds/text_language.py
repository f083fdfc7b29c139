"""The language of a listing's texts, as its owner says it. Nothing is guessed from the texts."""

from collections.abc import Mapping
from typing import Annotated

from forms.rules import About, Display, OneOf, Sample
from languages.language_names import FURTHER_NAMES, OWN_NAMES
from languages.texts import Text

NOT_SAID = Text("Not specified")
TEXT_LANGUAGES: Mapping[str, Text] = {
    "": NOT_SAID,
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
"""A field for it, whose default is the empty text."""
