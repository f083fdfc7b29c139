"""A site with something on every page for people, and browsers that are signed in."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from playwright.sync_api import Browser

from core.clock import MS_PER_DAY, day_of, month_name, month_of
from core.events import Event, ListingReviewed, ListingSaved, StatsUpdated, VoteCast, VoteFlagged
from core.rows import StatsWindow
from forms.file_fields import FileRef
from kinds.bots import BOTS
from kinds.emojis import EMOJIS
from kinds.registry import KINDS
from kinds.sound_clips import SOUNDS, SoundProfile
from pages.table import PEOPLE_PAGES
from tests.support.browser import Visitor, visiting
from tests.support.co_owners import let_join
from tests.support.contract import set_webhook, uploaded, webhook
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT, SERVER, SERVER_SUBMISSION, eventually
from tests.support.listed_servers import listed
from tests.support.media_files import picture, sound
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, BOT_TOKEN, CLEO, DAN, EMIL, WITHOUT_BOT
from tests.support.webhook_receiver import Receiver, status
from web.pages import PageRow

QUIZ_BOT = "600000000000000001"
READY_BOT, FRESH_BOT = "400000000000000001", "400000000000000005"
"""Bots that the stand-in knows: one in review, and one that nobody has submitted."""
SOUND, LOUD_SOUND, NEW_SOUND = "5c9a51e07f24", "a1b2c3d4e5f6", "0badc0ffee00"
"""Sounds of Ada's: the last one is in review."""
NOT_DRAWN = re.compile(
    r"\.(json|csv|xml|rss|txt|png|svg)$|/(random|ranking|download|callback|{part}|{pair}|{name})$"
    r"|^/(terms|privacy|unsubscribe)$"
)
"""Paths of files and redirects, and of pages that this site has not: without the texts of its operator, or
without the link of a mail."""
IDS = {kind.plural: kind.id.sample for kind in KINDS} | {"bots": BOT, "servers": SERVER, "sounds": SOUND}
"""A listing of each kind."""
SAMPLED = [kind for kind in KINDS if kind.plural not in {"bots", "servers", "sounds"}]
"""The kinds of which Ada has a sample."""
PAST_DAYS = 75
DESCRIPTION = """Jukebox plays music in voice channels, from any source you like.

## Commands

| command | what it does |
| --- | --- |
| `/play` | plays a song |
| `/skip` | plays the next one |

* **Free**, and without limits.
* Made by [its users](https://jukebox.example).
"""


@contextmanager
def filled_site(folder: Path, receiver: Receiver, **own: object) -> Iterator[PeopleGateway]:
    """Ada owns a bot that people vote for, one that was denied, and one in review. Dan owns the first with
    her, and a server. Ada has a server in review, of which not all can be seen."""
    settings: dict[str, object] = {"webhooks.retries": 0, "chat_platform.bot_token": BOT_TOKEN, **own}
    with serving(folder, **settings) as gateway:
        remind_ben(gateway)
        jukebox = {
            **BOT_SUBMISSION,
            "name": "Jukebox",
            "owner_id": ADA,
            "short_description": "Plays music in voice channels.",
            "description": DESCRIPTION,
            "categories": ["Music"],
            "commands": ["/play: Plays a song", "/skip: Plays the next one"],
        }
        banner = uploaded(gateway, BOTS, "banner", picture(size=(1_500, 500)), ADA).digest
        shots = [
            uploaded(gateway, BOTS, "screenshots", picture(size=size), ADA).digest
            for size in ((800, 450), (400, 700), (640, 480))
        ]
        gateway.done("POST", "/manage/bots", {**jukebox, "banner": banner, "screenshots": shots})
        let_join(gateway, BOT, DAN)
        gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
        gateway.done("PUT", f"/manage/bots/{BOT}/actual-server-count", {"server_count": 1_200})
        key = gateway.done("POST", f"/manage/bots/{BOT}/keys", {"name": "production"})["key"]
        live_through(gateway, PAST_DAYS)
        gateway.stats(key, {"server_count": 1_210, "commands_count": 42})
        set_webhook(gateway, f"{receiver.url}/votes", token="token-of-the-owner")
        gateway.person(BEN).acted("/me/reminders", {"listing": f"bots/{BOT}", "remind": "on"})
        gateway.person(BEN).acted("/me/naming", {"name": "on"})
        for user in (BEN, CLEO):
            gateway.cast(user)
            eventually(lambda: webhook(gateway)["pending"] == 0)
            receiver.default = status(500)
        receiver.default = status(204)
        review_jukebox(gateway)
        shy = {**BOT_SUBMISSION, "id": OTHER_BOT, "name": "Wallflower", "owner_id": ADA}
        gateway.done("POST", "/manage/bots", shy)
        gateway.clock.advance(3_600)
        gateway.done("POST", f"/manage/bots/{OTHER_BOT}/deny", {"reason": "It answers no command."})
        flag_votes(gateway)
        report = {"user": BEN, "reason": "does_not_work", "text": "It answers no command."}
        gateway.done("POST", f"/manage/bots/{QUIZ_BOT}/reports", report)
        ready = {**BOT_SUBMISSION, "id": READY_BOT, "name": "Ready bot", "owner_id": ADA}
        gateway.done("POST", "/manage/bots", ready)
        gateway.done("PUT", f"/manage/bots/{READY_BOT}/extra-owners/{BEN}", {})
        gateway.done("PUT", f"/manage/bots/{READY_BOT}/hand-over", {"heir": BEN})
        gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "owner_id": DAN})
        list_sounds(gateway)
        list_samples(gateway)
        library = {"name": "The quiet library", "description": "Books, and those who read them."}
        listed(gateway, WITHOUT_BOT, **library, keywords="books")
        gateway.clock.advance(3_600)
        yield gateway


