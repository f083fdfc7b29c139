"""Record the pages of one scene for each visitor, in each language, with their JSON, and refused forms."""

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch
from urllib.parse import quote

import requests

from core.clock import day_of
from core.events import KeyUsed
from languages.language_names import LANGUAGES
from tests.support.contract import deliveries
from tests.support.fake_clock import FakeClock
from tests.support.gateways import BOT, OTHER_BOT, SERVER, Client, eventually
from tests.support.made_listings import MADE_IDS, list_made
from tests.support.page_visitor import PageVisitor
from tests.support.people_filled import FRESH_BOT, QUIZ_BOT, READY_BOT, filled_site
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, WITHOUT_BOT
from tests.support.webhook_receiver import receiving
from tests.surface.answers import in_memory
from tests.surface.fixed_random import FixedRandom, fixed_random
from tests.surface.shown import headers_of

SETTINGS: dict[str, object] = {
    "keys.digest_secret": "recorded-digest-secret-of-the-tests-0123456789",
    "chat_platform.cache_seconds": 86_400,
}
VISITORS: Mapping[str, str | None] = {
    "stranger": None,
    "owner": ADA,
    "voter": BEN,
    "moderator": CLEO,
    "co-owner": DAN,
}
KINDS: Mapping[str, tuple[str, ...]] = {
    "bots": (BOT, OTHER_BOT, READY_BOT, QUIZ_BOT),
    "servers": (SERVER, WITHOUT_BOT),
    **{kind: (id,) for kind, id in MADE_IDS.items()},
}
OF_KIND = (
    *("", ".json", ".rss", "/new", "/suggestions.json?q=ju"),
    *("/ranking", "/ranking/2025-06", "/ranking/2025-06.json"),
)
LISTS = (
    *(
        "/",
        "/index.json",
        "/robots.txt",
        "/sitemap.xml",
        "/sitemap/pages.xml",
        "/unsubscribe?user=nobody",
        f"/users/{ADA}",
        f"/users/{ADA}.json",
        "/terms",
        "/privacy",
        "/signin",
        "/add",
        "/nowhere",
    ),
    *(
        "/signin?to=/me",
        "/bots?sort=name&category=Music",
        "/bots.json?sort=name&category=Music",
        "/bots?q=jukebox",
    ),
    *("/bots?sort=nothing", "/servers?q=library", "/bots?after=nothing"),
    *("/me", "/me/notices", "/me/sessions", "/me/data", "/me/data.json", "/me/votes", "/me/votes.json"),
    *(f"/bots/new?id={FRESH_BOT}", f"/bots/new?id={BOT}", "/servers/new?id=1"),
    *("/themes/colours/1a1033-ff7a59", f"/files/{'0' * 64}.png"),
    *(
        "/review",
        "/review.json",
        "/review?show=mine",
        "/review?show=decided",
        "/review/votes",
        "/review/votes.json",
    ),
)
OF_LISTING = (
    *(
        "",
        ".json",
        "/badge.svg",
        "/preview.png",
        "/commands",
        "/votes",
        "/votes.json",
        "/vote",
        "/report",
        "/vote.json",
        "/likes",
        "/likes.json",
        "/download",
        "/take-over",
        "/invitation",
        "/add-to-server",
        "/images/none",
    ),
    *("/reviews", "/reviews.json", *(f"/reviews/{BEN}/{page}" for page in ("answer", "report", "remove"))),
    *("/manage", "/manage.json", "/manage/profile", "/manage/owners", "/manage/danger", "/manage/leave"),
    *("/manage/votes", "/manage/votes.json", "/manage/votes.csv", "/manage/keys", "/manage/keys.json"),
    *("/manage/webhook", "/manage/webhook.json", "/manage/webhook/secret"),
    *("/manage/webhook/remove", "/manage/webhook/deliveries", "/manage/webhook/deliveries.json"),
)
OF_DEBUG = (
    *("/debug/sign-in", "/debug", "/debug/webhooks", "/debug/limiter", "/debug/journal", "/debug/data"),
    *("/debug/find", "/debug/find?q=bot", f"/debug/users/{ADA}", f"/debug/users/{BEN}", "/debug/nowhere"),
    *("/debug/data/snapshot", "/debug/data/verify", "/debug/data/backup"),
)
OF_DEBUG_LISTING = ("", "/approve", "/deny", "/withdraw", "/counts", "/limits", "/probe", "/resume")
DIGEST = re.compile(r"\b[0-9a-f]{32}\b")
"""Digests of bodies and of the state, which depend on ports."""
UNSTEADY = ("/debug", "/debug/data", "/debug/journal")
"""Pages about this process, with events whose order is chance. `/debug/errors` is left out: it depends
on the disk."""
LOOKS_UP = ("/take-over", "new?id=", "/servers/new")
"""Pages that ask the chat platform, which a user may do five times a minute."""


