"""Suspicious votes, and their removal. Invariant: a page says how many votes will go before they go.

A flag is shown with the rule that made it, and hides no vote. The form of a removal is posted twice. First
the votes are counted, and the page asks. Then they are removed.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from heapq import nlargest
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from actions.views import ActorName, Count, Moment, Success, View
from actions.votes import REMOVE_VOTES, StruckVotes, remove
from core.actors import Actor, user_of
from core.audit_log import FLAGS_KEPT
from core.rows import FlagRule, Listing, VoteFlag
from core.state import State
from languages.refusals import Invalid
from languages.said import Fault
from languages.texts import Text
from listings.forms import Strike
from pages.page import Again, Answer, Page, PageCall, Post, Shown
from pages.public.lists import icon_of
from pages.review.listing_review import SEES, refuse_own
from pages.review.queue import list_counts
from pages.shared_texts import done
from pages.tally_words import TALLY_WORDS, TallyWords
from pages.visitors import names_of
from search.paging import page_of
from web.form_posts import FormPost

ON_A_PAGE = 50
SLICE = 64
"""Listings that are looked at in one piece."""
RULES: dict[FlagRule, Text] = {
    "crowded_address": Text("Many accounts voted from the same address."),
    "burst": Text("Many voted for the listing at once."),
}
"""The rules in words."""
NOBODY = Text("Nothing matches this. Nothing is removed.")
NO_TIME = Text("Write a time such as 2026-01-31T18:00.")


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
        str | None, Meta(description="Send it as `before` to get the next page; null on the last page.")
    ]


class _Place(NamedTuple):
    """The place of a flag among all. Greater is newer."""

    at_ms: int
    ref: str
    id: str

    @property
    def cursor(self) -> str:
        return f"{self.at_ms}~{self.ref}~{self.id}"


class ListingVotes(Success):
    """The votes of a listing as moderators see them."""

    voters: Count
    votes: Count
    struck: Annotated[Count, Meta(description="The number of removed votes, over all time.")]
    flags: Annotated[tuple[FlagView, ...], Meta(description=f"The newest first, {FLAGS_KEPT} at most.")]


async def show_flags(page: PageCall) -> Shown[FlagList]:
    """Show the flagged votes of all listings. The table of listings knows which of them have flags."""
    state, found = page.call.state, list[tuple[_Place, VoteFlag]]()
    before = _before(page.visit.request.query.get("before"))
    await page.call.tools.in_slices(_slices(page, before, found))
    shown = page_of(found, ON_A_PAGE, lambda each: each[0].cursor)
    rows = [(state.listings.get(place.ref), flag) for place, flag in shown.rows]
    flags = tuple(flag_view(state, row, flag) for row, flag in rows if row is not None)
    value = FlagList(flags=flags, next=shown.next)
    html = {
        "rules": RULES,
        "most": FLAGS_KEPT,
        "me": page.call.by,
        "names": _names(page, flags),
        "counts": list_counts(page),
    }
    return Shown(value, Text("Flagged votes"), html)


def _names(page: PageCall, flags: Sequence[FlagView]) -> Mapping[str, str]:
    """Return the names of the voters."""
    users = (user_of(Actor(each.by)) for each in flags)
    return names_of(page.call.state, [user for user in users if user is not None])


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


def _slices(page: PageCall, before: _Place | None, found: list[tuple[_Place, VoteFlag]]) -> Iterator[None]:
    """Find the newest flags, and one more if there are more than a page shows."""
    flagged = page.call.state.listings.flagged
    refs = list(flagged)
    for start in range(0, len(refs), SLICE):
        some = [
            (place, flag)
            for ref in refs[start : start + SLICE]
            for flag in flagged.get(ref, ())
            if (place := _Place(flag.at_ms, ref, flag.id)) and (before is None or place < before)
        ]
        found[:] = nlargest(ON_A_PAGE + 1, [*found, *some], key=lambda each: each[0])
        yield


def _before(cursor: str | None) -> _Place | None:
    """Read the cursor of a page. Raises Invalid."""
    if cursor is None:
        return None
    at, _, rest = cursor.partition("~")
    ref, _, flag_id = rest.partition("~")
    if not (at.isascii() and at.isdigit() and len(at) <= 16 and ref):
        raise Invalid({"before": Fault("not_a_cursor")})
    return _Place(int(at), ref, flag_id)


def show(page: PageCall) -> Shown[ListingVotes]:
    """Show the votes of a listing, with the form of a removal."""
    row, state = page.row, page.call.state
    form = page.visit.form() if page.refused.error is not None else None
    value = ListingVotes(
        voters=state.votes.voters(row.ref),
        votes=state.votes.total(row.ref),
        struck=state.vote_counts.summed(row.ref).removed,
        flags=tuple(flag_view(state, row, flag) for flag in reversed(row.flags)),
    )
    html = {
        "row": row,
        "kind": page.call.listing_kind,
        "here": _here(page),
        "icon_url": icon_of(page, row, row.latest),
        "names": _names(page, value.flags),
        "me": page.call.by,
        "rules": RULES,
        "most": FLAGS_KEPT,
        "may_decide": "decide" in page.rights,
        "values": form or {},
        "ticked": frozenset(form.texts("users")) if form is not None else frozenset(),
    }
    return Shown(value, Text("{listing} - {tab}", listing=row.profile.name, tab=_words(page).many), html)


def _words(page: PageCall) -> TallyWords:
    return TALLY_WORDS[page.call.listing_kind.tally or "votes"]


def _here(page: PageCall) -> str:
    return f"/review/{page.call.ref}/votes"


def _guard(page: PageCall) -> None:
    """Raise Again for a listing of the moderator's own, and for a time that is none."""
    refuse_own(page)
    form = page.visit.form()
    wrong = {name: NO_TIME for name in ("since", "until") if form.text(name) and _time_ms(form, name) is None}
    if wrong:
        raise Again(errors=wrong, status=400)


