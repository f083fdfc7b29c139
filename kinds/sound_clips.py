"""Sounds: short clips for the soundboards of servers."""

from typing import Annotated

from forms.file_fields import FileRef, Files
from forms.rules import UNIQUE, Display, OneOf, Sample, Size
from kinds.kind import DownloadsPart, Kind, LikesPart, Made, Nouns, Profile, ReviewPart
from kinds.shared_fields import Summary, Tags, Title
from languages.texts import Text

CATEGORIES = {
    "Memes": Text("Memes"),
    "Loud": Text("Loud"),
    "NSFW": Text("NSFW"),
    "Other": Text("Other"),
}
SAMPLE = FileRef(
    "cc3044b24796f7a015d377b399f5d61cf63f60ef35d5939babdd7e3b26332ffb",
    "audio/ogg",
    9_000,
    length_ms=1_100,
    peaks="4444335a99877654aaaa98765bbb98765aa98766544332221111111111100000",
)


class SoundProfile(Profile, frozen=True, gc=False, tag="sound"):
    """A sound, with what its owner writes about it."""

    name: Annotated[Title, Sample("Level up chime")]
    sound: Annotated[
        FileRef,
        Files("sound", ("audio/mpeg", "audio/ogg"), 512 << 10, most_ms=5_200),
        Sample(SAMPLE),
        Display(Text("Sound"), "sound", Text("MP3 or Ogg, up to 512 KiB and 5.2 seconds.")),
    ]
    categories: Annotated[
        tuple[Annotated[str, OneOf(CATEGORIES)], ...],
        Size(1, 4),
        UNIQUE,
        Sample(("Other",)),
        Display(Text("Categories"), "choices", Text("One or more."), finds="category"),
    ]
    description: Annotated[Summary, Sample("Four bright notes for small victories.")] = ""
    tags: Annotated[Tags, Sample(("happy", "games"))] = ()


SOUNDS = Kind(
    plural="sounds",
    singular="sound",
    nouns=Nouns(
        one=Text("Sound"),
        many=Text("Sounds"),
        popular=Text("Popular sounds"),
        trending=Text("Trending sounds"),
        newest=Text("New sounds"),
        random=Text("Random sound"),
        search=Text("Search the sounds"),
        remove=Text("Remove this sound"),
        submit=Text("List your sound"),
        submit_one=Text("List a sound"),
    ),
    profile=SoundProfile,
    id=Made(6),
    review=ReviewPart(),
    likes=LikesPart(),
    downloads=DownloadsPart("sound"),
)
