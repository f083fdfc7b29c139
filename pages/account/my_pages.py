"""A person's listings, notices and sessions.

/me            the listings of a person, the invitations, and the number of new notices
/me/notices    what happened to the listings, invitations, and due reminders; the form marks them as read
/me/sessions   the browsers that are signed in; the form ends them
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from actions.notices import NOTICES, found_for
from core.clock import month_of
from core.due_reminders import DueReminder, due_reminders
from core.events import UserSlotsSet
from core.listing_table import survey
from core.rows import Listing
from core.user_rows import MailChoice, MailTopic, UserRow, UserSession, user_ref
from kinds.registry import kind_of
from languages.texts import Text, Words
from listings.notices import OwnerNotice
from listings.owners import is_asked
from pages.account.browsers import label_in_words
from pages.owner.next_steps import NEXT_TEXTS, Next, next_step
from pages.page import AnyPage, Page, PageCall, Post, Shown
from pages.public.lists import icon_of
from people.permissions import rights
from people.user_sessions import end_sessions, session_id
from search.paging import page_of, rows_behind
from web.pages import see_other

NOTICES_PATH, SESSIONS_PATH = "/me/notices", "/me/sessions"
LISTINGS = 100
"""The listings on one page."""
MAIL_TOPICS: Sequence[tuple[MailTopic, Text]] = (
    ("decisions", Text("Decisions on my listings")),
    ("webhooks", Text("Failing webhooks of my listings")),
    ("reports", Text("New reports for moderators")),
)
"""The topics of mails, as the page of notices offers them."""
INVITATIONS = 20
"""The most invitations on the page. After one is answered, the page shows the next."""


class OwnListing(NamedTuple):
    """A listing as its owner's list shows it.

    Args:
        place: its place in the queue, from 1.
        next: the next step of the owner.
        votes: the votes of this month; None if nobody can vote for it.
    """

    row: Listing
    kind: str
    place: int | None
    next: Next | None
    icon_url: str | None
    votes: int | None


class OwnSession(NamedTuple):
    """A session as its user's list shows it. `is_this` is true for the browser that asks."""

    id: str
    session: UserSession
    browser: Words
    is_this: bool


class MyNotices(NamedTuple):
    """The newest notices of a person, of either kind, and how many are unread."""

    newest: list[OwnerNotice | DueReminder]
    unread: int


async def show_listings(page: PageCall) -> Shown[None]:
    state, ownership = page.call.state, page.call.tools.ownership
    behind = rows_behind(ownership.refs_of(page.person.id), page.visit.request.query.get("after", ""))
    shown = page_of(behind, LISTINGS, str)
    rows = [state.listings[ref] for ref in shown.rows]
    values = {
        "listings": [_own(page, row) for row in rows],
        "next_texts": NEXT_TEXTS,
        "next": shown.next,
        "unread": page.person.news,
        "is_complete": ownership.is_complete,
        **(await _invitations(page)),
    }
    return Shown(None, Text("My listings"), values)


def _own(page: PageCall, row: Listing) -> OwnListing:
    call, kind = page.call, kind_of(row.ref)
    is_voted = kind.has("tally") and row.is_public
    return OwnListing(
        row,
        kind.plural,
        call.tools.ownership.place(row.ref),
        next_step(row, rights(page.person.id, row, is_moderator=False)),
        icon_of(page, row, row.latest),
        call.state.vote_counts.in_month(row.ref, month_of(call.now_ms)) if is_voted else None,
    )


async def _invitations(page: PageCall) -> Mapping[str, Any]:
    """Return the listings that ask the person to become an owner, and how many more there are.

    Strangers make invitations, so there may be many: other requests are served meanwhile.
    """
    call, user_id, asking = page.call, page.person.id, list[Listing]()
    listings = call.state.listings

    def look(ref: str) -> None:
        if ref in listings and is_asked(row := listings.peek(ref), user_id, call.now_ms):
            asking.append(row)

    await call.tools.in_slices(survey([*call.tools.ownership.asking(user_id)], look))
    return {"invitations": asking[:INVITATIONS], "more_invitations": max(0, len(asking) - INVITATIONS)}


async def show_notices(page: PageCall) -> Shown[None]:
    found, row = await _notices(page), _user(page)
    values = {
        "notices": found.newest,
        "unread": found.unread,
        "mail": (row and row.mail) or MailChoice(0) if page.call.tools.keeps_email else None,
        "topics": [each for each in MAIL_TOPICS if each[0] != "reports" or page.person.is_moderator],
        "platform": urlsplit(page.site.addresses.authorize_url).hostname or "",
    }
    return Shown(None, Text("Notices"), values)


async def _notices(page: PageCall) -> MyNotices:
    call = page.call
    search = await found_for(call, page.person.id)
    row = _user(page)
    due = [*due_reminders(call.state, row, call.tools.cooldown_ms, call.now_ms)] if row is not None else []
    both: list[OwnerNotice | DueReminder] = [*search.newest, *due]
    both.sort(key=lambda each: each.at_ms, reverse=True)
    return MyNotices(both[:NOTICES], search.unread + sum(each.is_new for each in due))


async def note_as_read(page: PageCall, _: object) -> None:
    """Mark the notices that the page has shown as read. Later ones were not seen."""
    call, row, until_ms = page.call, _user(page), page.visit.form().number("until")
    if row is not None and isinstance(until_ms, int) and until_ms > row.read_ms:
        event = UserSlotsSet(row.ref, call.now_ms, read_ms=min(until_ms, call.now_ms), by=call.by)
        await call.commit([event], lambda: None)


def show_sessions(page: PageCall) -> Shown[None]:
    person, row, sessions = page.person, _user(page), page.call.tools.sessions
    shown = [
        OwnSession(session_id(each), each, label_in_words(each.label), each.digest == person.session_digest)
        for each in (sessions.open_of(row, page.call.now_ms) if row is not None else ())
    ]
    return Shown(None, Text("Devices"), {"sessions": shown})


async def end_session(page: PageCall, _: object) -> None:
    """End one session by its id, or all others."""
    call, person, row, wanted = page.call, page.person, _user(page), page.visit.form().text("session")
    others = [each for each in row.sessions if each.digest != person.session_digest] if row else []
    ended = [each.digest for each in others if wanted in {"others", session_id(each)}]
    if ended:
        events = end_sessions(call.state, person.id, ended, call.now_ms, by=call.by)
        await call.commit(events, lambda: None)


def _user(page: PageCall) -> UserRow | None:
    return page.call.state.users.get(user_ref(page.person.id))


MY_PAGES: tuple[AnyPage, ...] = (
    Page(path="/me", template="listings", has_json=False, show=show_listings),
    Page(path=NOTICES_PATH, template="notices", has_json=False, show=show_notices),
    Page(path=NOTICES_PATH, posts=(Post(run=note_as_read, then=lambda _, __: see_other(NOTICES_PATH)),)),
    Page(path=SESSIONS_PATH, template="sessions", has_json=False, show=show_sessions),
    Page(path=SESSIONS_PATH, posts=(Post(run=end_session, then=lambda _, __: see_other(SESSIONS_PATH)),)),
)
"""The forms are rows of their own, because these pages cannot show a refusal."""