def _read(_: PageCall, form: FormPost) -> Mapping[str, Any]:
    times = {name: _time_ms(form, name) for name in ("since", "until") if form.text(name)}
    return {"reason": form.text("reason"), "users": _ids(form), **times, "dry_run": not _is_sure(form)}


async def _run(page: PageCall, form: Strike) -> StruckVotes:
    found = await remove(page.call, form)
    if form.dry_run and not found.users:
        raise Again(errors={"": NOBODY}, status=400)
    return found


def _then(page: PageCall, found: StruckVotes) -> Answer:
    """Ask after the votes were counted, and lead back after they were removed."""
    form = page.visit.form()
    if _is_sure(form):
        return done(_here(page), "struck-some" if found.more else "struck")
    # The question sends the form again: few fields, however many users.
    kept = {"ids": " ".join(_ids(form)), **{name: form.text(name) for name in ("since", "until", "reason")}}
    kind = page.call.listing_kind
    html = {"row": page.row, "kind": kind, "here": _here(page), "found": found, "values": kept}
    return Shown(None, _words(page).sure, html, template="review_removal_question")


def _is_sure(form: FormPost) -> bool:
    return form.text("sure") == "yes"


def _ids(form: FormPost) -> list[str]:
    return [*dict.fromkeys([*form.texts("users"), *form.text("ids").replace(",", " ").split()])]


def _time_ms(form: FormPost, name: str) -> int | None:
    """Return the time of a field in UTC (Unix ms); None if it is none."""
    try:
        at = datetime.fromisoformat(form.text(name))
    except ValueError:
        return None
    return max(int((at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp() * 1_000), 0)


FLAGGED_VOTES = Page(path="/review/votes", template="review_votes", visitors="moderator", show=show_flags)
LISTING_VOTES = Page(
    path="/review/{kind}/{id}/votes",
    of="tally",
    template="review_removal",
    visitors="moderator",
    access=SEES,
    show=show,
    posts=(
        Post(
            action=REMOVE_VOTES,
            access=SEES,
            guard=_guard,
            reads=_read,
            run=_run,
            fields={"users": "ids"},
            then=_then,
        ),
    ),
    gives_back=True,
)