class Form(NamedTuple):
    """A form that is refused."""

    visitor: str
    path: str
    fields: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}


ELSEWHERE = {"Sec-Fetch-Site": "cross-site"}
WRONG: Mapping[str, str] = {
    **{"id": "no code", "name": "\u202e", "description": "short", "categories": "None", "tags": "a\na"},
    **{"handle": "admin", "links": "http://x.example", "primary": "red", "secondary": "#12345"},
    **{"pictures": "none", "sound": "0" * 64},
}
"""Wrong values for the fields of all kinds."""
FORMS = (
    Form("stranger", "/me/data", {"confirm": "yes"}, ELSEWHERE),
    Form("stranger", "/bots/new", {"name": "A bot that took long to describe", "description": "Long. " * 20}),
    Form("stranger", f"/bots/{BOT}/vote"),
    Form("stranger", "/preferences", {"language": "tlh", "look": "auto"}),
    Form("owner", "/me", {}),
    Form("owner", "/me/notices", {}, ELSEWHERE),
    Form("owner", "/me/data", {"confirm": "no"}),
    Form("owner", "/bots/new", {}),
    Form("owner", "/bots/new", {"id": "1", "name": "\u202e", "categories": "None", "description": "short"}),
    Form("owner", "/bots/new", {"id": BOT, "name": "Jukebox", "short_description": "x" * 151}),
    Form("owner", "/servers/new", {}),
    Form("owner", "/servers/new", {"id": SERVER, "name": "x" * 101, "keywords": "a\na", "category": "None"}),
    Form("owner", f"/bots/{BOT}/manage/profile", {}),
    Form("owner", f"/bots/{BOT}/manage/profile", {"name": "", "support_invite": "ftp://x", "unknown": "1"}),
    Form("owner", f"/bots/{BOT}/manage/owners", {"user": "1", "act": "invite"}),
    Form("owner", f"/bots/{BOT}/manage/danger", {"confirm": "no"}),
    Form("owner", f"/bots/{BOT}/manage/keys", {"name": ""}),
    Form("owner", f"/bots/{BOT}/manage/keys", {"name": "x" * 101}),
    Form("owner", f"/bots/{OTHER_BOT}/manage/keys", {"name": "early"}),
    Form("owner", f"/bots/{BOT}/manage/keys/none/rotate", {"overlap": "soon"}),
    Form("owner", f"/bots/{BOT}/manage/keys/none/delete"),
    Form("owner", f"/bots/{BOT}/manage/webhook", {"url": "ftp://x"}),
    Form("owner", f"/bots/{BOT}/manage/webhook", {"url": "https://bot.example:25", "token": "\x07"}),
    Form("owner", f"/bots/{BOT}/manage/webhook/secret", {"overlap": "never"}),
    Form("owner", f"/bots/{OTHER_BOT}/manage/webhook/test"),
    Form("owner", f"/bots/{BOT}/manage/webhook/resume"),
    Form("owner", f"/bots/{BOT}/manage/webhook/probe"),
    Form("owner", f"/bots/{BOT}/manage/webhook/deliveries/none"),
    Form("owner", f"/servers/{WITHOUT_BOT}/manage/profile", {"name": "", "keywords": "\n".join("abcdef")}),
    Form("owner", f"/review/bots/{READY_BOT}/approve"),
    Form("voter", f"/bots/{BOT}/vote"),
    Form("voter", f"/bots/{OTHER_BOT}/vote"),
    Form("voter", f"/bots/{QUIZ_BOT}/invitation", {"answer": "accept"}),
    Form("voter", "/me/reminders", {"listing": "bots/1", "remind": "on"}),
    Form("voter", f"/bots/{BOT}/manage/keys", {"name": "not mine"}),
    Form("voter", f"/bots/{BOT}/take-over"),
    Form("co-owner", f"/servers/{SERVER}/manage/profile", {}),
    Form("co-owner", f"/bots/{BOT}/manage/owners", {"user": ADA}),
    Form("moderator", f"/review/bots/{READY_BOT}/deny", {"reason": ""}),
    Form("moderator", f"/review/bots/{READY_BOT}/deny", {"reason": "x" * 1_001}),
    Form("moderator", f"/review/bots/{READY_BOT}/notes", {"text": ""}),
    Form("moderator", f"/review/bots/{BOT}/approve"),
    Form("moderator", f"/review/bots/{BOT}/refuse", {"reason": "late", "version": "0" * 16}),
    Form("moderator", f"/review/bots/{BOT}/withdraw", {"reason": ""}),
    Form("moderator", f"/review/bots/{BOT}/votes", {"reason": ""}),
    Form("moderator", f"/review/bots/{BOT}/quarantine", {"act": "vote", "reason": "", "days": "x"}),
    Form("moderator", "/review/bots/1/claim"),
    Form("operator", "/debug/sign-in", {"token": "wrong"}),
    Form("operator", f"/debug/listings/bots/{READY_BOT}/deny", {"reason": ""}),
    Form("operator", f"/debug/listings/bots/{BOT}/limits", {"stats": "-1"}),
    Form("operator", f"/debug/listings/bots/{BOT}/counts", {"server_count": "many"}),
    Form("operator", f"/debug/listings/bots/{BOT}/approve"),
    *(Form("owner", f"/{kind}/new", fields) for kind in MADE_IDS for fields in ({}, WRONG)),
    *(Form("owner", f"/{kind}/{id}/manage/profile", {**WRONG, "name": ""}) for kind, id in MADE_IDS.items()),
    *(Form("owner", f"/{kind}/{id}/manage/danger", {"confirm": "no"}) for kind, id in MADE_IDS.items()),
    *(Form("voter", f"/{kind}/{id}/report", {"reason": "none"}) for kind, id in MADE_IDS.items()),
    *(Form("moderator", f"/review/{kind}/{id}/withdraw", {"reason": ""}) for kind, id in MADE_IDS.items()),
)


