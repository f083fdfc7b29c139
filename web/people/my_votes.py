"""A person's votes and reminders. Law: they show one's own alone, and say nothing of a listing that is not
public.

    /me/votes       what one voted for, the newest first, and when one may again
    /me/naming      shows one's name among the top voters of a listing, or not any more
    /me/reminders   turns a reminder on or off, for any page that shows one; behind it, the page of one
                    reminder, to which a message about it leads
"""

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, NamedTuple

from msgspec import Meta

from actions.views import NEXT, Count, Success, View
from core import due_reminders
from core.clock import Clock
from core.ledger import Ledger
from core.refusals import Refusal
from core.rows import Listing
from core.state import State
from core.user_rows import UserRow, user_ref
from handlers.reply import success
from handlers.slices import in_slices
from languages.texts import Text
from people.naming import set_naming
from people.reminders import clear_reminders, is_reminded, set_reminder
from votes.voted import VotedFor, VotedListings, VotedPage
from web.pages import Page, PageRow, Shown
from web.people.people_audience import PersonVisit, done, signed_in

VOTES, NOTICES, REMINDERS = "/me/votes", "/me/notices", "/me/reminders"
VOTED = 50
"""Listings on one page."""
_REF = r"(?:bots|servers)/[0-9]{1,20}"
_CURSOR = re.compile(rf"([0-9]{{1,15}})\.({_REF})", re.ASCII)
_VOTE_PAGE = re.compile(rf"/{_REF}/vote", re.ASCII)


class MyVote(NamedTuple):
    """A listing with one's votes. `row` is None for one that is not public. `next_ms` is None without a
    vote."""

    ref: str
    row: Listing | None
    votes: int
    last_ms: int | None
    next_ms: int | None
    is_reminded: bool


class MyVoteView(View):
    """The votes of a user for a listing."""

    listing: Annotated[str, Meta(description="Its path in this API, such as `bots/<id>`.")]
    name: Annotated[str | None, Meta(description="Null for a listing that is not public.")]
    votes: Count
    last_at: Count | None
    next_at: Annotated[Count | None, Meta(description="When the user may vote again.")]
    reminder: bool


class MyVotesAnswer(Success):
    """A page of a user's votes, the newest first."""

    votes: tuple[MyVoteView, ...]
    is_named: Annotated[
        bool,
        Meta(description="True if owners, moderators and operators may see the name among top voters."),
    ]
    next: Annotated[str | None, Meta(description=NEXT)]


