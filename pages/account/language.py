"""The choice of a language. Invariant: a cookie keeps it, so it needs no account, and stays at a sign-in."""

from urllib.parse import parse_qs, quote, urlsplit

from handlers.reply import Reply
from languages.language_names import named
from languages.refusals import Refusal
from pages.page import Page, PageCall, Post
from pages.visitors import HOME, SIGN_IN
from web.other_sites import way_back
from web.pages import see_other


def choose(page: PageCall, _: object) -> Reply:
    """Keep a choice, and lead back to its page. Raises Refusal."""
    form = page.visit.form()
    language = named(form.text("language"))
    if language is None:
        raise Refusal("unreadable_form")
    cookie = page.site.accounts.cookies.language.opened(language)
    return see_other(_back(form.text("to")), cookies=(cookie,))


def _back(to: str) -> str:
    """Return the page to which a choice leads back: a page of ours or the sign-in, but not its callback."""
    parts = urlsplit(to)
    if parts.path != SIGN_IN or parts.netloc:
        return way_back(to, HOME)
    wanted = way_back(parse_qs(parts.query).get("to", [HOME])[-1], HOME)
    return f"{SIGN_IN}?to={quote(wanted)}" if wanted != HOME else SIGN_IN


LANGUAGE = Page[None](
    path="/language", visitors="anyone", posts=(Post(run=choose, then=lambda _, chosen: chosen),)
)
