"""The first page of a listing: its state, the next step, and its latest numbers.

Here its owner also proves to control the bot: the public description of the application at the platform must
hold a code that only this deployment can make. The owner of a server has its conditions checked again.

Invariant: the page shows the check that is in the listing, and a check changes nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from actions.action import Access
from actions.history import ACTION_NAMES, ActView, act_views
from actions.listing_views import listing_view
from actions.views import Count, KindName, Moment, View
from core.clock import date_of, day_of, month_of, month_of_day
from core.rows import AuditAction, Listing, ServerCheck
from grammars.patterns import is_snowflake
from kinds.registry import kind_of
from languages.texts import Text
from listings import eligibility, template_checks
from listings.owners import is_proven, prove_ownership
from listings.review import review_of, waiting_since, waits
from listings.rules import listing_of
from pages.charts import Chart, chart_of
from pages.owner.next_steps import Gap, gaps_of, next_step, steps_of
from pages.owner.take_over import description_now
from pages.page import AnyPage, Page, PageCall, Post, Shown
from pages.public.lists import path_of
from pages.shared_texts import CONDITIONS, done
from pages.site_tools import Submissions
from pages.tally_words import TALLY_WORDS
from pages.visitors import faces_of
from people.permissions import Right
from search.catalogue import IndexKey
from search.list_orders import ListOrder

CHART_DAYS = 30
LATEST_DELIVERIES = 100
"""The number of finished deliveries that the overview counts."""
LATEST_ACTS = 6


class VotesNow(View):
    """The votes of a listing this month, beside others."""

    votes_this_month: Count
    votes_before: Annotated[Count, Meta(description="The votes of the same days of the month before.")]
    rank: Annotated[
        int | None,
        Meta(description="The place among all listings of its kind by the votes of the month, from 1."),
    ]
    listings: Annotated[int | None, Meta(description="The number of listings that everybody sees.")]


class ListingStanding(View):
    """The standing of a listing, for its owners."""

    kind: KindName
    listing: View
    place: Annotated[int | None, Meta(description="The place in the queue, from 1.")]
    waiting_since: Annotated[
        Moment | None,
        Meta(description="The time when the listing, or a change of it, began to wait for a decision."),
    ]
    usual_wait_ms: Annotated[
        Count | None, Meta(description="The median time of recent decisions; null while too few are known.")
    ]
    is_proven: bool
    votes: Annotated[VotesNow | None, Meta(description="Null before anybody could vote.")]
    missing: tuple[Gap, ...]
    may: Annotated[tuple[Right, ...], Meta(description="The rights of the visitor.")]
    history: Annotated[tuple[ActView, ...], Meta(description="The newest act first.")]
    success: bool = True


async def show(page: PageCall) -> Shown[ListingStanding]:
    row, asked, standing = page.row, page.site.submissions, await _standing(page)
    owners, decision = (row.owner_id, *row.extra_owners), review_of(row)
    is_unproven = "prove" in page.rights and "ownership" in standing.missing
    html: Mapping[str, Any] = {
        "is_withdrawn": decision is not None and decision.action == "withdrawn",
        "step": next_step(row, page.rights),
        "steps": steps_of(row),
        "owners": owners,
        "faces": faces_of(page.call.state, page.site.addresses.cdn_url, {*owners, *_named_in(standing)}),
        "act_names": _act_names(row),
        "latest_acts": LATEST_ACTS,
        "me": f"users/{page.person.id}",
        "conditions": CONDITIONS,
        "hides_ms": hides_ms(asked, row),
        "bot_link": bot_link(asked, row),
        "code": asked.code_of(row.ref, row.owner_id) if is_unproven else None,
        "public_url": page.site.addresses.public_url,
        "path_of_page": path_of(page, row),
        "days": _chart(page) if standing.votes is not None else None,
        "arrived": _arrived(page),
        "lost": await _lost(page),
        "members": _members(row),
    }
    return Shown(standing, html=html)


def _act_names(row: Listing) -> Mapping[AuditAction, Text]:
    tally = kind_of(row.ref).tally
    if tally is None:
        return ACTION_NAMES
    return {**ACTION_NAMES, "votes_struck": TALLY_WORDS[tally].removed}


async def _lost(page: PageCall) -> Sequence[Text]:
    """Return the labels of fields whose values another listing has: two nodes of a fleet took both."""
    row, unique, kind = page.row, page.call.tools.unique, kind_of(page.row.ref)
    if not kind.unique:
        return ()
    await page.call.tools.in_slices(unique.survey())
    return [kind.shown[name].label for name in unique.lost(row)]


async def prove(page: PageCall, _: None) -> None:
    """Ask the platform for the bot's description, and look for the code in it."""
    description = await description_now(page)
    call = page.call.rechecked()
    row = listing_of(call.state, call.ref)
    code = page.site.submissions.code_of(row.ref, row.owner_id)
    events = prove_ownership(row, description, code, call.now_ms, by=call.by)
    await call.commit(events, lambda: None)


