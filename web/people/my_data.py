"""What is known of a person: shown, handed out, forgotten. Law: it is what the operator's erasure forgets,
the quarantines in force, which that keeps, and the cooldowns of votes, which the operator's ends.

A search goes through all listings in slices, as the erasure does, so other requests are served meanwhile.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec.structs import asdict

from core.actors import user_actor
from core.clock import Clock
from core.due_reminders import due_reminders, ends_ms
from core.listing_table import ref_slices
from core.rows import UNSTAMPED, Listing, OwnerMessage, Policy
from core.state import State
from core.user_rows import ReminderMessage, UserRow, user_ref
from handlers.reply import Reply
from handlers.slices import in_slices
from languages.texts import Text
from listings.ownership import Ownership
from people.permissions import unnamed
from votes.queries import refs_that_know
from web.cookies import Cookie
from web.json_answers import JsonAnswers
from web.pages import Page, Shown
from web.people.listing_access import ask_stale
from web.people.people_audience import HOME, PersonVisit, done, signed_in
from web.people.questions import NOT_REFUSED, REFUSALS, FormRefusal, refused_by
from web.people.server_lists import ServerLists
from web.people.user_limit import UserLimit

DOWNLOADS = Policy(4, 3_600)
"""How often a person may download: each time takes up to a second of the processor, in slices."""
STALE = Text(
    "You signed in more than an hour ago. An erasure cannot be undone, so sign in again to confirm it. "
    "Nothing has changed yet."
)
WORD = "erase"
"""What one types to be forgotten, so that no slip of the hand does it."""


class MyData:
    def __init__(
        self,
        state: State,
        clock: Clock,
        pseudonym_of: Callable[[str, str], str],
        ownership: Ownership,
        answers: JsonAnswers,
        session: Cookie,
        lists: ServerLists,
        cooldown_ms: int,
    ) -> None:
        """`pseudonym_of` returns the pseudonym of a listing and a user, under which the cooldown of a vote is
        kept that is gone."""
        self._state = state
        self._clock = clock
        self._mark_of = pseudonym_of
        self._ownership = ownership
        self._answers = answers
        self._session = session
        self._lists = lists
        self._cooldown_ms = cooldown_ms
        self._limit = UserLimit(DOWNLOADS, clock)

    def show(self, visit: PersonVisit) -> Shown:
        return self._page(visit)

    async def download(self, visit: PersonVisit) -> Shown:
        """Hand out everything that is known of the person, as JSON."""
        user_id = signed_in(visit).id
        self._limit.take(user_id)
        await in_slices(self._ownership.survey())
        known = _Known(self._state, user_id, self._mark_of)
        await in_slices(known.slices())
        await in_slices(known.cooldown_slices(self._clock.now_ms()))
        body = msgspec.json.format(msgspec.json.encode(self._everything(user_id, known)), indent=2)
        headers = {"content-disposition": f'attachment; filename="votegate-{user_id}.json"'}
        return Reply(200, body, headers)

    async def erase(self, visit: PersonVisit) -> Shown:
        """Forget the person, who has signed in a moment ago: a stolen session is not enough for it."""
        typed = visit.form().text("word")
        if typed.lower() != WORD:
            return self._page(
                visit, FormRefusal({"word": Text("Type {word} to be forgotten.", word=WORD)}, 400), typed
            )
        ask_stale(visit, self._clock, STALE)
        try:
            await self._answers.reply("forgetUser", visit.request, signed_in(visit).id)
        except REFUSALS as error:
            return self._page(visit, refused_by(error), typed)
        self._lists.forget(signed_in(visit).id)
        return done(HOME, "erased", {"clear-site-data": '"cache", "storage"'}, (self._session.cleared(),))

    def _page(self, visit: PersonVisit, refused: FormRefusal = NOT_REFUSED, typed: str = "") -> Page:
        user_id = signed_in(visit).id
        refs = self._ownership.refs_of(user_id)
        owned = sum(self._state.listings.brief(ref).owners[0] == user_id for ref in refs)
        values = {
            "errors": refused.errors,
            "typed": typed,
            "word": WORD,
            "owned": owned,
            "shared": len(refs) - owned,
            "is_complete": self._ownership.is_complete,
        }
        return Page("people/my_data.html", Text("My data"), values, refused.status)

    def _everything(self, user_id: str, known: "_Known") -> dict[str, Any]:
        row = self._state.users.get(user_ref(user_id))
        return {
            "id": user_id,
            "at_ms": self._clock.now_ms(),
            "account": _account(row) if row is not None else {},
            "reminders": self._reminders(row) if row is not None else [],
            "listings": list(self._ownership.refs_of(user_id)),
            "invitations": list(self._ownership.asking(user_id)),
            "votes": known.votes,
            "cooldowns": known.cooldowns,
            "webhook_deliveries": known.deliveries,
            "direct_messages": known.messages,
            "flagged_votes": known.flags,
            "acts": known.acts,
            "keys_made": known.keys,
            "acts_on_users": known.quarantines,
        }

    def _reminders(self, row: UserRow) -> list[dict[str, Any]]:
        """Return the reminders, and which of them are notices now."""
        now_ms = self._clock.now_ms()
        due = {
            each.reminder.listing: each for each in due_reminders(self._state, row, self._cooldown_ms, now_ms)
        }
        return [
            {
                "listing": each.listing,
                "set_ms": each.set_ms,
                "ends_ms": ends_ms(self._state, row, each, self._cooldown_ms),
                "is_due": each.listing in due,
                "is_new": each.listing in due and due[each.listing].is_new,
                **({"direct_message": _attempted(each.message)} if each.message is not None else {}),
            }
            for each in row.reminders_on
        ]


class _Known:
    """What listings, other users' rows and cooldowns say of a user; complete when the iterators end."""

    def __init__(self, state: State, user_id: str, pseudonym_of: Callable[[str, str], str]) -> None:
        self.votes: list[dict[str, Any]] = []
        self.cooldowns: list[dict[str, Any]] = []
        self.deliveries: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self.flags: list[dict[str, Any]] = []
        self.acts: list[dict[str, Any]] = []
        self.keys: list[dict[str, Any]] = []
        self.quarantines: list[dict[str, Any]] = []
        self._state = state
        self._user = user_id
        self._actor = user_actor(user_id)
        self._mark_of = pseudonym_of

    def slices(self) -> Iterator[None]:
        for refs in refs_that_know(self._state, self._user):
            for ref in refs:
                self._look(ref)
            yield

    def cooldown_slices(self, now_ms: int) -> Iterator[None]:
        """Look for cooldowns whose votes are gone: a pseudonym names neither listing nor user, so this tries
        each listing."""
        cooldowns = self._state.cooldowns
        for refs in ref_slices(self._state.listings.refs) if cooldowns else ():
            ends = ((ref, cooldowns.get(self._mark_of(ref, self._user), 0)) for ref in refs)
            self.cooldowns += [{"listing": ref, "ends_ms": end_ms} for ref, end_ms in ends if end_ms > now_ms]
            yield

    def _look(self, ref: str) -> None:
        vote = self._state.votes.get(ref, int(self._user))
        if vote is not None:
            self.votes.append({"listing": ref, "votes": vote[0], "last_ms": vote[1]})
        self.deliveries += [
            {"listing": ref, "id": row.id, "queued_ms": row.queued_ms}
            for row in self._state.deliveries.of(ref)
            if row.user == self._user
        ]
        listing, user = self._state.listings.get(ref), self._state.users.get(ref)
        if listing is not None:
            self.acts += self._acts(listing)
            made = (key for key in listing.keys if self._actor in key.makers)
            self.keys += [{"listing": ref, "id": key.id, "name": key.name} for key in made]
            self.flags += [
                {"listing": ref, "at_ms": flag.at_ms, "rule": flag.rule}
                for flag in listing.flags
                if flag.by == self._actor
            ]
            if listing.message is not None and listing.message.to == self._actor:
                self.messages.append({"listing": ref, **_told(listing.message)})
        elif user is not None:
            self.quarantines += [
                {"user": user.id, "act": each.act, "reason": each.reason, "at_ms": each.since_ms}
                for each in user.quarantines
                if each.by == self._actor
            ]

    def _acts(self, row: Listing) -> Iterator[dict[str, Any]]:
        for act in row.audit_log:
            if act.by == self._actor:
                yield {"listing": row.ref, "at_ms": act.at_ms, "deed": act.action, "about": act.about}
        for note in row.notes:
            if note.by == self._actor:
                yield {"listing": row.ref, "at_ms": note.at_ms, "deed": "noted", "about": note.text}
        for deed, held in (("claimed", row.claim), ("proved", row.proof)):
            if held is not None and held.by == self._actor:
                yield {"listing": row.ref, "at_ms": held.at_ms, "deed": deed, "about": ""}
        if row.change is not None and row.change.by == self._actor:
            yield {"listing": row.ref, "at_ms": row.change.sent_ms, "deed": "changed", "about": ""}
        if row.taken is not None and row.taken.lost_by == self._actor:
            yield {"listing": row.ref, "at_ms": row.taken.at_ms, "deed": "lost", "about": ""}


