"""The page about one listing under review. Law: whatever a form of it comes to, the same page shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.clock import MS_PER_DAY, Clock
from core.refusals import Refusal
from core.state import State
from core.user_rows import QuarantinedAct
from kinds.kind import Kind
from kinds.registry import BY_PLURAL, kind_of
from languages.texts import Text, Words
from listings.review import PresetReason
from listings.rules import change_version
from people.permissions import Right
from web.json_answers import JsonAnswers
from web.markdown import Markdown
from web.pages import Page
from web.people.listing_access import Access, ListingAccess
from web.people.listing_forms import CATEGORIES, LABELS
from web.people.overview_pages import DEEDS
from web.people.people_audience import PersonVisit
from web.people.review_views import ReviewViews
from web.people.server_checking import CONDITIONS

Errors = Mapping[str, Words]
OWN = Text("This listing is yours. Another moderator decides about it.")
ACTS: Mapping[QuarantinedAct, Text] = {
    "submit": Text("Submit listings"),
    "vote": Text("Vote"),
    "sign_in": Text("Sign in"),
}


class Length(NamedTuple):
    """How long a quarantine lasts. `ms` is None for one without an end."""

    words: Text
    ms: int | None


LENGTHS: Mapping[str, Length] = {
    "day": Length(Text("1 day"), MS_PER_DAY),
    "week": Length(Text("7 days"), 7 * MS_PER_DAY),
    "month": Length(Text("30 days"), 30 * MS_PER_DAY),
    "ever": Length(Text("Without end"), None),
}


@dataclass(frozen=True)
class ReviewDesk:
    """What the pages of a review look at and ask."""

    state: State
    clock: Clock
    access: ListingAccess
    views: ReviewViews
    answers: JsonAnswers
    markdown: Markdown
    reasons: Sequence[PresetReason]

    def listing(self, visit: PersonVisit, right: Right = "review") -> Access:
        """Return the listing of an address with a kind and an id. Raises as ListingAccess does."""
        kind, its_id = visit.request.params
        if kind not in BY_PLURAL:
            raise Refusal("no_such_listing")
        inner = visit._replace(request=visit.request._replace(params=(its_id,)))
        return self.access.of(inner, kind, right)

    def reasons_for(self, kind: Kind) -> Sequence[PresetReason]:
        """Return the reasons for which a listing of a kind may be denied."""
        return [each for each in self.reasons if each.kind in {kind.plural, "both"}]

    async def page(
        self,
        visit: PersonVisit,
        access: Access,
        values: Mapping[str, str] | None = None,
        errors: Errors | None = None,
        status: int = 200,
    ) -> Page:
        """Return the page about a listing.

        Args:
            values: what a form that was refused held.
            errors: why it was refused, by its fields.
        """
        now_ms, kind = self.clock.now_ms(), kind_of(access.row.ref)
        platform = await self.views.platform(kind, access.row.id)
        # The row is read again, because others went on while the platform was asked.
        row = self.state.listings.get(access.row.ref)
        if row is None:
            raise Refusal("no_such_listing")
        description = await self.markdown.html(kind_of(row.ref).prose(row.latest))
        shown: dict[str, Any] = {
            "shown": self.views.review(row, platform, now_ms),
            "row": row,
            "its_kind": kind_of(row.ref),
            "latest": row.latest,
            "version": change_version(row),
            "here": f"/review/{row.ref}",
            "me": visit.request.by,
            "categories": CATEGORIES,
            "acts": ACTS,
            "lengths": LENGTHS,
            "may_decide": "decide" in access.rights,
            "description": description,
            "labels": LABELS,
            "deeds": DEEDS,
            "reasons": self.reasons_for(kind),
            "conditions": CONDITIONS,
            "values": values or {},
            "errors": errors or {},
        }
        return Page("people/review.html", Text("{listing} - review", listing=row.latest.name), shown, status)
