"""The cost of the pages for people: memory of a user, and the process's time for a page.

    python -m bench.people_pages --listings 100000 --users 100000

A gateway runs in this process with as many bots, each with an owner among as many users, who have one session
each; every hundredth bot waits for a review, and half of the others have votes. Pages are asked for one by
one from another thread. The time of a page is processor time of the loop's thread, so that other processes do
not count. Nobody answers in place of the chat platform, and no page here waits for it.

The pages for everybody are asked for by strangers, once more while votes are cast: then the orders of lists
are made again. The time for which the loop was held is read off a watch, which wakes every few milliseconds.
"""

import argparse
import asyncio
import gc
import http.client
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import uvloop
from msgspec.structs import replace

from bench.fed_gateways import commit, gateway_here
from core.actors import user_actor
from core.events import Event, ListingSaved, UserSignedIn, VoteCast
from core.rows import Review
from core.user_rows import UserProfile, UserSession, user_ref
from gateway.serve import Gateway
from kinds.bots import BotProfile
from search.list_orders import FRESH_SECONDS
from serving.timeline import resident_bytes
from settings.model import Settings, load_settings

FIRST = 10**17
ROUNDS = 300
VOTES_A_SECOND, VOTES_AT_ONCE = 2_000, 4
WATCH_SECONDS = 0.002
OWNER, MODERATOR = str(FIRST + 2), str(FIRST + 1)
BOT = f"/bots/{FIRST + 2}/manage"
SITE = {
    "web.public_url": "http://127.0.0.1:8080",
    "web.moderators": MODERATOR,
    "chat_platform.authorize_url": "http://127.0.0.1:9/oauth2/authorize",
    "chat_platform.api_url": "http://127.0.0.1:9/api/v10",
    "chat_platform.client_id": "900000000000000001",
    "chat_platform.client_secret": "a-secret-of-the-benchmark",
}
STRANGER = ""
LISTING = f"/bots/{FIRST + 2}"
PUBLIC = (
    *("/", "/index.json", "/bots", "/bots.json", "/bots?sort=name", "/bots?category=Utility", "/servers"),
    *(LISTING, f"{LISTING}.json", f"{LISTING}/badge.svg"),
)
PAGES = {
    STRANGER: PUBLIC,
    OWNER: (
        *("/", "/me", "/me/notices", "/me/sessions", "/me/data"),
        *(BOT, f"{BOT}/profile", f"{BOT}/keys", f"{BOT}/webhook", f"{BOT}/webhook/deliveries"),
    ),
    MODERATOR: ("/review", "/review?show=decided"),
}


def value_of(user_id: str) -> str:
    """Return the value of a user's session, as long as a real one."""
    return user_id.rjust(43, "0")


def listings(count: int, users: int, now_ms: int, first: int = FIRST) -> Iterator[Event]:
    profile = BotProfile("", "Counts what happens", "A bot that counts what happens. " * 10, ("Utility",))
    for number in range(count):
        named, owner = replace(profile, name=f"Bot {number}"), str(FIRST + number % users)
        review: Review = "approved" if number % 100 else "in_review"
        yield ListingSaved(f"bots/{first + number}", owner, named, review, now_ms, by=user_actor(owner))


def people(count: int, digest: Callable[[str], str], now_ms: int) -> Iterator[Event]:
    for number in range(count):
        user_id = str(FIRST + number)
        session = UserSession(digest(value_of(user_id)), "Firefox on Linux", now_ms, now_ms)
        profile = UserProfile(f"user{number}", f"User {number}", "0123456789abcdef0123456789abcdef", "en-US")
        yield UserSignedIn(user_ref(user_id), profile, session, by=user_actor(user_id))


async def fill(gateway: Gateway, count: int, users: int) -> None:
    now_ms = gateway.clock.now_ms()
    await commit(gateway, listings(count, users, now_ms))
    await commit(gateway, votes(count, now_ms))
    gc.collect()
    before = resident_bytes()
    await commit(gateway, people(users, gateway.digester.digest, now_ms))
    gc.collect()
    print(f"a user with a session: {(resident_bytes() - before) / users:.0f} bytes of memory")


