"""The pages of a person: listings, notices, sessions. Law: they show one's own alone."""

from bisect import bisect_right
from typing import Any, NamedTuple

from actions.notices import NOTICES
from core.actors import user_actor
from core.clock import Clock
from core.due_reminders import DueReminder, due_reminders
from core.events import UserSlotsSet
from core.ledger import Ledger
from core.rows import Listing
from core.user_rows import UserSession, user_ref
from handlers.slices import in_slices
from kinds.registry import kind_of
from languages.texts import Text, Words
from listings.finding import survey
from listings.notices import NoticeSearch, OwnerNotice
from listings.owners import is_asked
from listings.ownership import Ownership
from people.user_sessions import Sessions, session_id
from web.pages import Page, Shown, see_other
from web.people.browsers import label_in_words
from web.people.people_audience import PersonVisit, signed_in
from web.people.people_in_state import PeopleInState

LISTINGS = 100
"""Those on one page."""
INVITATIONS = 20
"""The most invitations on the page. Strangers make them; after one is answered, the page shows the next."""


class OwnListing(NamedTuple):
    """A listing as its owner's list shows it. `place` is that in the queue, from 1."""

    row: Listing
    kind: str
    place: int | None


class OwnSession(NamedTuple):
    id: str
    session: UserSession
    browser: Words
    is_this: bool


class MyNotices(NamedTuple):
    """The newest notices of a person, of either kind, and how many are unread."""

    newest: list[OwnerNotice | DueReminder]
    unread: int


class MyPages:
    """The pages. `cooldown_ms` is how long after a vote a user may vote again."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        people: PeopleInState,
        sessions: Sessions,
        ownership: Ownership,
        cooldown_ms: int,
    ) -> None:
        self._ledger = ledger
        self._state = ledger.state
        self._clock = clock
        self._people = people
        self._sessions = sessions
        self._ownership = ownership
        self._cooldown_ms = cooldown_ms

    async def listings(self, visit: PersonVisit) -> Shown:
        refs = self._ownership.refs_of(signed_in(visit).id)
        first = bisect_right(refs, visit.request.query.get("after", ""))
        rows = [self._state.listings[ref] for ref in refs[first : first + LISTINGS]]
        shown = [OwnListing(row, kind_of(row.ref).plural, self._ownership.place(row.ref)) for row in rows]
        values = {
            "listings": shown,
            "next": rows[-1].ref if len(refs) > first + LISTINGS else None,
            "unread": (await self._notices(visit)).unread,
            "is_complete": self._ownership.is_complete,
            **(await self._invitations(signed_in(visit).id)),
        }
        return Page("people/listings.html", Text("My listings"), values)

    async def _invitations(self, user: str) -> dict[str, Any]:
        """Return the listings that ask the person to become an owner, and how many more there are. Strangers
        make them, so other requests are served meanwhile."""
        now_ms, listings, asking = self._clock.now_ms(), self._state.listings, list[Listing]()

        def look(ref: str) -> None:
            if ref in listings and is_asked(row := listings.peek(ref), user, now_ms):
                asking.append(row)

        await in_slices(survey([*self._ownership.asking(user)], look))
        return {"invitations": asking[:INVITATIONS], "more_invitations": max(0, len(asking) - INVITATIONS)}

    async def notices(self, visit: PersonVisit) -> Shown:
        found = await self._notices(visit)
        values = {"notices": found.newest, "unread": found.unread, "most": NOTICES}
        return Page("people/notices.html", Text("Notices"), values)

    async def notices_read(self, visit: PersonVisit) -> Shown:
        """Note what was shown as read. What came since then was not seen."""
        ref, until_ms = user_ref(signed_in(visit).id), visit.form().number("until")
        row = self._state.users.get(ref)
        if row is not None and isinstance(until_ms, int) and until_ms > row.read_ms:
            now_ms = self._clock.now_ms()
            event = UserSlotsSet(ref, now_ms, read_ms=min(until_ms, now_ms), by=user_actor(row.id))
            await self._ledger.durable(self._ledger.commit([event]))
        return see_other("/me/notices")

    def sessions(self, visit: PersonVisit) -> Shown:
        person = signed_in(visit)
        row = self._state.users.get(user_ref(person.id))
        open_ = self._sessions.open_of(row, self._clock.now_ms()) if row is not None else []
        shown = [
            OwnSession(
                session_id(each), each, label_in_words(each.label), each.digest == person.session_digest
            )
            for each in open_
        ]
        return Page("people/sessions.html", Text("Sessions"), {"sessions": shown})

    async def end_session(self, visit: PersonVisit) -> Shown:
        """End one session by its id, or all others."""
        person, wanted = signed_in(visit), visit.form().text("session")
        row = self._state.users.get(user_ref(person.id))
        others = [each for each in row.sessions if each.digest != person.session_digest] if row else []
        ended = [each.digest for each in others if wanted in {"others", session_id(each)}]
        if ended:
            await self._people.end(person.id, ended)
        return see_other("/me/sessions")

    async def _notices(self, visit: PersonVisit) -> MyNotices:
        user_id = signed_in(visit).id
        search = NoticeSearch(self._state, user_id, self._ownership.told_of(user_id), NOTICES)
        await in_slices(search.slices())
        row, now_ms = self._state.users.get(user_ref(user_id)), self._clock.now_ms()
        due = [*due_reminders(self._state, row, self._cooldown_ms, now_ms)] if row is not None else []
        both: list[OwnerNotice | DueReminder] = [*search.newest, *due]
        both.sort(key=lambda each: each.at_ms, reverse=True)
        return MyNotices(both[:NOTICES], search.unread + sum(each.is_new for each in due))
