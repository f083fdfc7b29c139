"""Clips: listings with a sound, a cover and more pictures."""

from typing import Annotated

from forms.fields import Name
from forms.file_fields import FileRef, Files
from forms.rules import UNIQUE, Display, Sample, Size
from kinds.kind import Kind, Made, Nouns, Profile, ReviewPart
from languages.texts import Text

PICTURES = ("image/png", "image/gif", "image/webp")
COVER = FileRef("c0" * 32, "image/png", 900, 100, 80, 1, look="00f0" * 4)
SOUND = FileRef("50" * 32, "audio/ogg", 9_000, length_ms=1_500, peaks="08" * 32)
SMALL = Files("picture", PICTURES, 256 << 10, 128, 128, most_frames=200)


class ClipProfile(Profile, frozen=True, gc=False, tag="clip"):
    """A clip."""

    name: Annotated[Name, Sample("Ding"), Display(Text("Name"), finds="title")]
    sound: Annotated[
        FileRef,
        Files("sound", ("audio/mpeg", "audio/ogg"), 512 << 10, most_ms=5_200),
        Sample(SOUND),
        Display(Text("Sound"), "sound"),
    ]
    cover: Annotated[
        FileRef | None,
        Files("picture", ("image/png", "image/jpeg", "image/webp"), 1 << 20, 1_200, 400),
        Sample(COVER),
        Display(Text("Cover"), "picture"),
    ] = None
    pictures: Annotated[
        tuple[FileRef, ...], Size(0, 4), UNIQUE, SMALL, Sample(()), Display(Text("Pictures"), "pictures")
    ] = ()


CLIPS = Kind(
    plural="clips",
    singular="clip",
    nouns=Nouns(
        one=Text("Clip"),
        many=Text("Clips"),
        popular=Text("Popular clips"),
        trending=Text("Trending clips"),
        random=Text("Random clips"),
        newest=Text("New clips"),
        search=Text("Search the clips"),
        remove=Text("Remove this clip"),
        submit=Text("Send your clip"),
        submit_one=Text("Send a clip"),
    ),
    profile=ClipProfile,
    id=Made(6),
    review=ReviewPart(),
)
