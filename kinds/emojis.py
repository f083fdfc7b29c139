"""Emojis: one picture, or a package of 4 to 9. The files say whether it is animated, not the owner."""

from typing import Annotated

from forms.file_fields import FileRef, Files
from forms.rules import UNIQUE, About, Display, OneOf, Rule, Sample, Size, matching
from kinds.kind import DownloadsPart, Kind, LikesPart, Made, Nouns, Profile, ReviewPart
from languages.said import Fault
from languages.texts import Text

CATEGORIES = {
    "Gaming": Text("Gaming"),
    "Anime": Text("Anime"),
    "Memes": Text("Memes"),
    "Pepe": Text("Pepe"),
    "Pixel Art": Text("Pixel Art"),
    "Cute": Text("Cute"),
    "Logos": Text("Logos"),
    "Utility": Text("Utility"),
    "Other": Text("Other"),
}
LEAST, MOST = 4, 9
"""The emojis of a package."""
NO_PACKAGE = Fault("no_package", {"least": LEAST, "most": MOST})
PICTURES = Files(
    "picture", ("image/png", "image/gif", "image/webp"), 256 << 10, width=128, height=128, most_frames=200
)


class EmojiProfile(Profile, frozen=True, gc=False, tag="emoji"):
    """An emoji or a package of them, written by its owner."""

    name: Annotated[
        str,
        About("2 to 20 of a-z, 0-9 and _. The emojis of a package have it with their number."),
        matching("^[a-z0-9_]{2,20}$", Fault("no_emoji_name")),
        Sample("tiny_mushroom"),
        Display(
            Text("Name"),
            hint=Text("2 to 20 lower-case letters, digits and underscores, as people type it in a chat."),
            finds="title",
        ),
    ]
    pictures: Annotated[
        tuple[FileRef, ...],
        Size(1, MOST),
        Rule(
            lambda files: None if len(files) == 1 or len(files) >= LEAST else NO_PACKAGE,
            {"anyOf": [{"maxItems": 1}, {"minItems": LEAST}]},
        ),
        UNIQUE,
        PICTURES,
        About("One file, or 4 to 9 for a package."),
        Sample((FileRef("e0" * 32, "image/png", 6_400, 128, 128, 1, look="0f1e" * 4),)),
        Display(
            Text("Pictures"),
            "pictures",
            Text(
                "One for an emoji, 4 to 9 for a package: PNG, GIF or WebP. Larger ones are made to fit into "
                "128 x 128 pixels, and each may then have 256 KiB."
            ),
            finds="category",
        ),
    ]
    categories: Annotated[
        tuple[Annotated[str, OneOf(CATEGORIES)], ...],
        Size(1, 4),
        UNIQUE,
        Sample(("Cute",)),
        Display(Text("Categories"), "choices", Text("1 to 4."), finds="category"),
    ]


EMOJIS = Kind(
    plural="emojis",
    singular="emoji",
    nouns=Nouns(
        one=Text("Emoji"),
        many=Text("Emojis"),
        popular=Text("Popular emojis"),
        trending=Text("Trending emojis"),
        newest=Text("New emojis"),
        random=Text("Random emoji"),
        search=Text("Search the emojis"),
        remove=Text("Remove this emoji"),
        submit=Text("List your emojis"),
        submit_one=Text("List emojis"),
    ),
    profile=EmojiProfile,
    id=Made(6),
    review=ReviewPart(),
    likes=LikesPart(),
    downloads=DownloadsPart("pictures", are_emojis=True),
)
