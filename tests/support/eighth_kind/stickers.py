"""Stickers: pictures that users put under messages."""

from typing import Annotated

from forms.fields import ABOUT_PROSE, Name
from forms.rules import IN_PROSE, About, Display, OneOf, Sample, Size
from kinds.kind import Kind, Made, Nouns, Profile, ReviewPart, VotesPart, WebhookPart
from languages.texts import Text

MOODS = {"Happy": Text("Happy"), "Sad": Text("Sad"), "Other": Text("Other")}


class StickerProfile(Profile, frozen=True, gc=False, tag="sticker"):
    """A sticker's profile, written by its owner."""

    name: Annotated[Name, Sample("Example sticker"), Display(Text("Name"), finds="title")]
    description: Annotated[
        str,
        Size(16, 500),
        About(ABOUT_PROSE),
        IN_PROSE,
        Sample("A penguin that waves at everybody"),
        Display(Text("Description"), "text", finds="word"),
    ]
    mood: Annotated[str, OneOf(MOODS), Sample("Happy"), Display(Text("Mood"), "choice", finds="category")]


STICKERS = Kind(
    plural="stickers",
    singular="sticker",
    nouns=Nouns(
        one=Text("Sticker"),
        many=Text("Stickers"),
        popular=Text("Popular stickers"),
        trending=Text("Trending stickers"),
        random=Text("Random stickers"),
        newest=Text("New stickers"),
        search=Text("Search the stickers"),
        remove=Text("Remove this sticker"),
        submit=Text("Send your sticker"),
        submit_one=Text("Send a sticker"),
    ),
    profile=StickerProfile,
    id=Made(6),
    review=ReviewPart(),
    votes=VotesPart(),
    webhook=WebhookPart("sticker", "{user} voted for the sticker."),
)
