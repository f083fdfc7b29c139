"""The pictures that a listing may have beside its icon: a banner and screenshots."""

from typing import Annotated

from forms.file_fields import FileRef, Files
from forms.rules import UNIQUE, Display, Sample, Size
from languages.texts import Text

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