async def check(page: PageCall, _: None) -> None:
    """Ask the chat platform, and keep what it says."""
    asked, row, questions = page.site.submissions, page.row, page.call.tools.templates
    if kind_of(row.ref).known_as != "template":
        now = await asked.checking.check(page.person.id, row.id)
        call = page.call.rechecked()
        events = eligibility.check(call.state, row.ref, now, call.now_ms, asked.grace_ms, by=call.by)
    else:
        asked.checking.limit.take(page.person.id)
        told = await questions.ask(row.id) if questions is not None else None
        call = page.call.rechecked()
        events = []
        if told is not None:
            events = template_checks.checked(
                call.state, row.ref, *told, call.now_ms, asked.grace_ms, by=call.by
            )
    await call.commit(events, lambda: None)


async def _standing(page: PageCall) -> ListingStanding:
    row, ownership = page.row, page.call.tools.ownership
    return ListingStanding(
        kind=kind_of(row.ref).plural,
        listing=listing_view(row),
        place=ownership.place(row.ref),
        waiting_since=waiting_since(row) if waits(row) else None,
        usual_wait_ms=ownership.usual_wait_ms,
        is_proven=is_proven(row),
        votes=_votes(page),
        missing=gaps_of(row),
        may=tuple(sorted(page.rights)),
        history=act_views(row, names_moderators=page.person.is_moderator),
    )


def _named_in(standing: ListingStanding) -> Iterator[str]:
    """Return the users that the history names."""
    for act in standing.history:
        yield from filter(is_snowflake, (act.by.removeprefix("users/"), act.about))


def _votes(page: PageCall) -> VotesNow | None:
    """Return the votes of a listing that people can vote for, or once could."""
    row, counts, now_ms = page.row, page.call.state.vote_counts, page.call.now_ms
    if not kind_of(row.ref).has("tally") or not (row.is_public or counts.total(row.ref)):
        return None
    votes, rank, listings = counts.in_month(row.ref, month_of(now_ms)), None, None
    if row.is_public:
        order = ListOrder(IndexKey(kind_of(row.ref).prefix), "month")
        rank, listings = page.site.public.keeper.rank(order, votes) or (None, None)
    return VotesNow(
        votes_this_month=votes,
        votes_before=month_before(counts.days(row.ref), day_of(now_ms)),
        rank=rank if votes else None,
        listings=listings,
    )


def month_before(days: Mapping[int, int], today: int) -> int:
    """Return the votes of the month before, up to the same day of the month."""
    month = month_of_day(today)
    day_of_month = next(number for number in range(31) if month_of_day(today - number - 1) != month)
    begin = next(day for day in range(today - day_of_month - 31, today) if month_of_day(day) == month - 1)
    end = min(begin + day_of_month, today - day_of_month - 1)
    return sum(days.get(day, 0) for day in range(begin, end + 1))


def _chart(page: PageCall) -> Chart:
    days, today = page.call.state.vote_counts.days(page.row.ref), day_of(page.call.now_ms)
    return chart_of((date_of(day), days.get(day, 0)) for day in range(today - CHART_DAYS + 1, today + 1))


class Arrived(NamedTuple):
    """The share of the latest finished deliveries of a webhook that arrived."""

    delivered: int
    finished: int

    @property
    def failed(self) -> int:
        return self.finished - self.delivered

    @property
    def percent(self) -> float:
        """Return the share, rounded down, so that 100 means all."""
        return 1_000 * self.delivered // self.finished / 10


def _arrived(page: PageCall) -> Arrived | None:
    """Return the share for the webhook; None without a webhook or a finished delivery."""
    if page.row.webhook is None:
        return None
    finished = page.call.state.deliveries.finished.get(page.row.ref, ())
    states = [each.state for each in finished[-LATEST_DELIVERIES:]]
    return Arrived(states.count("delivered"), len(states)) if states else None


def _members(row: Listing) -> ServerCheck | None:
    """Return the members of a server, from the last answer of the chat platform."""
    known = row.eligibility.checks if row.eligibility is not None else ()
    return next((each for each in known if each.name == "members" and each.have is not None), None)


def hides_ms(asked: Submissions, row: Listing) -> int | None:
    """Return when a listing that fails is hidden; None for one that passes, or is hidden already."""
    known = row.eligibility
    if known is None or known.failing_ms is None or known.hidden_ms is not None:
        return None
    return known.failing_ms + asked.grace_ms


def bot_link(asked: Submissions, row: Listing) -> str | None:
    """Return where the owner of a server adds the bot that sees what is unknown."""
    known = row.eligibility
    is_server = kind_of(row.ref).known_as == "server"
    is_unknown = is_server and known is not None and any(each.outcome == "unknown" for each in known.checks)
    return asked.checking.bot_link(row.id) if is_unknown else None


OVERVIEW_PAGES: tuple[AnyPage, ...] = (
    Page(path="/{kind}/{id}/manage", tab="overview", access=Access("see"), show=show),
    Page(
        path="/{kind}/{id}/manage/prove",
        known_as="application",
        tab="overview",
        show=show,
        has_get=False,
        posts=(Post(access=Access("prove"), run=prove, then=lambda page, _: done(page.here, "proven")),),
    ),
    Page(
        path="/{kind}/{id}/manage/check",
        of="checks",
        posts=(
            Post(
                access=Access("edit"),
                run=check,
                then=lambda page, _: done(f"{page.here}#conditions", "checked"),
            ),
        ),
    ),
)