def _attempted(message: ReminderMessage) -> dict[str, Any]:
    return {
        "ends_ms": message.ends_ms,
        "attempts": message.made,
        "delivered": message.next_attempt_ms is None and message.last.error is None,
    }


def _told(message: OwnerMessage) -> dict[str, Any]:
    return {
        "decision": message.decision,
        "decided_ms": message.decided_ms,
        "attempts": message.made,
        "delivered": message.delivered,
    }


def _account(row: UserRow) -> dict[str, Any]:
    """Return the account with every field, also those that a row leaves out because they have their defaults.

    Reminders stand by themselves. Digests of sessions are left out, and so are the sessions that are over:
    there are digests alone of them.
    """
    naming = {} if row.naming is None else {"naming": msgspec.to_builtins(row.naming)}
    sessions = [asdict(session) for session in row.sessions]
    for session in sessions:
        del session["digest"]
    return {
        "ref": row.ref,
        "first_ms": row.first_ms,
        "profile": asdict(row.profile) if row.profile is not None else None,
        "sessions": sessions,
        "role": row.role,
        "quarantines": [
            {**asdict(each), "by": unnamed(each.by), "stamp": each.stamp or UNSTAMPED}
            for each in row.quarantines
        ],
        "stamps": row.known_stamps,
        "read_ms": row.read_ms,
        **naming,
    }
