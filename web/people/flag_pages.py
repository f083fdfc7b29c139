"""The flagged votes, for moderators. Law: a flag is shown with the rule that made it, and hides no vote.

The table of listings knows which of them have flags, so no page walks through all listings.
"""

from collections.abc import Iterator
from heapq import nlargest
from typing import Annotated, NamedTuple

from msgspec import Meta

from actions.views import ActorName, Moment, Success, View
from core.actors import user_of
from core.audit_log import FLAGS_KEPT
from core.refusals import Invalid
from core.rows import FlagRule, Listing, VoteFlag
from core.state import State
from handlers.reply import Reply, success
from handlers.slices import in_slices
from languages.said import Fault
from languages.texts import Text
from web.pages import Page, Shown
from web.people.people_audience import PersonVisit

ON_A_PAGE = 50
SLICE = 64
"""Listings that are looked at in one piece."""
RULES: dict[FlagRule, Text] = {
    "crowded_address": Text("Many accounts voted from its address."),
    "burst": Text("Many voted for the listing at once."),
}
"""The rules in words."""


class FlagView(View):
    """A flagged vote. `votes` is how often its voter has voted for the listing by now."""

    ref: str
    name: str
    id: str
    at: Moment
    by: ActorName
    rule: FlagRule
    votes: int


class FlagList(Success):
    """Flagged votes, the newest first. Of each listing only the newest are kept."""

    flags: tuple[FlagView, ...]
    next: Annotated[
        str | None, Meta(description="Give it as `before` to get the next page; null on the last.")
    ]


class _Place(NamedTuple):
    """The place of a flag among all. Greater is newer."""

    at_ms: int
    ref: str
    id: str

    @property
    def cursor(self) -> str:
        return f"{self.at_ms}~{self.ref}~{self.id}"


class FlagPages:
    def __init__(self, state: State) -> None:
        self._state = state

    async def show(self, visit: PersonVisit) -> Shown:
        shown = await self._list(visit)
        values = {
            "flags": shown.flags,
            "next": shown.next,
            "rules": RULES,
            "most": FLAGS_KEPT,
            "me": visit.request.by,
        }
        return Page("people/review_votes.html", Text("Flagged votes"), values)

    async def twin(self, visit: PersonVisit) -> Reply:
        return success(await self._list(visit))

    async def _list(self, visit: PersonVisit) -> FlagList:
        search = _Search(self._state, _before(visit.request.query.get("before")))
        await in_slices(search.slices())
        views = [view for place, flag in search.found[:ON_A_PAGE] if (view := self._view(place, flag))]
        more = len(search.found) > ON_A_PAGE
        return FlagList(flags=tuple(views), next=search.found[ON_A_PAGE - 1][0].cursor if more else None)

    def _view(self, place: _Place, flag: VoteFlag) -> FlagView | None:
        """Return a flag as it is shown; None if its listing has gone meanwhile."""
        row = self._state.listings.get(place.ref)
        return flag_view(self._state, row, flag) if row is not None else None


def flag_view(state: State, row: Listing, flag: VoteFlag) -> FlagView:
    user = user_of(flag.by)
    vote = state.votes.get(row.ref, int(user)) if user is not None else None
    return FlagView(
        ref=row.ref,
        name=row.profile.name,
        id=flag.id,
        at=flag.at_ms,
        by=flag.by,
        rule=flag.rule,
        votes=vote[0] if vote is not None else 0,
    )


class _Search:
    """The newest flags, and one more if there are more than a page holds; complete when the iterator ends."""

    def __init__(self, state: State, before: _Place | None) -> None:
        self.found: list[tuple[_Place, VoteFlag]] = []
        self._flagged = state.listings.flagged
        self._before = before

    def slices(self) -> Iterator[None]:
        refs = list(self._flagged)
        for start in range(0, len(refs), SLICE):
            some = [each for ref in refs[start : start + SLICE] for each in self._of(ref)]
            self.found = nlargest(ON_A_PAGE + 1, [*self.found, *some], key=lambda each: each[0])
            yield

    def _of(self, ref: str) -> Iterator[tuple[_Place, VoteFlag]]:
        for flag in self._flagged.get(ref, ()):
            place = _Place(flag.at_ms, ref, flag.id)
            if self._before is None or place < self._before:
                yield place, flag


def _before(cursor: str | None) -> _Place | None:
    """Read the cursor of a page. Raises Invalid."""
    if cursor is None:
        return None
    at, _, rest = cursor.partition("~")
    ref, _, flag_id = rest.partition("~")
    if not (at.isascii() and at.isdigit() and len(at) <= 16 and ref):
        raise Invalid({"before": Fault("not_a_cursor")})
    return _Place(int(at), ref, flag_id)
