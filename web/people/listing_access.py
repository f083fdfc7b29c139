"""What a person may do with a listing. Law: who may not see it does not learn that it is there.

An act that could hand the listing over, or give a secret away, wants a sign-in that is fresh: a stolen
session is not enough for it.
"""

from dataclasses import dataclass
from typing import NamedTuple

from core.clock import Clock
from core.rows import Listing
from core.state import State
from kinds.kind import Kind
from languages.refusals import Refusal
from languages.texts import Text
from people.permissions import Right, rights
from web.pages import Instead, Page
from web.people.people_audience import PersonVisit, signed_in
from web.people.visitors import Person

FRESH_MS = 3_600_000
STALE = Text(
    "You signed in more than an hour ago. This could hand the listing over or give a secret away, so it "
    "takes a fresh sign-in. Nothing has changed yet."
)


def ask_stale(visit: PersonVisit, clock: Clock, why: Text) -> None:
    """Raise Instead, with the page that asks for another sign-in, if the visitor's is not fresh."""
    if clock.now_ms() - signed_in(visit).signed_in_ms >= FRESH_MS:
        values = {"back": visit.path, "why": why}
        raise Instead(Page("people/sign_in_again.html", Text("Is it still you?"), values, 403))


class Access(NamedTuple):
    """A listing, and what the person may do with it."""

    row: Listing
    person: Person
    rights: frozenset[Right]


@dataclass(frozen=True)
class ListingAccess:
    """Looks listings up for pages."""

    state: State
    clock: Clock

    def of(self, visit: PersonVisit, kind: Kind | str, right: Right) -> Access:
        """Return the listing of the page's first parameter.

        Args:
            kind: its kind, or the name of it in the path.

        Raises Refusal if there is none, if the person may not see it, or may not do that with it.
        """
        person = signed_in(visit)
        row = self.state.listings.get(f"{kind}/{visit.request.params[0]}")
        if row is None:
            raise Refusal("no_such_listing")
        allowed = rights(person.id, row, is_moderator=person.is_moderator)
        if right not in allowed:
            raise Refusal("not_permitted") if "see" in allowed else Refusal("no_such_listing")
        return Access(row, person, allowed)

    def fresh(self, visit: PersonVisit, kind: Kind | str, right: Right) -> Access:
        """Return the same, for an act that takes a fresh sign-in. Raises what `of` raises, and Instead."""
        access = self.of(visit, kind, right)
        ask_stale(visit, self.clock, STALE)
        return access
