"""People as visitors of pages: users who have signed in, their sessions, and everybody else.

Invariants: a session counts once it is durable. A visitor who is signed in is a person, or also a moderator.

The browser holds the value of a session, and the state a keyed digest of it. A page knows no value.
"""

import contextlib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from actions.tools import Tools
from chatplatform.answers import PlatformUser, avatar_url
from core.actors import user_actor
from core.failures import Unavailable
from core.state import State
from core.user_rows import UserProfile, UserRow, user_ref
from handlers.visitor_limit import VisitorLimit
from kinds.registry import KINDS
from languages.language_names import OWN_NAMES, Language, accepted, language_of, named
from languages.refusals import Refusal
from languages.texts import Text
from listings.notice_counts import NoticeCounts
from pages.shared_texts import ERROR_TEXTS, FIELD_LABELS
from pages.tally_words import TALLY_WORDS
from people.choices import keep_address, unread_reminders
from people.user_sessions import Known, end_sessions, seen
from web.audiences import Audience
from web.brand import Brand
from web.cookies import Cookie, Notices, PeopleCookies, look_of
from web.other_sites import origin_of_site, page_headers
from web.pages import HtmlPage, Instead, Visit

HOME, SIGN_IN = "/", "/signin"
VALUE_BYTES, VALUE_CHARACTERS = 32, 43
"""The length of a session's value, and of its base64."""
FRESH_MS = 3_600_000
"""The age up to which a sign-in is fresh."""


class Counts(NamedTuple):
    """The numbers in the header of a person's pages.

    Args:
        reminders: the reminders that the user has not seen yet.
        notices: the notices that the user has not read.
        to_review: for moderators the listings that wait for a decision or are reported.
    """

    reminders: int = 0
    notices: int = 0
    to_review: int = 0


class Person(Struct, frozen=True):
    """A user with a session.

    Args:
        language: the language of the account at the platform, if it is one of ours.
        session_digest: the digest of the session.
        signed_in_ms: when the session began (Unix milliseconds).
        counts: looks up the numbers in the header, once. A post that leads to another page needs none.
    """

    id: str
    name: str
    avatar_url: str | None
    is_moderator: bool
    language: Language | None
    session_digest: str
    signed_in_ms: int
    counts: Callable[[], Counts] = Counts

    @property
    def reminders(self) -> int:
        return self.counts().reminders

    @property
    def to_review(self) -> int:
        return self.counts().to_review

    @property
    def news(self) -> int:
        """The number at the bell in the header: the notices that their page marks as new."""
        return self.counts().reminders + self.counts().notices


PersonVisit = Visit[Person]


class Addresses(NamedTuple):
    """The addresses of this gateway, of the sign-in of the chat platform, and of its pictures."""

    public_url: str
    authorize_url: str
    cdn_url: str
    invite_url: str = "https://discord.gg"
    template_url: str = "https://discord.new"


def signed_in(visit: PersonVisit) -> Person:
    """Return the person who is signed in. Raises Refusal; the row of a page refuses strangers before."""
    if visit.visitor is None:
        raise Refusal("sign_in_required")
    return visit.visitor


def ask_stale(visit: PersonVisit, now_ms: int, why: Text) -> None:
    """Raise Instead, with the page that asks for another sign-in, if the visitor's is not fresh."""
    if now_ms - signed_in(visit).signed_in_ms >= FRESH_MS:
        values = {"back": visit.path, "why": why}
        raise Instead(HtmlPage("people/sign_in_again.html", Text("Is it still you?"), values, 403))


class Face(NamedTuple):
    """A user as others see them: a name and a picture."""

    id: str
    name: str
    avatar_url: str


def faces_of(state: State, cdn_url: str, user_ids: Iterable[str]) -> Mapping[str, Face]:
    """Return the faces of the users who have signed in here.

    Args:
        cdn_url: the address of the chat platform's pictures.
    """
    return {
        user_id: Face(user_id, profile.shown_name, avatar_url(cdn_url, user_id, profile.avatar))
        for user_id, profile in _profiles(state, user_ids)
    }


def names_of(state: State, user_ids: Iterable[str]) -> Mapping[str, str]:
    """Return the names of the users who have signed in here."""
    return {user_id: profile.shown_name for user_id, profile in _profiles(state, user_ids)}


def _profiles(state: State, user_ids: Iterable[str]) -> Iterator[tuple[str, UserProfile]]:
    for user_id in user_ids:
        row = state.users.get(user_ref(user_id))
        if row is not None and row.profile is not None:
            yield user_id, row.profile


