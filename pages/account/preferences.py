"""The choices at the bottom of each page: a theme and a language.

Invariant: a cookie keeps each choice, so it needs no account, and a sign-in does not change it.
"""

from urllib.parse import parse_qs, quote, urlsplit

from handlers.reply import Reply
from languages.language_names import named
from languages.refusals import Refusal
from pages.page import Page, PageCall, Post
from pages.visitors import HOME, SIGN_IN
from web.cookies import look_kept
from web.other_sites import way_back
from web.pages import see_other


def choose(page: PageCall, _: object) -> Reply:
    """Keep the choices, and redirect back to the page. Raises Refusal."""
    form, cookies = page.visit.form(), page.site.accounts.cookies
    language, kept = named(form.text("language")), look_kept(cookies.look, form.text("look"))
    if language is None or language not in page.site.brand.languages:
        raise Refusal("unreadable_form")
    return see_other(_back(form.text("to")), cookies=(cookies.language.opened(language), kept))


def _back(to: str) -> str:
    """Return the page to go back to: a page of ours or the sign-in, but not the callback."""
    parts = urlsplit(to)
    if parts.path != SIGN_IN or parts.netloc:
        return way_back(to, HOME)
    wanted = way_back(parse_qs(parts.query).get("to", [HOME])[-1], HOME)
    return f"{SIGN_IN}?to={quote(wanted)}" if wanted != HOME else SIGN_IN


PREFERENCES = Page[None](
    path="/preferences", visitors="anyone", posts=(Post(run=choose, then=lambda _, chosen: chosen),)
)
