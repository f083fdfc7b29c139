"""Every text of people's pages is translated: a walk in a language that puts each text into brackets.

Text outside of brackets is data, or a text that nobody marked.
"""

import os
import re
from collections.abc import Iterator, Mapping
from gettext import NullTranslations
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from languages.language_names import Language
from pages.shared_texts import NOTICES
from settings.model import ReviewSettings
from storage.folder import DIGEST_SECRET
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT, SERVER, SERVER_SUBMISSION
from tests.support.listed_servers import listed
from tests.support.people_filled import FRESH_BOT, READY_BOT, SAMPLED, filled_site, known, pages
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.people_scene import NOTICE
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, GOOD_SERVER, OPEN_NSFW, SMALL
from tests.support.webhook_receiver import receiving
from web import templates
from web.cookies import Notices, people_cookies
from web.localization import Localization, localization
from web.templates import Drawing, drawing_with, load_drawing

BRACKETED: Language = "ja"
"""The language in whose place the brackets stand."""
SPOKEN_TO = ("title", "aria-label", "placeholder", "alt", "data-l", "data-copied", "data-selected")
"""The attributes that somebody reads."""
SPOKEN_OF = ("description", "og:title", "og:description")
OF_DATA = {"code", "pre", "script", "style", "textarea", "time", "kbd"}
VOID = {"br", "hr", "img", "input", "link", "meta"}


class Brackets(NullTranslations):
    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"


def bracketed(written: Any) -> Any:
    """A number or a time in brackets: its words come from its format."""
    return Markup("⟦{}⟧").format(written) if isinstance(written, Markup) else f"⟦{written}⟧"


def in_brackets() -> Drawing:
    english = localization("en")
    filters = {
        name: lambda *given, write=write: bracketed(write(*given)) for name, write in english.filters.items()
    }
    return drawing_with(Localization(BRACKETED, Brackets(), filters))