def review_jukebox(gateway: PeopleGateway) -> None:
    """Ben has written a review of Ada's bot. Ada has answered it, and Emil reported it."""
    review = f"/manage/bots/{BOT}/ratings/{BEN}"
    gateway.done("PUT", review, {"stars": 4, "text": "It plays all day, and only once has it stopped."})
    gateway.done("PUT", f"{review}/answer", {"text": "Thank you! It stops no more."})
    report = {"user": EMIL, "reason": "other", "text": "Ben and Ada are friends."}
    gateway.done("POST", f"{review}/reports", report)


def list_sounds(gateway: PeopleGateway) -> None:
    """Ada has two sounds that everybody may hear, and one in review."""
    ledger, now_ms, events = gateway.gateway.ledger, gateway.clock.now_ms(), list[Event]()
    named = (
        (SOUND, "Level up chime", "mp3", "Other", "Four bright notes for small victories."),
        (LOUD_SOUND, "Air horn in a stairwell", "vorbis", "NSFW", ""),
        (NEW_SOUND, "Door knock", "opus", "Memes", "Somebody is here."),
    )
    for number, (sound_id, name, coding, category, text) in enumerate(named):
        file = uploaded(gateway, SOUNDS, "sound", sound(coding, 1 + number / 2), ADA)
        categories = ("Loud", category) if category == "NSFW" else (category,)
        profile = SoundProfile(name, file, categories, text, ("happy", "games"))
        events.append(ListingSaved(SOUNDS.ref(sound_id), ADA, profile, "in_review", now_ms))
        if sound_id != NEW_SOUND:
            events.append(ListingReviewed(SOUNDS.ref(sound_id), "approved", None, now_ms))
            events.append(VoteCast(SOUNDS.ref(sound_id), BEN, 1, now_ms, of_day=1, of_month=1))
    gateway.on_loop(lambda: ledger.commit(events))


def list_samples(gateway: PeopleGateway) -> None:
    """Everybody sees a sample of Ada's of each kind that has no scene of its own."""
    ledger, now_ms, events = gateway.gateway.ledger, gateway.clock.now_ms(), list[Event]()
    for kind in SAMPLED:
        files = dict[str, FileRef | tuple[FileRef, ...]]()
        for name, rules in kind.file_rules.items():
            content = sound() if rules.sort == "sound" else picture(size=(128, 128))
            file = uploaded(gateway, kind, name, content, ADA)
            files[name] = (file,) if isinstance(getattr(kind.sample, name), tuple) else file
        ref, profile = kind.ref(kind.id.sample), replace(kind.sample, **files)
        events.append(ListingSaved(ref, ADA, profile, "in_review", now_ms))
        events.append(ListingReviewed(ref, "approved", None, now_ms))
    gateway.on_loop(lambda: ledger.commit(events))