class People:
    """The users and sessions of a deployment.

    Args:
        cdn_url: the address of the chat platform's pictures.
    """

    def __init__(self, tools: Tools, counts: NoticeCounts, cdn_url: str) -> None:
        self._tools = tools
        self._counts = counts
        self._cdn_url = cdn_url

    def known(self, value: str | None) -> Person | None:
        """Return the person with the session of this value, and note now and then that it is used.

        None if there is no such session any more.
        """
        if value is None or len(value) != VALUE_CHARACTERS:
            return None
        tools, now_ms = self._tools, self._tools.clock.now_ms()
        known = tools.sessions.known(tools.digester.digest(value), now_ms)
        if known is None:
            return None
        with contextlib.suppress(Unavailable):  # a page that only shows something needs no disk
            tools.ledger.commit(seen(known, now_ms))
        return self._person(known, now_ms)

    async def sign_in(self, user: PlatformUser, label: str, ends: str | None) -> str:
        """Open a session and return its value, once that is durable.

        Raises Unavailable, and the refusals of the rules on users.

        Args:
            label: the name of the browser, which the user will recognise.
            ends: the value of the session that the browser had before, which ends.
        """
        tools = self._tools
        value = urlsafe_b64encode(tools.random(VALUE_BYTES)).rstrip(b"=").decode()
        profile = UserProfile(user.username, user.display_name, user.avatar, user.locale)
        ended = tools.digester.digest(ends) if ends is not None else None
        digest, now_ms = tools.digester.digest(value), tools.clock.now_ms()
        events = tools.sessions.sign_in(user.id, profile, digest, label, now_ms, ends=ended)
        if tools.keeps_email:
            row = tools.ledger.state.users.get(user_ref(user.id))
            events += keep_address(row, user.email, now_ms, by=user_actor(user.id))
        await tools.ledger.durable(tools.ledger.commit(events))
        return value

    async def sign_out(self, value: str | None) -> None:
        """End the session of this value, if there is one. Raises Unavailable."""
        ledger, digest = self._tools.ledger, self._tools.digester.digest(value) if value is not None else ""
        users = ledger.state.users
        ref = users.by_session.get(digest)
        if ref is None:
            return
        user_id, now_ms = users[ref].id, self._tools.clock.now_ms()
        events = end_sessions(ledger.state, user_id, [digest], now_ms, by=user_actor(user_id))
        await ledger.durable(ledger.commit(events))

    def _person(self, known: Known, now_ms: int) -> Person:
        row, profile = known.user, known.user.profile
        if profile is None:
            raise Refusal("no_such_user")
        return Person(
            row.id,
            profile.shown_name,
            avatar_url(self._cdn_url, row.id, profile.avatar),
            known.is_moderator,
            language_of(profile.locale or ""),
            known.session.digest,
            known.session.opened_ms,
            cache(partial(self._counted, row, now_ms, is_moderator=known.is_moderator)),
        )

    def _counted(self, row: UserRow, now_ms: int, *, is_moderator: bool) -> Counts:
        return Counts(
            unread_reminders(self._tools.ledger.state, self._tools.cooldown_ms, row, now_ms),
            self._counts.unread(row.id, row.read_ms, now_ms),
            self._to_review() if is_moderator else 0,
        )

    def _to_review(self) -> int:
        """Return the number of listings that wait or are reported. The index knows both."""
        ownership = self._tools.ownership
        return len(ownership.queue) + len(ownership.reported)


def people_audience(
    cookies: PeopleCookies,
    notices: Notices,
    known: Callable[[str | None], Person | None],
    acts: VisitorLimit,
    addresses: Addresses,
    brand: Brand,
    upload_bytes: int,
) -> Audience[Person]:
    """Return the audience.

    Args:
        known: returns the person with the session of a value.
        acts: the limit of all changes by a person.
    """
    public_url, authorize_url, cdn_url = addresses[:3]
    return Audience(
        cookie=cookies.session,
        known=known,
        actor=lambda person: user_actor(person.id),
        language=lambda person, headers: language_for(cookies.language, person, headers, brand.languages),
        rules={"signed in": lambda _: True, "moderator": lambda person: person.is_moderator},
        act=lambda person: acts.take(person.id),
        stranger="sign_in_required",
        origins=origin_of_site(public_url),
        notices=notices,
        sign_in=SIGN_IN,
        home=HOME,
        home_link=Text("Go to the start page"),
        is_closed=False,
        rest="/{rest*}",
        brand=brand,
        frame="people/frame.html",
        headers=page_headers((origin(cdn_url),), (origin(authorize_url),), ("Accept-Language",)),
        error_texts=ERROR_TEXTS,
        look=lambda headers: look_of(cookies.look, headers),
        values={
            "public_url": public_url,
            "site_languages": tuple((language, OWN_NAMES[language]) for language in brand.languages),
            "field_labels": FIELD_LABELS,
            "site_kinds": KINDS,
            "tally_words": TALLY_WORDS,
        },
        upload_bytes=upload_bytes,
    )


def origin(url: str) -> str:
    """Return the scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def language_for(
    cookie: Cookie, person: Person | None, headers: Mapping[str, str], offered: Sequence[Language]
) -> Language:
    """Return the language of a page: the one chosen here, else that of the account, else of the browser.

    A language that is not offered does not count. Without another, it is the first one that is.
    """
    for wanted in (named(cookie.value(headers)), person.language if person is not None else None):
        if wanted is not None and wanted in offered:
            return wanted
    return accepted(headers.get("Accept-Language", ""), offered) or offered[0]
