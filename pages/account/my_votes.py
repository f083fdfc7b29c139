"""A person's votes and reminders. Invariant: a page shows nothing of a listing that is not public.

/me/votes                   the person's votes: what is ready for another one, and what is so later
/me/naming                  shows the person's name among the top voters of a listing, or hides it
/me/reminders               turns a reminder on or off, for any page that shows one
/me/reminders/{kind}/{id}   one reminder, to which a message about it leads
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from actions.views import NEXT, Count, Success, View
from core import due_reminders
from core.user_rows import user_ref
from kinds.registry import KINDS, id_pattern, kind_of
from languages.refusals import Refusal
from languages.texts import Text
from pages.page import AnyPage, Page, PageCall, Post, Shown
from pages.public.lists import PublicCard, cards
from pages.shared_texts import done
from people.choices import clear_reminders, is_reminded, set_naming, set_reminder
from search.paging import ListPage
from votes.voted import VotedFor, VotedPage

VOTES, NOTICES, REMINDERS = "/me/votes", "/me/notices", "/me/reminders"
VOTED = 50
"""Listings on one page."""
_REF = rf"(?:{'|'.join(map(str, KINDS))})/{id_pattern('[0-9]{1,20}')}"
_CURSOR = re.compile(rf"([0-9]{{1,15}})\.({_REF})", re.ASCII)
_VOTE_PAGE = re.compile(rf"/{_REF}/vote", re.ASCII)


class MyVoteView(View):
    """The votes of a user for a listing."""

    listing: Annotated[str, Meta(description=f"Its path in this API, such as `{KINDS[0]}/<id>`.")]
    name: Annotated[str | None, Meta(description="Null for a listing that is not public.")]
    votes: Count
    last_at: Count | None
    next_at: Annotated[Count | None, Meta(description="The time when the user may vote again.")]
    reminder: bool


class MyVotesAnswer(Success):
    """A page of a user's votes: first the listings that the user can vote for now."""

    votes: tuple[MyVoteView, ...]
    is_named: Annotated[
        bool,
        Meta(description="True if owners, moderators and operators may see the name among top voters."),
    ]
    next: Annotated[str | None, Meta(description=NEXT)]


async def show(page: PageCall) -> Shown[MyVotesAnswer]:
    found, reminded = await _page(page)
    votes = tuple(_view(page, each, reminded) for each in found.rows)
    user = page.call.state.users.get(user_ref(page.person.id))
    is_named = user is not None and user.lets_name
    return Shown(
        MyVotesAnswer(votes=votes, next=found.next, is_named=is_named),
        Text("My votes"),
        {"groups": _groups(page, votes)},
    )


def _groups(
    page: PageCall, votes: Sequence[MyVoteView]
) -> Mapping[str, Sequence[tuple[MyVoteView, PublicCard | None]]]:
    """Return the votes with the cards of their listings; without one if the listing is not public."""
    public = {
        f"{each.kind}/{each.id}": each for each in cards(page, (vote.listing for vote in votes if vote.name))
    }
    groups: dict[str, list[tuple[MyVoteView, PublicCard | None]]] = {"ready": [], "later": [], "gone": []}
    for vote in votes:
        is_later = vote.next_at is not None and vote.next_at > page.call.now_ms
        name = ("later" if is_later else "ready") if vote.listing in public else "gone"
        groups[name].append((vote, public.get(vote.listing)))
    return groups


async def _page(page: PageCall) -> tuple[ListPage[VotedFor], frozenset[str]]:
    """Return a page of the person's votes, and the listings with a reminder."""
    state, user_id, in_slices = page.call.state, page.person.id, page.call.tools.in_slices
    refs = {ref for ref in await page.site.voting.refs_voted_for(user_id) if kind_of(ref).has("votes")}
    row = state.users.get(user_ref(user_id))
    kept = due_reminders.standing(state, row) if row is not None else ()
    reminded = frozenset(each.listing for each in kept)
    ready_ms, after = page.call.now_ms - page.call.tools.cooldown_ms, _after(page.visit.request.query)
    voted = VotedPage(state, user_id, refs, reminded, after, ready_ms=ready_ms, limit=VOTED)
    await in_slices(voted.slices())
    return voted.page, reminded


def _view(page: PageCall, vote: VotedFor, reminded: frozenset[str]) -> MyVoteView:
    row = page.call.state.listings.get(vote.ref)
    return MyVoteView(
        listing=vote.ref,
        name=row.profile.name if row is not None and row.is_public else None,
        votes=vote.votes,
        last_at=vote.last_ms if vote.votes else None,
        next_at=vote.last_ms + page.call.tools.cooldown_ms if vote.votes else None,
        reminder=vote.ref in reminded,
    )


async def name(page: PageCall, _: object) -> str:
    """Show the person's name among the top voters of a listing, or hide it; return the notice."""
    call, is_allowed = page.call, page.visit.form().text("name") == "on"
    events = set_naming(call.state, page.person.id, call.now_ms, is_allowed=is_allowed, by=call.by)
    return await call.commit(events, lambda: f"name-{'on' if is_allowed else 'off'}")


def show_reminder(page: PageCall) -> Shown[None]:
    """Show the reminder of a listing. Raises Refusal."""
    ref, state = page.call.ref, page.call.state
    row, is_on = state.listings.get(ref), is_reminded(state, page.person.id, ref)
    public = row if row is not None and row.is_public else None
    if public is None and not is_on:
        raise Refusal("no_such_listing")
    return Shown(None, Text("Reminder"), {"ref": ref, "row": public, "is_on": is_on})


async def remind(page: PageCall, _: object) -> str:
    """Turn the reminder of a listing on or off, and return the notice."""
    call, form, user_id = page.call, page.visit.form(), page.person.id
    listing, is_wanted = form.text("listing"), form.text("remind") == "on"
    turned = set_reminder if is_wanted else clear_reminders
    try:
        events = turned(call.state, user_id, listing, call.now_ms, by=call.by)
    except Refusal as refused:
        if refused.code != "too_many_reminders":
            raise
        return "reminders-full"
    return await call.commit(events, lambda: f"reminder-{'on' if is_wanted else 'off'}")


def _back(page: PageCall) -> str:
    """Return the page that sent the form. A form may name anything, even a listing that does not exist."""
    back = page.visit.form().text("to")
    return back if back in {VOTES, NOTICES} or _VOTE_PAGE.fullmatch(back) else VOTES


def _after(query: Mapping[str, str]) -> tuple[int, str] | None:
    """Return the cursor in a query; None, for the first page, if it is no cursor."""
    found = _CURSOR.fullmatch(query.get("after", ""))
    return (int(found[1]), found[2]) if found is not None else None


MY_VOTES: tuple[AnyPage, ...] = (
    Page(path=VOTES, template="my_votes", show=show),
    Page(path="/me/naming", posts=(Post(run=name, then=lambda _, notice: done(VOTES, notice)),)),
    Page(path=REMINDERS, posts=(Post(run=remind, then=lambda page, notice: done(_back(page), notice)),)),
    Page(
        path=f"{REMINDERS}/{{kind}}/{{id}}",
        of="votes",
        template="reminder",
        show=show_reminder,
        has_json=False,
    ),
)