class Reader(HTMLParser):
    """Collects what somebody reads on a page."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._silent: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.texts += [given[name] or "" for name in SPOKEN_TO if name in given]
        if tag == "meta" and (given.get("name") or given.get("property")) in SPOKEN_OF:
            self.texts.append(given["content"] or "")
        classes = (given.get("class") or "").split()
        in_own_words = tag in OF_DATA or (tag != "html" and "lang" in given)
        in_own_words = in_own_words or given.get("aria-hidden") == "true"  # such as the letter of an icon
        if tag not in VOID and (
            self._silent or in_own_words or {"code", "letter", "written", "prose", "version"} & {*classes}
        ):
            self._silent.append(tag)

    def handle_endtag(self, _: str) -> None:
        if self._silent:
            self._silent.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append("" if self._silent else data)


def outside_of_brackets(text: str) -> str:
    before = None
    while before != text:
        before, text = text, re.sub(r"⟦[^⟦⟧]*⟧", " ", text)
    return text


def unmarked(page: str, data: list[str]) -> list[str]:
    """The words of a page that are neither in brackets nor data."""
    reader = Reader()
    reader.feed(page)
    text = outside_of_brackets("\n".join(reader.texts))
    for each in sorted(data, key=len, reverse=True):
        text = text.replace(each, " ")
    text = re.sub(r"https?://\S+|\b[0-9a-f]{8,}\b", " ", text)
    return re.findall(r"[^\W\d_]\w*(?: [^\W\d_]\w*)*", text)


DATA = [
    *("Votegate", "Jukebox", "Wallflower", "Ready bot", "Unknown", "It answers no command.", "production"),
    *("Quiz night", "The quiet library", "Books, and those who read them.", "books"),
    *("Ada's workshop", "A small circle", "The night market", "Without a second factor", "Emil's garden"),
    *(text for kind in SAMPLED for name in kind.fields for text in kind.texts(kind.sample, name) if text),
    *(kind.id.sample for kind in SAMPLED),
    *("GitHub", "github.com"),
    *("Level up chime", "Air horn in a stairwell", "Door knock", "Somebody is here.", "MP3", "OGG", "KiB"),
    *("Four bright notes for small victories.", "happy", "games"),
    *("Made yesterday", "after-dark", "JSON", "CSV", "play: Plays a song", "skip: Plays the next one"),
    *("Plays music in voice channels.", "Fresh bot", "dan", "Firefox", "Linux"),
    *("Ada, who owns bots", "Ben, who votes", "Cleo, who moderates"),
    *(str(value) for value in (*BOT_SUBMISSION.values(), *SERVER_SUBMISSION.values()) if value),
    *SERVER_SUBMISSION["keywords"],
    *(f"{name} was made to try this site with." for name in ("Ready bot", "Fresh bot")),
    *(reason.title for reason in ReviewSettings().reasons),
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    def load(language: Language | None) -> Drawing:
        return in_brackets() if language == BRACKETED else load_drawing(language)

    with pytest.MonkeyPatch.context() as patch, receiving() as receiver:
        patch.setattr(templates, "load_drawing", load)
        with filled_site(tmp_path_factory.mktemp("people") / "data", receiver) as gateway:
            yield gateway


def visitor(gateway: PeopleGateway, user: str | None) -> Person:
    gateway.clock.advance(300)  # sign-ins are counted by address
    person = gateway.person(user)
    person.keep("__Host-votegate-language", BRACKETED)
    return person


def check(page: str) -> None:
    assert "⟦" in page
    assert "Text(" not in page  # a text of ours that went into another one as it is
    assert unmarked(page, DATA) == []


@pytest.mark.parametrize(("user", "path"), pages())
def test_every_text_of_a_page_is_marked(gateway: PeopleGateway, user: str | None, path: str) -> None:
    check(visitor(gateway, user).page(known(gateway, path)))


BOTS, SERVERS = f"/bots/{BOT}/manage", f"/servers/{SERVER}/manage"
DESK = f"/review/bots/{READY_BOT}"
PROFILE = {"name": "", "short_description": "x", "description": "x", "support_invite": "x"}
FORMS: list[tuple[str, str, Mapping[str, Any], int]] = [
    (ADA, "/me/data", {"word": "no"}, 400),
    (ADA, "/bots/new", {"id": "1", **PROFILE}, 400),
    (ADA, "/bots/new", {"id": FRESH_BOT, "act": "preview", **PROFILE}, 200),
    (ADA, f"{BOTS}/profile", PROFILE, 400),
    (ADA, f"{BOTS}/profile", {"act": "preview", **PROFILE}, 200),
    (ADA, f"{BOTS}/profile", {**PROFILE, "version": "x"}, 409),
    (ADA, f"{BOTS}/keys", {"name": ""}, 400),
    (ADA, f"{BOTS}/keys", {"name": "production"}, 200),
    (ADA, f"{BOTS}/owners", {"act": "invite", "user": "x"}, 400),
    (ADA, f"{BOTS}/owners", {"act": "invite", "user": ADA}, 409),
    (ADA, f"{BOTS}/owners", {"act": "offer", "heir": "x"}, 400),
    (ADA, f"{BOTS}/danger", {"name": "production"}, 400),
    (ADA, f"{BOTS}/webhook", {"url": "x", "token": "x"}, 400),
    (ADA, f"{BOTS}/webhook", {"url": "http://a", "version": "x"}, 409),
    (ADA, f"{BOTS}/webhook/secret", {"overlap_seconds": "1"}, 200),
    (ADA, f"{BOTS}/webhook/secret", {"overlap_seconds": "x"}, 400),
    (ADA, f"{BOTS}/webhook/resume", {}, 409),
    (ADA, f"{BOTS}/webhook/deliveries", {"since": "x"}, 400),
    (ADA, f"/bots/{READY_BOT}/manage/prove", {}, 409),
    (DAN, f"{SERVERS}/profile", {"name": "", "keywords": "a\na", "category": "x"}, 400),
    (DAN, f"{SERVERS}/webhook", {"url": "http://a", "token": "é", "language": "x"}, 400),
    (CLEO, f"{DESK}/notes", {"note": ""}, 400),
    (CLEO, f"{DESK}/approve", {"seen": "1"}, 409),
    (CLEO, f"{DESK}/deny", {"seen": "1"}, 409),
    (CLEO, f"{DESK}/quarantine", {"act": "vote", "length": "x", "quarantine": "x"}, 400),
    (CLEO, f"{DESK}/quarantine", {"act": "vote", "length": "day", "quarantine": ""}, 400),
    (BEN, "/preferences", {"language": "x", "look": "auto"}, 400),
    (BEN, "/me", {}, 405),
]


@pytest.mark.parametrize(("user", "path", "fields", "status"), FORMS)
def test_every_answer_to_a_form_is_marked(
    gateway: PeopleGateway, user: str, path: str, fields: Mapping[str, Any], status: int
) -> None:
    answer = visitor(gateway, user).post(path, {**fields})
    assert answer.status_code == status, answer.text
    check(answer.text)


def test_what_an_act_says_afterwards_is_marked(gateway: PeopleGateway) -> None:
    ada, secret = visitor(gateway, ADA), Path(gateway.folder, DIGEST_SECRET).read_bytes().strip()
    notices = Notices(people_cookies(1, are_secure=True).notice, secret, gateway.clock, os.urandom)
    for notice in NOTICES.values():
        _, _, value = notices.given(notice, "/me").partition(";")[0].partition("=")
        ada.keep(NOTICE, value)
        check(ada.page("/me"))
        assert NOTICE not in ada.cookies, "it was said"


def test_what_is_asked_before_an_act_is_marked(gateway: PeopleGateway) -> None:
    ada = visitor(gateway, ADA)
    (key, *_) = gateway.done("GET", f"/manage/bots/{BOT}/keys")["keys"]
    for path in ("keys/{}/rotate", "keys/{}/delete", "webhook/secret", "webhook/remove", "webhook"):
        check(ada.page(f"{BOTS}/{path.format(key['id'])}"))
    check(ada.post(f"{BOTS}/keys/{key['id']}/delete", {"confirmation": "x"}).text)
    check(ada.post(f"{BOTS}/keys/{key['id']}/rotate", {"overlap_seconds": "3600"}).text)


def test_every_delivery_is_marked(gateway: PeopleGateway) -> None:
    ada = visitor(gateway, ADA)
    for delivery in gateway.done("GET", f"/manage/bots/{BOT}/webhook/deliveries")["deliveries"]:
        check(ada.page(f"{BOTS}/webhook/deliveries/{delivery['id']}"))
    for state in ("pending", "delivered", "failed"):
        check(ada.page(f"{BOTS}/webhook/deliveries?state={state}"))


def test_every_answer_about_a_server_is_marked(gateway: PeopleGateway) -> None:
    ada = visitor(gateway, None)
    assert ada.sign_in_as(ADA, "/servers/new").status_code == 303
    for path in (
        "/servers/new",
        *(f"/servers/new?id={server}" for server in (GOOD_SERVER, SMALL, OPEN_NSFW)),
    ):
        check(ada.page(path))
    for fields, status in (
        ({"id": GOOD_SERVER, "description": "x" * 257, "webhook_url": "x"}, 400),
        ({"id": SMALL, "name": "Jukebox", "category": "Other"}, 409),
        ({"id": "1", "name": "Jukebox"}, 409),
    ):
        answer = ada.post("/servers/new", fields)
        assert answer.status_code == status, answer.text
        check(answer.text)


def test_every_notice_about_a_server_is_marked(gateway: PeopleGateway) -> None:
    ada = visitor(gateway, ADA)
    manage = f"/servers/{GOOD_SERVER}/manage"
    listed(gateway, decision="approve")
    for changed, seconds in ((0, 0), (0, 8 * 86_400), (1, 1)):
        gateway.stand_in.change_server(GOOD_SERVER, mfa_level=changed)
        gateway.clock.advance(seconds)
        ada.acted(f"{manage}/check")
        for path in (manage, "/me", "/me/notices"):
            check(ada.page(path))
    gateway.done("DELETE", f"/manage/servers/{GOOD_SERVER}")


def test_every_listing_of_a_moderator_is_marked(gateway: PeopleGateway) -> None:
    cleo = visitor(gateway, CLEO)
    cleo.post(f"{DESK}/claim")
    cleo.post(f"{DESK}/quarantine", {"act": "vote", "length": "ever", "quarantine": "Unknown"})
    for path in (DESK, f"/review/bots/{BOT}", f"/review/bots/{OTHER_BOT}", f"/review/servers/{SERVER}"):
        check(cleo.page(path))
    cleo.post(f"{DESK}/lift", {"act": "vote"})
    cleo.post(f"{DESK}/release")


def test_every_sign_in_that_fails_is_marked(gateway: PeopleGateway) -> None:
    stranger = visitor(gateway, None)
    check(stranger.sign_in_as(ADA, decision="cancel").text)
    check(stranger.get("/signin/callback?code=1&state=2").text)


def test_what_comes_back_after_the_end_of_a_session_is_marked(gateway: PeopleGateway) -> None:
    answer = visitor(gateway, None).post(f"{DESK}/deny", {"words": "x", "reason": "", "note": "x"})
    assert answer.status_code == 401
    check(answer.text)


def test_an_old_sign_in_and_a_page_that_is_not_there_are_marked(gateway: PeopleGateway) -> None:
    ada = visitor(gateway, ADA)
    for path, status in ((f"{BOTS}x", 404), ("/review", 403), (f"/bots/{BOT}/manage/keys/x/rotate", 404)):
        answer = ada.get(path)
        assert answer.status_code == status
        check(answer.text)
    gateway.clock.advance(3_600)
    answer = ada.get(f"{BOTS}/danger")
    assert answer.status_code == 403
    check(answer.text)


def test_a_text_that_nobody_marked_is_found() -> None:
    page = '<p>⟦Saved by ⟦Ada⟧⟧</p><p title="Look">Ada saved it</p><code>curl</code><i lang="de">Nein</i>'
    assert unmarked(page, ["Ada"]) == ["Look", "saved it"]