def remind_ben(gateway: PeopleGateway) -> None:
    """Give Ben a reminder that is due for one of Emil's bots, and one that waits for Ada's."""
    quiz = {**BOT_SUBMISSION, "id": QUIZ_BOT, "name": "Quiz night", "owner_id": EMIL}
    gateway.done("POST", "/manage/bots", quiz)
    gateway.done("POST", f"/manage/bots/{QUIZ_BOT}/approve", {})
    ben = gateway.person(BEN)
    ben.acted("/me/reminders", {"listing": f"bots/{QUIZ_BOT}", "remind": "on"})
    ben.acted(f"/bots/{QUIZ_BOT}/vote")
    gateway.clock.advance(86_400)


def live_through(gateway: PeopleGateway, days: int) -> None:
    """Commit votes and pushes of the last days, by users without an account."""
    ledger, now_ms, ref = gateway.gateway.ledger, gateway.clock.now_ms(), f"bots/{BOT}"
    voters, of_month, events = count(7 * 10**17), Counter[int](), list[Event]()
    for ago in reversed(range(1, days)):
        begins_ms = (day_of(now_ms) - ago) * MS_PER_DAY
        for number in range(ago * 7 % 13 + days // ago % 9):
            at_ms = begins_ms + (number * number + 11) % 24 * 3_600_000
            of_month[month_of(at_ms)] += 1
            voter = str(next(voters))
            events.append(
                VoteCast(ref, voter, 1, at_ms, of_day=number + 1, of_month=of_month[month_of(at_ms)])
            )
        if ago < days // 2:
            servers = 1_200 - 6 * ago + ago % 7
            events.append(StatsUpdated(ref, servers, 40, StatsWindow(begins_ms, 1), begins_ms))
    gateway.on_loop(lambda: ledger.commit(events))


def flag_votes(gateway: PeopleGateway) -> None:
    """Two votes of those above were suspicious."""
    ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
    flags = (
        VoteFlagged(f"bots/{BOT}", CLEO, "crowded_address", "0" * 23 + "1", now_ms - 60_000),
        VoteFlagged(f"bots/{QUIZ_BOT}", BEN, "burst", "0" * 23 + "2", now_ms - 86_400_000),
    )
    gateway.on_loop(lambda: ledger.commit(flags))


@contextmanager
def signed_in(
    browser: Browser, gateway: PeopleGateway, user: str | None, **options: Any
) -> Iterator[Visitor]:
    """A browser of the user; of a stranger, for None."""
    gateway.clock.advance(300)
    with visiting(browser, gateway, hosts=(gateway.stand_in.url,), **options) as visitor:
        if user is not None:
            visitor.expected.add(404)  # the icon of the stand-in
            page = visitor.see("/signin?to=/me")
            page.get_by_role("button", name="Continue to").click()
            page.locator(f"input[value='{user}']").check()
            page.get_by_role("button", name="Approve").click()
            page.wait_for_url("**/me")
            visitor.expected.remove(404)
        yield visitor


def pages() -> list[tuple[str | None, str]]:
    """Return every page of the site with content, and the user whose browser sees it.

    A page that `written` does not have is looked at for its first kind; `known` has the ids in its address.
    """
    found = written()
    for row in drawn_pages():
        if not is_looked_at(row, found):
            path = row.path.replace("{id}", IDS[str(row.kind)] if row.kind is not None else ADA)
            found.append((_visitor(row), path.replace("{user_id}", BEN)))
    return found


def drawn_pages() -> list[PageRow]:
    """Return the pages that are HTML, and that this site has."""
    return [row for row in PEOPLE_PAGES if row.method == "GET" and not NOT_DRAWN.search(row.path)]


def is_looked_at(
    row: PageRow, found: Sequence[tuple[str | None, str]], kinds: str = "|".join(map(str, KINDS))
) -> bool:
    """Return true if an address of this page, for one of the kinds, is among those found."""
    path = row.path if row.kind is None else re.sub(rf"/{row.kind}(?=/|$)", f"/({kinds})", row.path, count=1)
    pattern = re.compile(re.sub(r"\{\w+\}", "[^/]+", path))
    return any(pattern.fullmatch(each.partition("?")[0]) for _, each in found)


def _visitor(row: PageRow) -> str | None:
    """Return the user who looks at a page: the owner, or a moderator for the pages of moderators."""
    is_of_moderator = row.access == "moderator" or "/reviews/{user_id}/remove" in row.path
    return None if row.access == "anyone" else CLEO if is_of_moderator else ADA


def known(gateway: PeopleGateway, path: str) -> str:
    """Return an address with the ids that only the gateway knows, and with the month of its clock."""
    for name, things in (("{key_id}", "keys"), ("{delivery_id}", "webhook/deliveries")):
        if name in path:
            found = gateway.done("GET", f"/manage/bots/{BOT}/{things}")[things.rpartition("/")[2]]
            path = path.replace(name, found[0]["id"])
    return path.replace("{month}", month_name(month_of(gateway.clock.now_ms())))


def written() -> list[tuple[str | None, str]]:
    """Return the addresses that are looked at for what they show there."""
    bots, server = f"/bots/{BOT}/manage", f"/servers/{SERVER}/manage"
    tabs = ("", "/votes", "/profile", "/keys", "/webhook", "/webhook/deliveries", "/owners", "/danger")
    return [
        *((None, path) for path in ("/", "/bots", "/servers", "/bots?sort=name&category=Music", "/signin")),
        *((None, path) for path in (f"/bots/{BOT}", f"/bots/{BOT}/vote")),
        *((ADA, path) for path in (f"/bots/{BOT}", f"/bots/{OTHER_BOT}", "/add", f"/bots/{BOT}/reviews")),
        *((ADA, f"/bots/{BOT}/reviews/{BEN}/{act}") for act in ("answer", "report")),
        (CLEO, f"/bots/{BOT}/reviews/{BEN}/remove"),
        *((BEN, path) for path in (f"/bots/{BOT}/reviews", f"/emojis/{EMOJIS.id.sample}/add-to-server")),
        (CLEO, f"/review/bots/{BOT}"),
        (DAN, f"/servers/{SERVER}"),
        *((ADA, path) for path in ("/", "/me", "/me/notices", "/me/sessions", "/me/data")),
        *((ADA, path) for path in ("/bots/new", f"/bots/new?id={FRESH_BOT}")),
        *((ADA, bots + tab) for tab in tabs),
        *((None, path) for path in ("/sounds", f"/sounds/{SOUND}", f"/sounds/{LOUD_SOUND}")),
        *((ADA, path) for path in ("/sounds/new", f"/sounds/{SOUND}/manage/profile")),
        (CLEO, f"/review/sounds/{NEW_SOUND}"),
        *((None, f"/{kind}") for kind in SAMPLED),
        *((None, f"/{kind}/{kind.slug_of(kind.sample) or kind.id.sample}") for kind in SAMPLED),
        *((ADA, f"/{kind}/new") for kind in SAMPLED),
        *((ADA, f"/{kind}/{kind.id.sample}/manage/profile") for kind in SAMPLED),
        *((CLEO, f"/review/{kind}/{kind.id.sample}") for kind in SAMPLED),
        *((BEN, f"/{kind}/{IDS[kind.plural]}/take-over") for kind in KINDS if kind.known_as is not None),
        (ADA, f"/bots/{OTHER_BOT}/manage"),
        (ADA, f"/bots/{READY_BOT}/manage"),
        *((BEN, f"/bots/{bot}/vote") for bot in (BOT, QUIZ_BOT)),
        (CLEO, f"/bots/{BOT}/vote"),
        *((BEN, path) for path in ("/me/votes", "/me/notices", f"/me/reminders/bots/{BOT}")),
        *((BEN, path) for path in ("/me", f"/bots/{READY_BOT}/invitation")),
        (ADA, f"/bots/{READY_BOT}/manage/owners"),
        (DAN, f"{bots}/leave"),
        *((DAN, server + tab) for tab in ("", "/votes", "/profile", "/webhook", "/owners", "/danger")),
        *((ADA, path) for path in ("/servers/new", f"/servers/{WITHOUT_BOT}/manage")),
        (CLEO, f"/review/servers/{WITHOUT_BOT}"),
        (BEN, f"/bots/{BOT}/report"),
        (BEN, f"/bots/{QUIZ_BOT}/report"),
        *((CLEO, path) for path in ("/review?show=reported", f"/review/bots/{QUIZ_BOT}")),
        *((CLEO, path) for path in ("/review", "/review?show=mine", "/review?show=decided", "/review/votes")),
        (CLEO, f"/review/bots/{READY_BOT}"),
        (CLEO, f"/review/servers/{SERVER}"),
        (CLEO, f"/review/bots/{BOT}/votes"),
    ]