def paths() -> list[str]:
    """Return the paths that people see or are refused."""
    return [
        *LISTS,
        *(f"/{kind}{page}" for kind in KINDS for page in OF_KIND),
        *(f"/sitemap/{kind}/1.xml" for kind in KINDS),
        *(f"/{kind}/{id}{page}" for kind, ids in KINDS.items() for id in ids for page in OF_LISTING),
        *(f"/review/{kind}/{id}{page}" for kind, ids in KINDS.items() for id in ids for page in _OF_REVIEW),
        *(f"/me/reminders/{kind}/{id}" for kind, ids in KINDS.items() for id in ids),
        *(f"/bots/{id}" for id in ("1", "0" * 18, "999999999999999999")),
    ]


_OF_REVIEW = ("", ".json", "/votes", "/votes.json")


def debug_paths() -> list[str]:
    listings = (f"/debug/listings/{kind}/{id}" for kind, ids in KINDS.items() for id in ids)
    return [*OF_DEBUG, *(one + page for one in listings for page in OF_DEBUG_LISTING)]


def record_pages(folder: Path) -> None:
    with scene() as shown:
        (folder / "openapi.json").write_text(shown.masked(shown.gateway.request("GET", "/openapi.json").text))
        for language in LANGUAGES:
            for visitor in VISITORS:
                shown.record(folder / "pages" / language / visitor, visitor, language)
            shown.record_forms(folder / "forms" / language, language)
        shown.record(folder / "pages" / "en" / "operator", "operator", "en")