class MyVotes:
    """The pages.

    Args:
        voted: remembers what users have voted for.
        cooldown_ms: how long after a vote a user may vote again.
    """

    def __init__(self, ledger: Ledger, clock: Clock, voted: VotedListings, cooldown_ms: int) -> None:
        self._ledger = ledger
        self._state = ledger.state
        self._clock = clock
        self._voted = voted
        self._cooldown_ms = cooldown_ms
        self._turn = asyncio.Lock()
        """One search through all listings at a time, whoever asks."""

    async def show(self, visit: PersonVisit) -> Shown:
        rows, following = await self._page(visit)
        values = {"votes": rows, "next": following, "is_named": self._is_named(visit)}
        return Page("people/my_votes.html", Text("My votes"), values)

    async def twin(self, visit: PersonVisit) -> Shown:
        rows, following = await self._page(visit)
        return success(
            MyVotesAnswer(votes=tuple(map(_view, rows)), next=following, is_named=self._is_named(visit))
        )

    async def name(self, visit: PersonVisit) -> Shown:
        """Show the person's name among the top voters of a listing, or not any more."""
        person, is_allowed = signed_in(visit), visit.form().text("name") == "on"
        events = set_naming(self._state, person.id, is_allowed, self._clock.now_ms(), by=visit.request.by)
        await self._ledger.durable(self._ledger.commit(events))
        return done(VOTES, f"name-{'on' if is_allowed else 'off'}")

    def _is_named(self, visit: PersonVisit) -> bool:
        row = self._state.users.get(user_ref(signed_in(visit).id))
        return row is not None and row.lets_name

    def reminder(self, visit: PersonVisit) -> Shown:
        """Ask what to do with the reminder of a listing. Raises Refusal."""
        ref = "/".join(visit.request.params)
        row, is_on = self._state.listings.get(ref), is_reminded(self._state, signed_in(visit).id, ref)
        public = row if row is not None and row.is_public else None
        if public is None and not is_on:
            raise Refusal("no_such_listing")
        return Page("people/reminder.html", Text("Reminder"), {"ref": ref, "row": public, "is_on": is_on})

    async def remind(self, visit: PersonVisit) -> Shown:
        """Turn the reminder of a listing on or off, and lead back to the page that asked."""
        person, form = signed_in(visit), visit.form()
        listing, is_wanted = form.text("listing"), form.text("remind") == "on"
        now_ms, by = self._clock.now_ms(), visit.request.by
        back = form.text("to")
        if back not in {VOTES, NOTICES} and not _VOTE_PAGE.fullmatch(back):
            back = VOTES  # a form may say anything, also of a listing that is not there
        try:
            events = (
                set_reminder(self._state, person.id, listing, now_ms, by=by)
                if is_wanted
                else clear_reminders(self._state, person.id, listing, now_ms, by=by)
            )
        except Refusal as refused:
            if refused.code != "too_many_reminders":
                raise
            return done(back, "reminders-full")
        await self._ledger.durable(self._ledger.commit(events))
        return done(back, f"reminder-{'on' if is_wanted else 'off'}")

    async def _page(self, visit: PersonVisit) -> tuple[list[MyVote], str | None]:
        user_id = signed_in(visit).id
        refs = await self._refs(user_id)
        row = self._state.users.get(user_ref(user_id))
        kept = due_reminders.standing(self._state, row) if row is not None else ()
        reminded = frozenset(each.listing for each in kept)
        after = _after(visit.request.query)
        page = VotedPage(self._state, user_id, refs, reminded, after, VOTED)
        await in_slices(page.slices())
        last = page.next
        following = f"{last.last_ms}.{last.ref}" if last is not None else None
        return [self._shown(each, reminded) for each in page.rows], following

    async def _refs(self, user_id: str) -> set[str]:
        """Return the listings that the user may have voted for."""
        known = self._voted.known(user_id)
        if known is not None:
            return known
        async with self._turn:
            known = self._voted.known(user_id)  # somebody else of this user may have searched meanwhile
            if known is not None:
                return known
            with self._voted.search(user_id) as search:
                await in_slices(search.slices())
            return search.refs

    def _shown(self, vote: VotedFor, reminded: frozenset[str]) -> MyVote:
        row = self._state.listings.get(vote.ref)
        return MyVote(
            ref=vote.ref,
            row=row if row is not None and row.is_public else None,
            votes=vote.votes,
            last_ms=vote.last_ms if vote.votes else None,
            next_ms=vote.last_ms + self._cooldown_ms if vote.votes else None,
            is_reminded=vote.ref in reminded,
        )


def unread_reminders(state: State, cooldown_ms: int, row: UserRow, now_ms: int) -> int:
    """Return how many reminders a user has not seen yet: a look-up for each, so every page may ask."""
    found = due_reminders.due_reminders(state, row, cooldown_ms, now_ms)
    return sum(each.is_new for each in found)


def _after(query: Mapping[str, str]) -> tuple[int, str] | None:
    """Return the cursor in a query. One that is none begins with the first page."""
    found = _CURSOR.fullmatch(query.get("after", ""))
    return (int(found[1]), found[2]) if found is not None else None


def _view(vote: MyVote) -> MyVoteView:
    return MyVoteView(
        listing=vote.ref,
        name=vote.row.profile.name if vote.row is not None else None,
        votes=vote.votes,
        last_at=vote.last_ms,
        next_at=vote.next_ms,
        reminder=vote.is_reminded,
    )


MY_VOTES = (
    PageRow("GET", VOTES, lambda to: to.my_votes.show, "signed in"),
    PageRow("GET", f"{VOTES}.json", lambda to: to.my_votes.twin, "signed in"),
    PageRow("POST", "/me/naming", lambda to: to.my_votes.name, "signed in"),
    PageRow("POST", REMINDERS, lambda to: to.my_votes.remind, "signed in"),
    PageRow("GET", f"{REMINDERS}/{{kind}}/{{id}}", lambda to: to.my_votes.reminder, "signed in"),
)
