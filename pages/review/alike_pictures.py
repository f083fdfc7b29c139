"""Pictures that look like those of a listing in review: listed ones, and others of its own.

Two pictures are alike if few bits of their perceptual hashes differ. Nothing is refused for it: a moderator
looks at both.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from blobs.blob_names import looks_in
from core.listing_table import survey
from core.rows import Listing
from forms.file_fields import FileRef
from kinds.registry import kind_of
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
    listings, kind, bits = page.call.state.listings, kind_of(row.ref), dict[str, int]()
    looks = {int(each.look, 16) for each in pictures_of(row, row.latest)}
    if not looks:
        return ()
    refs, alike = listings.refs, list[str]()

    def look(ref: str) -> None:
        for digest, other in looks_in(listings.content(ref)) if ref in listings else ():
            differ = min((other ^ each).bit_count() for each in looks)
            if differ <= MOST_BITS:
                bits[digest] = differ
                alike.append(ref)

    begin, end = bisect_left(refs, kind.prefix), bisect_left(refs, f"{kind}0")  # "0" follows "/"
    await page.call.tools.in_slices(survey(refs[begin:end], look))
    rows = [listings.peek(ref) for ref in {*alike} - {row.ref} if ref in listings]
    found = {
        (bits[file.digest], each.ref, each.profile.name, file)
        for each in rows
        if each.is_public
        for file in pictures_of(each)
        if file.digest in bits
    }
    return [AlikePicture(*each) for each in sorted(found, key=lambda each: each[:2])[:SHOWN]]
