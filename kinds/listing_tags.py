"""The tags of a listing."""

from typing import Annotated

from forms.fields import Tag
from forms.rules import UNIQUE, About, Display, Size
from languages.texts import Text

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
