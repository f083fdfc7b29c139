"""Values that no two listings of a kind share, such as the pair of colours of a theme.

Invariant: the index follows from the rows. The rows of a start are read in slices, at the first need.

A listing claims the values of both versions of its profile. A denied one claims none. Two nodes of a fleet
may take the same values at the same moment, and both rows stay. Then the listing that was made first has the
values; of two made in one millisecond, the one with the lesser ref. The owner of the other gets a notice, and
chooses new ones. A value is free again when the listing that has it gives it up: by an approved edit, a
denial, or its removal. A hidden listing keeps its values: it may come back without a decision.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from core import events as ev
from core.actors import GATEWAY
from core.events import FREQUENT
from core.listing_table import survey
from core.rows import Listing
from core.state import State
from kinds.kind import ListingEdit, Profile
from kinds.registry import BY_PLURAL, KINDS, kind_of
from languages.refusals import Invalid
from languages.said import Fault

_CHANGING = ev.ListingSaved | ev.ListingReviewed | ev.ChangeDecided | ev.ListingRemoved | ev.ListingMerged
_Claim = str
"""The kind, the fields, and their values as they are compared (`Kind.folded`): one text, which is small."""


class UniqueValues:
    def __init__(self, state: State) -> None:
        self._listings = state.listings
        self._holders: dict[_Claim, tuple[str, ...]] = {}
        """The listings that claim the values, the first of which has them. Nearly always it is one."""
        self._contested: set[_Claim] = set()
        """The values with several holders."""
        self._claims: dict[str, tuple[_Claim, ...]] = {}
        self.is_complete = False

    def survey(self) -> Iterator[None]:
        """Index all listings with such values, in slices, unless that was done before."""
        refs = self._listings.refs
        for kind in KINDS if not self.is_complete else ():
            if kind.unique:
                begin, end = bisect_left(refs, kind.prefix), bisect_left(refs, f"{kind}0")  # "0" follows "/"
                yield from survey(refs[begin:end], self._look)
        self.is_complete = True

    def on_record(self, _: int, events: Sequence[ev.Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) not in FREQUENT and isinstance(event, _CHANGING) and kind_of(event.ref).unique:
                self._look(event.ref)

    def ref_of(self, plural: str, fields: Sequence[str], values: Sequence[str]) -> str | None:
        """Return the ref of the listing that has the values; None if no listing has them."""
        return next(iter(self._holders.get(_claim(plural, fields, values), ())), None)

    def refuse_taken(self, ref: str, form: ListingEdit) -> None:
        """Raise Invalid for a form with values that belong to another listing."""
        taken = [name for fields in self._taken(ref, form) for name in fields]
        if taken:
            raise Invalid(dict.fromkeys(taken, Fault("values_taken")))

    def lost(self, row: Listing) -> Sequence[str]:
        """Return the fields of a listing whose values another one has."""
        return [name for fields in self._taken(row.ref, row.latest) for name in fields]

    def losses(self) -> Sequence[tuple[Listing, Sequence[str]]]:
        """Return the listings that lost values to another, with the fields."""
        refs = {ref for claim in self._contested for ref in self._holders[claim]}
        rows = [self._listings.peek(ref) for ref in sorted(refs)]
        return [(row, fields) for row in rows if (fields := self.lost(row))]

    def _taken(self, ref: str, written: ListingEdit | Profile) -> Iterator[tuple[str, ...]]:
        kind = kind_of(ref)
        for fields in kind.unique:
            holder = self.ref_of(kind.plural, fields, [getattr(written, name) for name in fields])
            if holder not in {None, ref}:
                yield fields

    def _look(self, ref: str) -> None:
        row = self._listings.peek(ref) if ref in self._listings else None
        for claim in self._claims.pop(ref, ()):
            self._hold(claim, [each for each in self._holders[claim] if each != ref])
        if row is None or row.state == "denied":
            return
        kind = kind_of(ref)
        claims = {
            _claim(kind.plural, fields, [getattr(profile, name) for name in fields])
            for fields in kind.unique
            for profile in (row.agreed, row.latest)
        }
        self._claims[ref] = (*claims,)
        for claim in claims:
            self._hold(claim, [*self._holders.get(claim, ()), ref])

    def _hold(self, claim: _Claim, refs: Sequence[str]) -> None:
        """Set the listings that claim some values."""
        if refs:
            self._holders[claim] = (*(sorted(refs, key=self._made) if len(refs) > 1 else refs),)
        else:
            self._holders.pop(claim, None)
        if len(refs) > 1:
            self._contested.add(claim)
        else:
            self._contested.discard(claim)

    def _made(self, ref: str) -> tuple[bool, int, str]:
        """Return the sort key of a claim. A listing that is gone comes last, until its event is read."""
        is_gone = ref not in self._listings
        return is_gone, 0 if is_gone else self._listings.brief(ref).created_ms, ref


def tell_loser(row: Listing, fields: Sequence[str], now_ms: int) -> list[ev.Event]:
    """Tell the owner of a listing that it lost the values of some fields, unless it was said since the last
    edit."""
    about, said = ", ".join(fields), {"values_lost", "submitted", "edited"}
    last = next((each for each in reversed(row.audit_log) if each.action in said), None)
    if last is not None and (last.action, last.about) == ("values_lost", about):
        return []
    return [ev.SlotsSet(row.ref, now_ms, action="values_lost", about=about, by=GATEWAY)]


def _claim(plural: str, fields: Sequence[str], values: Sequence[str]) -> _Claim:
    kind, pairs = BY_PLURAL[plural], zip(fields, values, strict=True)
    return "\n".join((plural, *fields, *(kind.folded(name, text) for name, text in pairs)))