def votes(count: int, now_ms: int, first: int = FIRST) -> Iterator[Event]:
    """Yield one vote and more for every second bot, each by another user."""
    for number in range(0, count, 2):
        for voter in range(1 + number % 7):
            yield VoteCast(f"bots/{first + number}", str(FIRST + voter), 1, now_ms)


class HeldLoop:
    """Notes the processor time that the loop's thread takes between two looks at the loop: no piece of work
    was longer. Other processes do not count."""

    def __init__(self) -> None:
        self.pieces: list[float] = []

    async def run(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(WATCH_SECONDS)
            self.pieces.append((time.thread_time() - before) * 1_000)

    def said(self) -> str:
        pieces, self.pieces = sorted(self.pieces), []
        return f"the loop was held: p99 {pieces[len(pieces) * 99 // 100]:.2f} ms, at most {pieces[-1]:.2f} ms"


async def voting(gateway: Gateway, count: int) -> None:
    """Cast some thousand votes a second, for bots here and there."""
    dice = random.Random(1)
    while True:
        refs = (f"bots/{FIRST + dice.randrange(count)}" for _ in range(VOTES_AT_ONCE))
        for ref in refs:
            user, now_ms = str(FIRST * 2 + dice.randrange(FIRST)), gateway.clock.now_ms()
            gateway.ledger.commit([VoteCast(ref, user, 1, now_ms)])
        await asyncio.sleep(VOTES_AT_ONCE / VOTES_A_SECOND)


def asked(base_url: str, clock_id: int, wanted: Mapping[str, Sequence[str]]) -> None:
    """Ask for every page again and again, and print the time of the loop's thread for each."""
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc)
    print(f"{'page':48} {'p50 ms':>7} {'p99 ms':>7} {'KB':>7}")
    for user_id, pages in wanted.items():
        headers = {"Accept": "text/html"}
        if user_id != STRANGER:
            headers["Cookie"] = f"__Host-votegate-session={value_of(user_id)}"
        for page in pages:
            took, size = [], 0
            for _ in range(ROUNDS):
                before = time.clock_gettime(clock_id)
                connection.request("GET", page, headers=headers)
                answer = connection.getresponse()
                size = len(answer.read())
                assert answer.status == 200, (page, answer.status)
                took.append((time.clock_gettime(clock_id) - before) * 1_000)
            took.sort()
            p50, p99 = took[len(took) // 2], took[len(took) * 99 // 100]
            print(f"{page:48} {p50:7.2f} {p99:7.2f} {size / 1_000:7.1f}")


async def once(settings: Settings, count: int, users: int, *, fills: bool) -> None:
    began = time.perf_counter()
    async with gateway_here(settings) as gateway:
        if fills:
            await fill(gateway, count, users)
            return
        print(f"started in {time.perf_counter() - began:.2f} s")
        watch = HeldLoop()
        watching = asyncio.create_task(watch.run())
        await asyncio.sleep(10)  # the gateway learns whose the listings are, and what is in them
        print(f"after the start, {watch.said()}")
        clock_id = time.pthread_getcpuclockid(threading.get_ident())
        await asyncio.to_thread(asked, gateway.base_url, clock_id, PAGES)
        print(watch.said())
        print(f"\nwhile {VOTES_A_SECOND} votes a second are cast (their time counts, too)")
        casting = asyncio.create_task(voting(gateway, count))
        await asyncio.sleep(FRESH_SECONDS + 1)
        print(f"without a page, {watch.said()}")
        await asyncio.to_thread(asked, gateway.base_url, clock_id, {STRANGER: PUBLIC})
        print(watch.said())
        casting.cancel()
        watching.cancel()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listings", type=int, default=100_000)
    parser.add_argument("--users", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        flags = {"data_dir": Path(folder) / "data", "server.port": 0, **SITE}
        # Each page is made: bench/kept_pages.py measures those that are kept.
        settings = load_settings(None, {}, {**flags, "server.access_log": False, "server.kept_bytes": 0})
        for fills in (True, False):
            uvloop.run(once(settings, given.listings, given.users, fills=fills))


if __name__ == "__main__":
    main()
