"""Pictures that look like those of a listing in review: listed ones, and others of its own.

Two pictures are alike if few bits of their perceptual hashes differ. Nothing is refused for it: a moderator
looks at both.
"""

from collections.abc import Sequence
from typing import NamedTuple

from core.rows import Listing
from forms.file_fields import FileRef
from pages.page import PageCall
from pages.public.lists import pictures_of

MOST_BITS = 6  # of 64
SHOWN = 12


class AlikePicture(NamedTuple):
    """A picture of another listing. `bits` is the number of bits of the hash that differ."""

    bits: int
    ref: str
    name: str
    file: FileRef


def twins_in(files: Sequence[FileRef]) -> Sequence[FileRef]:
    """Return the pictures that are like another one among them."""
    looks = [int(each.look, 16) for each in files]
    return [
        file
        for file, look in zip(files, looks, strict=True)
        if sum((look ^ other).bit_count() <= MOST_BITS for other in looks) > 1
    ]


async def alike_to(page: PageCall, row: Listing) -> Sequence[AlikePicture]:
    """Return pictures of public listings that are like those of the latest version, the most alike first."""
    blobs, listings = page.site.blobs, page.call.state.listings
    pictures = pictures_of(row, row.latest)
    if not pictures:
        return ()
    await blobs.until_named()
    bits = dict[str, int]()
    for look in {each.look for each in pictures}:
        await page.call.tools.in_slices(blobs.names.alike(look, MOST_BITS, bits))
    refs = {ref for digest in bits for ref in blobs.names.refs(digest)} - {row.ref}
    rows = [listings.peek(ref) for ref in refs if ref in listings]
    found = {
        (bits[file.digest], each.ref, each.profile.name, file)
        for each in rows
        if each.is_public
        for file in pictures_of(each)
        if file.digest in bits
    }
    return [AlikePicture(*each) for each in sorted(found, key=lambda each: each[:2])[:SHOWN]]
