"""An index of the listings that name a file.

A row names a file by a FileRef, in any slot. The index finds it in the row's bytes, so it needs to know no
slot, and no row is unpacked. It remembers every listing that has ever named a file, and checks the row at
each query. So no event has to say what a row no longer names.

A start leaves rows packed, so a survey reads all of them once, in slices. After that the index follows the
log. It is complete once the survey has ended.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from core import events as ev
from core.events import FREQUENT
from core.listing_table import survey
from core.state import State
from forms.file_fields import FileRef, files_of
from kinds.kind import Kind
from kinds.registry import KINDS, kind_of

# The first two fields of a FileRef in msgpack. No text of a user has these bytes: neither \xa6 nor \xd9 has
# the neighbours here that it has in UTF-8.
_NAMED = re.compile(rb"\xa6digest\xd9\x40([0-9a-f]{64})\xaamedia_type")


_SEEN = re.compile(
    rb"\xa6digest\xd9\x40([0-9a-f]{64})\xaamedia_type.{1,80}?\xa4look\xb0([0-9a-f]{16})", re.DOTALL
)


def digests_in(packed: bytes) -> set[str]:
    """Return the digests of the files that a packed row names."""
    return {found.decode() for found in _NAMED.findall(packed)}


def looks_in(packed: bytes) -> Iterator[tuple[str, int]]:
    """Yield the digests of the pictures that a packed row names, with their perceptual hashes."""
    for digest, look in _SEEN.findall(packed):
        yield digest.decode(), int(look, 16)


def named_in(state: State) -> set[str]:
    """Return the digests of the files that the rows of a state name."""
    return {digest for ref in state.listings.refs for digest in digests_in(state.listings.content(ref))}


_NAMELESS = FREQUENT | {ev.VotesMerged, ev.VoteCountsMerged, ev.DeliveryMerged, ev.DeliveryForgotten}
"""Frequent events, and others that name no file."""


def files_in(profile: Struct) -> Iterator[FileRef]:
    """Yield the files of a profile."""
    for name in profile.__struct_fields__:
        yield from files_of(getattr(profile, name))


class BlobNames:
    def __init__(self, state: State, kinds: Collection[Kind] = KINDS) -> None:
        """`kinds` are those whose listings everybody may see."""
        self._kinds = kinds
        self._listings = state.listings
        self._refs: dict[bytes, str | tuple[str, ...]] = {}
        """The listings that have named a file, by its digest: nearly always it is one."""
        self.news = set[str]()
        """The digests of files that were named for the first time, and that `taken_news` has not returned."""
        self.is_complete = False

    def refs(self, digest: str) -> Sequence[str]:
        """Return the listings that name a file, in any slot."""
        key = bytes.fromhex(digest)
        known = self._known(key)
        now = tuple(ref for ref in known if digest in self.named_by(ref))
        if now != known:
            self._put(key, now)
        return now

    def named_by(self, ref: str) -> set[str]:
        """Return the digests of the files that a listing names, in any slot."""
        return digests_in(self._listings.content(ref)) if ref in self._listings else set()

    def public(self, digest: str) -> FileRef | None:
        """Return a file if a public listing shows it to everybody."""
        for ref in self._known(bytes.fromhex(digest)):
            is_offered = ref in self._listings and kind_of(ref) in self._kinds
            row = self._listings.peek(ref) if is_offered else None
            for file in files_in(row.profile) if row is not None and row.is_public else ():
                if file.digest == digest:
                    return file
        return None

    def files_of(self, ref: str) -> Iterator[FileRef]:
        """Yield the files of all versions of the profile of a listing. One may come twice."""
        row = self._listings.peek(ref) if self.named_by(ref) else None
        if row is None:
            return
        yield from files_in(row.profile)
        if row.change is not None:
            yield from files_in(row.change.other)
        if row.review is not None and row.review.denied_profile is not None:
            yield from files_in(row.review.denied_profile)

    def taken_news(self) -> Sequence[str]:
        """Return the digests that were named for the first time, and forget them."""
        taken, self.news = [*self.news], set()
        return taken

    def survey(self) -> Iterator[None]:
        """Index all listings, in slices, unless that was done before."""
        if not self.is_complete:
            yield from survey(self._listings.refs, self._look)
            self.is_complete = True

    def on_record(self, _: int, events: Sequence[ev.Event]) -> None:
        """Read a committed record."""
        for event in events:
            ref = getattr(event, "ref", "") if type(event) not in _NAMELESS else ""
            if ref in self._listings:
                self._look(ref)

    def _look(self, ref: str) -> None:
        for digest in digests_in(self._listings.content(ref)):
            key = bytes.fromhex(digest)
            refs = self._known(key)
            if not refs:
                self.news.add(digest)
            if ref not in refs:
                self._put(key, (*refs, ref))

    def _known(self, key: bytes) -> tuple[str, ...]:
        known = self._refs.get(key, ())
        return (known,) if isinstance(known, str) else known

    def _put(self, key: bytes, refs: tuple[str, ...]) -> None:
        if refs:
            self._refs[key] = refs[0] if len(refs) == 1 else refs
        else:
            self._refs.pop(key, None)
