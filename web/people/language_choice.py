"""The choice of a language. Law: a cookie keeps it, so it needs no account, and stays at a sign-in."""

from urllib.parse import parse_qs, quote, urlsplit

from core.refusals import Refusal
from languages.language_names import named
from web.cookies import Cookie
from web.links import way_back
from web.pages import Shown, see_other
from web.people.people_audience import HOME, SIGN_IN, PersonVisit


class LanguageChoice:
    def __init__(self, cookie: Cookie) -> None:
        self._cookie = cookie

    def choose(self, visit: PersonVisit) -> Shown:
        """Keep a choice, and lead back to the page where it was made. Raises Refusal."""
        form = visit.form()
        language = named(form.text("language"))
        if language is None:
            raise Refusal("unreadable_form")
        return see_other(_back(form.text("to")), cookies=(self._cookie.opened(language),))


def _back(to: str) -> str:
    """Return the page to which a choice leads back. The sign-in, too, is one, but not its callback."""
    parts = urlsplit(to)
    if parts.path != SIGN_IN or parts.netloc:
        return way_back(to, HOME)
    wanted = way_back(parse_qs(parts.query).get("to", [HOME])[-1], HOME)
    return f"{SIGN_IN}?to={quote(wanted)}" if wanted != HOME else SIGN_IN