class Scene:
    """A filled site, and a browser of each visitor."""

    def __init__(self, gateway: PeopleGateway, hosts: Mapping[str, str]) -> None:
        self.gateway = gateway
        self._hosts = {host.removeprefix("http://"): name for host, name in hosts.items()}
        self.browsers: dict[str, PageVisitor] = {
            name: gateway.person(user) for name, user in VISITORS.items()
        }
        self.browsers["operator"] = PageVisitor(gateway)
        assert self.browsers["operator"].sign_in().status_code == 303
        self._key = gateway.done("GET", f"/manage/bots/{BOT}/keys")["keys"][0]["id"]
        self._settle_key_uses()
        self._wait_for_icons()
        self._paths = [*paths(), *self._of_rows(f"/bots/{BOT}/manage", ("/rotate", "/delete"), ("",))]
        self._debug_paths = [
            *debug_paths(),
            *self._of_rows(f"/debug/listings/bots/{BOT}", (), ("/redeliver",)),
        ]

    def record(self, folder: Path, visitor: str, language: str) -> None:
        """Record what a visitor sees, but for JSON and errors in languages other than English."""
        folder.mkdir(parents=True)
        for path in self._debug_paths if visitor == "operator" else self._paths:
            response = self._seen(visitor, language, path)
            if language == "en" or (response.status_code < 300 and response.text.startswith("<")):
                text = self.masked(written(response))
                (folder / file_name(path)).write_text(steady(text) if path in UNSTEADY else text)

    def _seen(self, visitor: str, language: str, path: str) -> requests.Response:
        if any(part in path for part in LOOKS_UP):
            self.gateway.clock.advance(15)
        return self._in(visitor, language).get(path)

    def record_forms(self, folder: Path, language: str) -> None:
        folder.mkdir(parents=True)
        for number, form in enumerate(FORMS):
            self.gateway.clock.advance(15)
            response = self._in(form.visitor, language).post(form.path, dict(form.fields), **form.headers)
            text = self.masked(written(response))
            (folder / f"{number:02} {form.visitor} {file_name(form.path)}").write_text(text)

    def _settle_key_uses(self) -> None:
        """Commit the use of the key, which the gateway does after a minute of real time."""
        used, ledger = (
            KeyUsed(f"bots/{BOT}", self._key, day_of(FakeClock().now_ms())),
            self.gateway.gateway.ledger,
        )
        self.gateway.on_loop(lambda: ledger.commit([used]))

    def _wait_for_icons(self) -> None:
        """Let the gateway ask the chat platform for the icons: pages do without until they are there."""
        owner = self.browsers["owner"]
        for kind, ids in KINDS.items():
            for id in ids:
                owner.get(f"/{kind}/{id}")
        eventually(lambda: owner.get(f"/bots/{READY_BOT}.json").json()["icon_url"])

    def masked(self, text: str) -> str:
        """Return a text without the ports and the numbers of this run."""
        for host, name in self._hosts.items():
            text = text.replace(host, name).replace(quote(host), name)
        return DIGEST.sub("DIGEST", text)

    def _in(self, visitor: str, language: str) -> PageVisitor:
        browser = self.browsers[visitor]
        browser.keep("__Host-votegate-language", language)
        return browser

    def _of_rows(self, one: str, of_keys: Sequence[str], of_deliveries: Sequence[str]) -> Iterator[str]:
        """Yield the pages below `one` of the first key and of the newest deliveries."""
        yield from (f"{one}/keys/{self._key}{page}" for page in of_keys)
        below = f"{one}/deliveries" if one.startswith("/debug") else f"{one}/webhook/deliveries"
        for delivery in deliveries(self.gateway)[:3]:
            yield from (f"{below}/{delivery['id']}{page}" for page in of_deliveries)


@contextmanager
def scene() -> Iterator[Scene]:
    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as folder,
        receiving() as receiver,
        fixed_random() as source,
        patch.object(Client, "request", beginning(source)),
        filled_site(Path(folder) / "data", receiver, **SETTINGS) as gateway,
    ):
        list_made(gateway, ADA, is_approved=True)
        hosts = {
            gateway.base_url: "gateway.example",
            gateway.stand_in.url: "platform.example",
            receiver.url: "receiver.example",
        }
        yield Scene(gateway, hosts)


def beginning(source: FixedRandom) -> Callable[..., requests.Response]:
    """Return `Client.request` that begins new random bytes for each request."""
    send, seen = Client.request, Counter[str]()

    def request(client: Client, method: str, path: str, **options: Any) -> requests.Response:
        asked = f"{method} {path.partition('?')[0]}"  # a sign-in comes back with a code of the platform
        seen[asked] += 1
        source.begin(f"{asked} {seen[asked]}")
        return send(client, method, path, **options)

    return request


def steady(text: str) -> str:
    """Return a page without numbers, and without the rows of its tables."""
    return re.sub(r"\d[\d,.]*", "#", re.sub(r"(?s)<tbody>.*?</tbody>", "", text))


def written(response: requests.Response) -> str:
    return "\n".join((str(response.status_code), *headers_of(response.headers), "", response.text))


def file_name(path: str) -> str:
    """Return a path as the name of a file."""
    return path[1:].replace("/", ",") or "index"
