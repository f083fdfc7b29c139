"""The first page, and the pages of a person: listings, notices, sessions. Law: they show one's own alone."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from core.actors import user_actor
from core.clock import Clock
from core.events import NoticesRead
from core.ledger import Ledger
from core.rows import Act, Deed, Listing
from core.user_rows import UserSession, user_ref
from handlers.manage_listings import kind_of_ref
from handlers.slices import in_slices
from listings.finding import SLICE
from listings.ownership import Ownership
from people.user_sessions import Sessions, session_id
from web.pages import Page, Shown, see_other
from web.people.browsers import label_in_words
from web.people.people_audience import PersonVisit, signed_in
from web.people.people_in_state import PeopleInState
from web.texts import Text, Words

NOTICES = 50
LISTINGS = 100
"""Those on one page."""
ABOUT = Text(
    "Owners list their bots and servers here, users vote for them, and every vote reaches its owner."
)
TOLD: frozenset[Deed] = frozenset(
    {
        *("approved", "denied", "handed_over", "actual_count_set", "limits_set"),
        *("suspension_lifted", "endpoint_probed"),
    }
)
"""Deeds of others that an owner is told of. Of a hand-over its former owner is told, too: somebody else may
have made it with a session of theirs."""


class OwnListing(NamedTuple):
    """A listing as its owner's list shows it. `place` is that in the queue, from 1."""

    row: Listing
    kind: str
    place: int | None


class OwnNotice(NamedTuple):
    row: Listing
    act: Act
    is_given: bool
    is_new: bool


class OwnSession(NamedTuple):
    id: str
    session: UserSession
    browser: Words
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
        return Page("people/home.html", Text("Bots and servers, voted for by their users"), {"about": ABOUT})

    async def listings(self, visit: PersonVisit) -> Shown:
        refs = self._ownership.refs_of(signed_in(visit).id)
        first = bisect_right(refs, visit.request.query.get("after", ""))
        rows = [self._state.listings[ref] for ref in refs[first : first + LISTINGS]]
        shown = [OwnListing(row, kind_of_ref(row.ref), self._ownership.place(row.ref)) for row in rows]
        values = {
            "listings": shown,
            "next": rows[-1].ref if len(refs) > first + LISTINGS else None,
            "unread": sum(notice.is_new for notice in await self._notices(visit)),
            "is_complete": self._ownership.is_complete,
        }
        return Page("people/listings.html", Text("My listings"), values)

    async def notices(self, visit: PersonVisit) -> Shown:
        shown = sorted(await self._notices(visit), key=lambda notice: notice.act.at_ms, reverse=True)
        return Page("people/notices.html", Text("Notices"), {"notices": shown[:NOTICES]})

    async def notices_read(self, visit: PersonVisit) -> Shown:
        event = NoticesRead(user_ref(signed_in(visit).id), self._clock.now_ms())
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

    async def _notices(self, visit: PersonVisit) -> list[OwnNotice]:
        found: list[OwnNotice] = []
        await in_slices(self._told(signed_in(visit).id, found))
        return found

    def _told(self, user_id: str, found: list[OwnNotice]) -> Iterator[None]:
        """Collect in slices what others have done with one's listings, as far as their trails remember it."""
        account = self._state.users.get(user_ref(user_id))
        read_ms = account.read_ms if account is not None else 0
        refs = [*self._ownership.refs_of(user_id)]
        for start in range(0, len(refs), SLICE):
            for ref in refs[start : start + SLICE]:
                if ref in self._state.listings:
                    row = self._state.listings.peek(ref)
                    acts = [act for act in row.trail if is_told(act, user_id)]
                    found += [
                        OwnNotice(row, act, _is_given(row, act, user_id), act.at_ms > read_ms) for act in acts
                    ]
            yield


def is_told(act: Act, user_id: str) -> bool:
    """Tell whether an owner is told of an act: of those of others, and of every hand-over."""
    return act.deed in TOLD and (act.by != user_actor(user_id) or act.deed == "handed_over")


def _is_given(row: Listing, act: Act, user_id: str) -> bool:
    """Tell whether an act made the listing the user's: the last hand-over was to the present owner."""
    last = next((each for each in reversed(row.trail) if each.deed == "handed_over"), None)
    return act is last and row.owner_id == user_id
