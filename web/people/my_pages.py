"""The first page, and the pages of a person: listings, notices, sessions. Law: they show one's own alone."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from core.actors import user_actor
from core.clock import Clock
from core.events import NoticesRead
from core.ledger import Ledger
from core.rows import Act, Listing
from core.user_rows import UserSession, user_ref
from listings.ownership import Ownership
from people.user_sessions import Sessions
from web.pages import Page, Shown, see_other
from web.people.people_audience import PersonVisit
from web.people.people_in_state import PeopleInState

NOTICES = 50
ABOUT = "Owners list their bots and servers here, users vote for them, and every vote reaches its owner."
TOLD: Mapping[str, str] = {
    "approved": "is approved: users can vote for it",
    "denied": "is denied",
    "actual_count_set": "has a new actual server count",
    "limits_set": "has new rate limits",
    "suspension_lifted": "gets its webhooks again",
    "endpoint_probed": "had its webhook probed",
}
"""Deeds of others that an owner is told of."""


class OwnListing(NamedTuple):
    """A listing as its owner's list shows it. `place` is that in the queue, from 1."""

    row: Listing
    kind: str
    place: int | None


class OwnNotice(NamedTuple):
    row: Listing
    act: Act
    told: str
    is_new: bool


class OwnSession(NamedTuple):
    id: str
    session: UserSession
    is_this: bool


class MyPages:
    def __init__(
        self, ledger: Ledger, clock: Clock, people: PeopleInState, sessions: Sessions, ownership: Ownership
    ) -> None:
        self._ledger = ledger
        self._state = ledger.state
        self._clock = clock
        self._people = people
        self._sessions = sessions
        self._ownership = ownership

    def home(self, _: PersonVisit) -> Shown:
        return Page("people/home.html", "Bots and servers, voted for by their users", {"about": ABOUT})

    def listings(self, visit: PersonVisit) -> Shown:
        rows = [self._state.listings[ref] for ref in self._ownership.refs_of(_id(visit))]
        shown = [OwnListing(row, row.ref.partition("/")[0], self._ownership.place(row.ref)) for row in rows]
        unread = sum(notice.is_new for notice in self._notices(visit))
        return Page(
            "people/listings.html",
            "My listings",
            {"listings": shown, "unread": unread, "is_complete": self._ownership.is_complete},
        )

    def notices(self, visit: PersonVisit) -> Shown:
        shown = sorted(self._notices(visit), key=lambda notice: notice.act.at_ms, reverse=True)
        return Page("people/notices.html", "Notices", {"notices": shown[:NOTICES]})

    async def notices_read(self, visit: PersonVisit) -> Shown:
        event = NoticesRead(user_ref(_id(visit)), self._clock.now_ms())
        await self._ledger.durable(self._ledger.commit([event]))
        return see_other("/me/notices")

    def sessions(self, visit: PersonVisit) -> Shown:
        person, row = visit.visitor, self._state.users.get(user_ref(_id(visit)))
        open_ = self._sessions.open_of(row, self._clock.now_ms()) if row is not None else []
        this = person.session_digest if person is not None else ""
        shown = [OwnSession(each.digest[:16], each, each.digest == this) for each in open_]
        return Page("people/sessions.html", "Sessions", {"sessions": shown})

    async def end_session(self, visit: PersonVisit) -> Shown:
        """End one session by its id, or all others."""
        person, wanted = visit.visitor, visit.form().text("session")
        row = self._state.users.get(user_ref(_id(visit)))
        this = person.session_digest if person is not None else ""
        others = [each.digest for each in row.sessions if each.digest != this] if row is not None else []
        ended = others if wanted == "others" else [each for each in others if each.startswith(wanted or "-")]
        if ended:
            await self._people.end(_id(visit), ended)
        return see_other("/me/sessions")

    def _notices(self, visit: PersonVisit) -> Iterator[OwnNotice]:
        """Yield what others have done with one's listings, as far as their trails remember it."""
        user_id = _id(visit)
        account = self._state.users.get(user_ref(user_id))
        read_ms = account.read_ms if account is not None else 0
        for ref in self._ownership.refs_of(user_id):
            row = self._state.listings[ref]
            for act in row.trail:
                if act.deed in TOLD and act.by != user_actor(user_id):
                    yield OwnNotice(row, act, TOLD[act.deed], act.at_ms > read_ms)


def _id(visit: PersonVisit) -> str:
    """Return the id of who is signed in; a row of pages lets nobody else in."""
    return visit.visitor.id if visit.visitor is not None else ""
