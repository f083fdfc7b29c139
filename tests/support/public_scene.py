"""Listings that everybody may see: enough for several pages, with names that are hard to draw."""

from functools import partial

from msgspec.structs import replace

from core.events import Event, ListingSaved
from pages.public.lists import LISTED
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA
from tests.support.sample_rows import BOT_PROFILE, SERVER_PROFILE

COUNT = LISTED + 6
BOTS = [str(600_000_000_000_000_000 + number) for number in range(COUNT)]
SERVERS = [str(700_000_000_000_000_000 + number) for number in range(2)]
RTL = "بوت الموسيقى الرائع للجميع"
HARD = (RTL, "W" * 100, "音楽ボットの名前", "<b>&amp;</b>", "🎵👩‍👩‍👧‍👦 Band", "a " * 49)
HARD_BOTS = [str(650_000_000_000_000_000 + number) for number in range(len(HARD))]
RTL_BOT = HARD_BOTS[0]
RTL_TEXT = "# عنوان\n\nهذا البوت يشغل الموسيقى **مجانا**.\n\n* واحد\n* اثنان\n"


def list_many(gateway: PeopleGateway) -> None:
    """List bots of Ada, of which the first have votes, each one more than the next, and two servers."""
    now_ms = gateway.clock.now_ms()
    events: list[Event] = []
    for number, bot in enumerate(BOTS):
        categories = ("Music" if number % 10 == 0 else "Utility", "Other")
        profile = replace(BOT_PROFILE, name=f"Bot {number:02}", categories=categories)
        events.append(ListingSaved(f"bots/{bot}", ADA, profile, "approved", now_ms + number))
    for number, server in enumerate(SERVERS):
        own = replace(SERVER_PROFILE, name=f"Server {number}", keywords=("Rust & C", f"word{number}"))
        events.append(ListingSaved(f"servers/{server}", ADA, own, "approved", now_ms))
    gateway.on_loop(partial(gateway.gateway.ledger.commit, events))
    for number, bot in enumerate(BOTS[:3]):
        for voter in range(3 - number):
            gateway.cast(str(800_000_000_000_000_000 + voter), f"/manage/bots/{bot}")
    gateway.clock.advance(60)


def list_hard_names(gateway: PeopleGateway) -> None:
    """List bots and a server of Ada with names that are hard to draw."""
    now_ms, events = gateway.clock.now_ms(), list[Event]()
    for bot, name in zip(HARD_BOTS, HARD, strict=True):
        text = RTL if name == RTL else name[:100].ljust(16, "x")
        profile = replace(
            BOT_PROFILE, name=name, short_description=text, description=RTL_TEXT, categories=("Economy",)
        )
        events.append(ListingSaved(f"bots/{bot}", ADA, profile, "approved", now_ms))
    words = ("x" * 32, "موسيقى", "W" * 32)
    server = replace(SERVER_PROFILE, name=RTL, description="W" * 256, keywords=words, category="Language")
    events.append(ListingSaved(f"servers/{HARD_BOTS[0]}", ADA, server, "approved", now_ms))
    gateway.on_loop(partial(gateway.gateway.ledger.commit, events))
    gateway.clock.advance(60)
