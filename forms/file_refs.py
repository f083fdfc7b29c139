"""Files in profiles: a profile has the facts of a file, which were measured at its upload."""

from collections.abc import Mapping

from msgspec import Struct

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

    Invariant: `digest` and `media_type` come first (`blobs/blob_names.py` finds them in a row).

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


def files_of(value: object) -> tuple[FileRef, ...]:
    """Return the files that a field of a profile has."""
    several = value if isinstance(value, tuple) else (value,)
    return tuple(each for each in several if isinstance(each, FileRef))
