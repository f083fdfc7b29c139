"""Files in forms: a form names a file by its digest, and a profile has its facts.

A field of files is declared with the type of the profile: `FileRef`, `FileRef | None`, or a tuple of them
with its `Size`. Beside it are the rules of the files (`Files`). The form has a `Digest` in the place of each
`FileRef` (`as_asked`). An upload has checked the file and measured its facts, so a client never says them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from msgspec import Struct

from forms.fields import unwrapped
from forms.rules import About, Says, matching
from languages.said import Fault

DIGEST = "^[0-9a-f]{64}$"
NO_SUCH_FILE = Fault("no_such_file")
Digest = Annotated[
    str,
    About("The digest of an uploaded file: its SHA-256 in hexadecimal."),
    matching(DIGEST),
    Says(NO_SUCH_FILE),
]
Sort = Literal["picture", "sound"]
EXTENSIONS: Mapping[str, str] = {
    "image/png": "png",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/jpeg": "jpg",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
}
"""The endings of the names of files, by their media types. Files have no others."""


class FileRef(Struct, frozen=True, gc=False, omit_defaults=True):
    """A file of a listing, with the facts that were measured at its upload.

    Args:
        digest: the SHA-256 of its bytes, in hexadecimal.
        size: in bytes.
        frames: of a picture; more than one is animated.
        length_ms: of a sound.
        look: a perceptual hash of a picture: 64 bits in hexadecimal. Few of them differ between alike ones.
        peaks: the loudness of a sound over its time: one hexadecimal digit for each of 64 parts.
    """

    digest: str
    media_type: str
    size: int
    width: int = 0
    height: int = 0
    frames: int = 0
    length_ms: int = 0
    look: str = ""
    peaks: str = ""

    @property
    def name(self) -> str:
        """The name under which it is served."""
        return f"{self.digest}.{EXTENSIONS[self.media_type]}"

    @property
    def path(self) -> str:
        """The path at which it is served."""
        return f"/files/{self.name}"

    @property
    def is_animated(self) -> bool:
        return self.frames > 1


class Decoded(NamedTuple):
    """A clean file with its facts."""

    content: bytes
    file: FileRef


@dataclass(frozen=True, slots=True, eq=False)
class Files:
    """The rules of the files of a field.

    Args:
        media_types: those of `EXTENSIONS` that it takes. They are read from the content of the file.
        most_bytes: the greatest size, after an upload has cleaned the file.
        width, height: the sides into which an upload fits a picture that is larger.
        most_frames: the greatest number of frames of a picture.
        most_ms: the greatest length of a sound.
    """

    sort: Sort
    media_types: tuple[str, ...]
    most_bytes: int
    width: int = 0
    height: int = 0
    most_frames: int = 1
    most_ms: int = 0

    def fault(self, file: FileRef) -> Fault | None:
        """Return the rule that an uploaded file breaks, such as one that was uploaded for another field."""
        if file.media_type not in self.media_types:
            return self.other_type
        if file.size > self.most_bytes:
            return Fault("file_too_large", {"most": self.most_bytes >> 10})
        if file.width > self.width or file.height > self.height:
            return Fault("picture_too_large", {"width": self.width, "height": self.height})
        if file.frames > self.most_frames:
            return Fault("too_many_frames", {"most": self.most_frames})
        return self.too_long if file.length_ms > self.most_ms else None

    @property
    def other_type(self) -> Fault:
        """The fault of a file whose content is of no type that the field takes."""
        *others, last = (EXTENSIONS[each].upper() for each in self.media_types)
        return Fault("not_such_a_file", {"types": f"{', '.join(others)} or {last}" if others else last})

    @property
    def too_long(self) -> Fault:
        return Fault("sound_too_long", {"most": f"{self.most_ms / 1_000:g}"})


def as_asked(declared: Any) -> Any:
    """Return the type of a form's field, which has digests where that of a profile has files."""
    inner, notes = unwrapped(declared)
    if notes:
        return Annotated[as_asked(inner), *notes]
    if inner is FileRef:
        return Digest
    if get_origin(inner) is tuple:
        entry: Any = as_asked(get_args(inner)[0])
        return tuple.__class_getitem__((entry, ...))
    if get_origin(inner) in {Union, UnionType}:
        return reduce(or_, map(as_asked, get_args(inner)))
    return declared


def files_of(value: object) -> tuple[FileRef, ...]:
    """Return the files that a field of a profile has."""
    several = value if isinstance(value, tuple) else (value,)
    return tuple(each for each in several if isinstance(each, FileRef))
