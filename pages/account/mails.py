"""The choice of e-mails, and the page that turns them off, which each mail links to.

/me/mail       keeps the topics, then leads to a sign-in, where the chat platform gives the address
/unsubscribe   turns mails off without a sign-in, for everybody who has the link of a mail

Invariant: a GET changes nothing, so a program that follows links turns nothing off. A mail program with a
button of its own posts to the same address (RFC 8058).
"""

from collections.abc import Callable
from urllib.parse import quote

from core.actors import user_actor
from core.user_rows import user_ref
from languages.texts import Text
from pages.account.sign_in import to_platform
from pages.page import Answer, AnyPage, Page, PageCall, Post, Shown
from pages.shared_texts import done
from pages.visitors import language_for
from people.choices import set_mail_topics
from web.cookies import ValueSeal
from web.pages import NO_INDEX

NOTICES, MAIL, UNSUBSCRIBE = "/me/notices", "/me/mail", "/unsubscribe"
UNSUBSCRIBE_SECONDS = 366 * 86_400
"""The time for which the link in a mail works."""


def unsubscribe_seal(secret: bytes, random: Callable[[int], bytes]) -> ValueSeal[str]:
    """Return the seal of the user id in a link that turns mails off."""
    return ValueSeal(str, secret, b"votegate unsubscribe link", UNSUBSCRIBE_SECONDS, random)


def unsubscribe_url(public_url: str, seal: ValueSeal[str], user_id: str, now_ms: int) -> str:
    return f"{public_url}{UNSUBSCRIBE}?user={quote(seal.sealed(user_id, now_ms))}"


async def choose(page: PageCall, _: object) -> Answer:
    """Keep the topics of the person. Ask the platform for the address if it is not known."""
    call, person, wanted = page.call, page.person, {*page.visit.form().texts("topic")}
    if not call.tools.keeps_email:
        wanted = set()
    if not person.is_moderator:
        wanted.discard("reports")
    headers = page.visit.request.headers
    offered = page.site.brand.languages
    language = language_for(page.site.accounts.cookies.language, person, headers, offered)
    events = set_mail_topics(call.state, person.id, wanted, language, call.now_ms, by=call.by)
    await call.commit(events, lambda: None)
    row = call.state.users.get(user_ref(person.id))
    choice = row.mail if row is not None else None
    if choice is None or not choice.topics:
        return done(NOTICES, "mail-off")
    if choice.address is None:
        return to_platform(page, NOTICES, asks_again=False)
    return done(NOTICES, "mail-on")


def ask(page: PageCall) -> Shown[None]:
    token = page.visit.request.query.get("user", "")
    is_known = _user_id(page) is not None
    values = {"token": token, "is_known": is_known, "is_over": False}
    title = Text("Turn e-mails off?") if is_known else Text("This link is too old")
    return Shown(None, title, values, headers=NO_INDEX, status=200 if is_known else 400)


async def unsubscribe(page: PageCall, _: object) -> Shown[None]:
    """Turn off all mails to the user of the link. No redirect, because mail programs do not follow one."""
    user_id, call = _user_id(page), page.call
    if user_id is None:
        return ask(page)
    if user_ref(user_id) in call.state.users:  # else the user was erased, and gets no mails
        events = set_mail_topics(call.state, user_id, (), None, call.now_ms, by=user_actor(user_id))
        await call.commit(events, lambda: None)
    values = {"token": "", "is_known": True, "is_over": True}
    return Shown(None, Text("E-mails are off"), values, headers=NO_INDEX)


def _user_id(page: PageCall) -> str | None:
    """Return the user of the link; None for a link that is too old or not ours."""
    token = page.visit.request.query.get("user")
    return page.site.accounts.unsubscribing.opened(token, page.call.now_ms)


MAIL_PAGES: tuple[AnyPage, ...] = (
    Page(path=MAIL, posts=(Post(run=choose, then=lambda _, answer: answer),)),
    Page(
        path=UNSUBSCRIBE,
        template="unsubscribe",
        visitors="anyone",
        has_json=False,
        show=ask,
        posts=(Post(run=unsubscribe, then=lambda _, shown: shown),),
    ),
)
