"""Record the answers of the API to generated bodies.

The endpoints form families. Each family has a gateway of its own with the same listings, and a clock that
moves only between requests, so the answers of a family depend on its requests alone.
"""

import random
import tempfile
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec

from core.rows import ReportReason
from kinds.kind import Given, Kind
from kinds.registry import BY_PLURAL
from tests.support.gateways import (
    BOT_SUBMISSION,
    OPERATOR_TOKEN,
    SERVER_SUBMISSION,
    WAIT_SECONDS,
    ThreadGateway,
    running,
)
from tests.support.made_listings import MADE, list_made
from tests.surface.bodies import Body, generated
from tests.surface.fixed_random import FixedRandom, fixed_random
from tests.surface.shown import headers_of

Dice = random.Random
SHOWN_BYTES = 1_000
"""Bytes of a body that `bodies/` shows."""
BOTS = [str(110_000_000_000_000_000 + number) for number in range(12)]
SERVERS = [str(330_000_000_000_000_000 + number) for number in range(12)]
USERS = [str(550_000_000_000_000_000 + number) for number in range(30)]
NEW = [str(770_000_000_000_000_000 + number) for number in range(40)]
"""Ids that nothing has yet."""
ODD = ("0", "x", "1" * 17, "18446744073709551616", "%20", "9" * 18)
"""Ids in a path that are malformed, or unknown."""
TESTED = "tested0Q69A"
"""A template with a webhook, to which no other URL is given."""
REFUSING = "http://127.0.0.1:9/votes"
"""An endpoint that takes no connection."""
SETTINGS: dict[str, object] = {
    "keys.digest_secret": "recorded-digest-secret-of-the-tests-0123456789",
    "limits.failures.requests": 1_000_000,
    "limits.stats.requests": 500,
    "webhooks.retries": 0,
    "webhooks.suspend_after": 1_000,
}


class Endpoint(NamedTuple):
    """An endpoint with a body. In a path, `{bot}` and others stand for ids."""

    method: str
    path: str
    valid: Callable[[Dice], Body]


class Family(NamedTuple):
    """`share` is the family's part of all bodies."""

    share: int
    endpoints: tuple[Endpoint, ...]


def empty(_: Dice) -> Body:
    return {}


def text(dice: Dice, shortest: int, longest: int) -> str:
    words = (
        "music",
        "bot",
        "plays",
        "for",
        "**everyone**",
        "on",
        "this",
        "server,",
        "Ünïcode",
        "and",
        "more.",
    )
    made = " ".join(dice.choices(words, k=dice.randrange(2, 40)))
    return made[:longest].strip().ljust(shortest, "x")


def bot_profile(dice: Dice) -> Body:
    body: Body = {
        "owner_id": dice.choice(USERS[:4]),
        "name": text(dice, 1, 100),
        "short_description": text(dice, 16, 150),
        "description": text(dice, 32, 8_192),
        "categories": dice.sample(
            ("Utility", "Music", "Moderation", "Fun", "Economy", "Other"), dice.randrange(1, 4)
        ),
    }
    if dice.random() < 0.4:
        body["support_invite"] = "https://chat.example/invite" if dice.random() < 0.7 else None
    return body


def new_bot(dice: Dice) -> Body:
    body = {"id": dice.choice((*NEW, *BOTS)), **bot_profile(dice)}
    if dice.random() < 0.4:
        body["extra_owners"] = dice.sample(USERS[4:], dice.randrange(5))
    return body


def server_profile(dice: Dice) -> Body:
    return {
        "owner_id": dice.choice(USERS[:4]),
        "name": text(dice, 1, 100),
        "description": text(dice, 0, 256),
        "keywords": dice.sample(
            ("music", "art", "Rust & C", "games", "book club", "日本語"), dice.randrange(6)
        ),
        "category": dice.choice(("Gaming", "Community", "Music", "Language", "Other")),
    }


def new_server(dice: Dice) -> Body:
    return {"id": dice.choice((*NEW, *SERVERS)), **server_profile(dice)}


def reason(dice: Dice) -> Body:
    return {"reason": text(dice, 1, 500)}


def version(dice: Dice) -> Body:
    return {"version": f"{dice.getrandbits(64):016x}"}


def refused_version(dice: Dice) -> Body:
    return {**reason(dice), **version(dice)}


def heir(dice: Dice) -> Body:
    return {"heir": dice.choice(USERS)}


def note(dice: Dice) -> Body:
    return {"text": text(dice, 1, 500)}


def report(dice: Dice) -> Body:
    reason = dice.choice(get_args(ReportReason))
    return {"user": dice.choice(USERS), "reason": reason, "text": text(dice, 0, 500)}


def seen(dice: Dice) -> Body:
    return dice.choice(({}, {"seen": ["1750000000000-444444444444444444"]}))


def key_name(dice: Dice) -> Body:
    return {"name": text(dice, 1, 100)}


def overlap(dice: Dice) -> Body:
    return {"overlap_seconds": dice.choice((0, 1, 60, 3_600, 86_400))}


def webhook(dice: Dice) -> Body:
    chat = dice.random() < 0.3
    url = "https://discord.com/api/webhooks/123456789012345678/token" if chat else "https://8.8.8.8/votes"
    body: Body = {"url": url}
    if not chat and dice.random() < 0.5:
        body["token"] = dice.choice(("secret-token", "Bearer abc", None))
    if chat and dice.random() < 0.5:
        body["language"] = dice.choice(("de", "en", "ja", None))
    if dice.random() < 0.5:
        body["events"] = dice.sample(("vote.cast", "vote.struck", "listing.approved", "listing.denied"), 2)
    return body


def voter(dice: Dice) -> Body:
    return {"user": dice.choice(USERS)}


def voters(dice: Dice) -> Body:
    return {"users": dice.sample(USERS, dice.randrange(10))}


def strike(dice: Dice) -> Body:
    way = dice.choice(({"users": dice.sample(USERS, 2)}, {"flagged": True}, {"since": 1_750_000_000_000}))
    return {**reason(dice), **way, **({"dry_run": True} if dice.random() < 0.7 else {})}


def server_count(dice: Dice) -> Body:
    return {"server_count": dice.randrange(2_000)}


def limits(dice: Dice) -> Body:
    limit = {"requests": dice.randrange(1, 1_000), "window_seconds": dice.choice((60, 300, 7_200))}
    return {name: limit for name in ("stats", "voters") if dice.random() < 0.7}


def stats(dice: Dice) -> Body:
    counts = {"server_count": dice.randrange(900, 1_100), "commands_count": dice.randrange(1_001)}
    return {
        name: counts[name] for name in dice.choice((("server_count",), ("commands_count",), tuple(counts)))
    }


def since(dice: Dice) -> Body:
    return {"failed_since": dice.choice((0, 1_750_000_000_000))}


def quarantine(dice: Dice) -> Body:
    end = {"until": dice.choice((1_760_000_000_000, 1_740_000_000_000, None))} if dice.random() < 0.5 else {}
    return {**reason(dice), **end}


def decisions(kind: Kind, one: str, edit: Callable[[Dice], Body]) -> tuple[Endpoint, ...]:
    changes = (("agree", version), ("refuse", refused_version)) if kind.has("changes") else ()
    return (
        Endpoint("POST", f"{one}/approve", empty),
        *(Endpoint("POST", f"{one}/{act}", reason) for act in ("deny", "withdraw")),
        *(Endpoint("POST", f"{one}/change/{act}", valid) for act, valid in changes),
        Endpoint("PUT", one, edit),
    )


def hand_over(one: str) -> tuple[Endpoint, ...]:
    return Endpoint("PUT", f"{one}/hand-over", heir), Endpoint("POST", f"{one}/hand-over/accept", heir)


def review(one: str) -> tuple[Endpoint, ...]:
    acts = (("claim", empty), ("notes", note), ("reports", report), ("reports/settle", seen))
    return tuple(Endpoint("POST", f"{one}/{act}", valid) for act, valid in acts)


def votes(one: str) -> tuple[Endpoint, ...]:
    rating = f"{one}/ratings/{{user}}"
    return (
        Endpoint("POST", f"{one}/votes", voter),
        Endpoint("POST", f"{one}/votes/check", voters),
        *(Endpoint("PUT", rating + below, stars) for below in ("", "/answer")),
        *(Endpoint("POST", rating + below, stars) for below in ("/remove", "/reports")),
    )


def stars(dice: Dice) -> Body:
    """Return the words of a review. Other endpoints of reviews refuse the stars."""
    return {"stars": dice.randrange(7), "text": "It plays what we ask for. " * dice.randrange(3)}


def webhooks(one: str, tested: str) -> tuple[Endpoint, ...]:
    """Only `tested` is sent to, so the URL of `one` may be any."""
    return (
        *(Endpoint("PUT", f"{one}/webhook", webhook) for _ in range(4)),
        Endpoint("POST", f"{one}/webhook/resume", empty),
        Endpoint("POST", f"{one}/webhook/secret/rotate", overlap),
        Endpoint("POST", f"{tested}/webhook/probe", empty),
        Endpoint("POST", f"{tested}/webhook/test", voter),
        Endpoint("POST", f"{tested}/webhook/deliveries/none/redeliver", empty),
        Endpoint("POST", f"{tested}/webhook/deliveries/redeliver", since),
    )


def of_made(kind: Kind) -> tuple[Endpoint, ...]:
    one = f"/manage/{kind}/{{made}}"

    def edit(dice: Dice) -> Body:
        written: Body = msgspec.json.decode(msgspec.json.encode(kind.written(kind.sample)))
        return {**written, "owner_id": dice.choice(USERS[:4])}

    def submission(dice: Dice) -> Body:
        return {**({"id": dice.choice(made_ids(kind))} if isinstance(kind.id, Given) else {}), **edit(dice)}

    return (
        Endpoint("POST", f"/manage/{kind}", submission),
        *decisions(kind, one, edit),
        *(hand_over(one) if kind.has("hand_over") else ()),
        *review(one),
        *(votes(one) if kind.has("votes") else ()),
        Endpoint("POST", f"{one}/votes/strike", strike),
        *(webhooks(one, f"/manage/{kind}/{{tested}}") if kind.has("webhook") else ()),
    )


def made_ids(kind: Kind) -> tuple[str, ...]:
    """Return the id of the sample, and one that no listing has at first."""
    return kind.id.sample, kind.id.sample[::-1]


_BOT, _SERVER = "/manage/bots/{bot}", "/manage/servers/{server}"
FAMILIES = {
    "stats": Family(4, (Endpoint("PATCH", "/bots/{bot}/stats", stats),)),
    "bot-submissions": Family(5, (Endpoint("POST", "/manage/bots", new_bot),)),
    "bot-edits": Family(4, (Endpoint("PUT", _BOT, bot_profile),)),
    "server-submissions": Family(4, (Endpoint("POST", "/manage/servers", new_server),)),
    "server-edits": Family(3, (Endpoint("PUT", _SERVER, server_profile),)),
    "bot-decisions": Family(3, decisions(BY_PLURAL["bots"], _BOT, bot_profile)),
    "server-decisions": Family(3, decisions(BY_PLURAL["servers"], _SERVER, server_profile)),
    "counts-and-limits": Family(
        2,
        (
            Endpoint("PUT", f"{_BOT}/actual-server-count", server_count),
            Endpoint("PUT", f"{_BOT}/limits", limits),
        ),
    ),
    "owners": Family(
        2,
        (
            Endpoint("PUT", f"{_BOT}/extra-owners/{{user}}", empty),
            Endpoint("POST", f"{_BOT}/extra-owners/{{user}}/accept", empty),
            *hand_over(_BOT),
            *hand_over(_SERVER),
        ),
    ),
    "review": Family(1, (*review(_BOT), *review(_SERVER))),
    "keys": Family(
        2,
        (
            Endpoint("POST", f"{_BOT}/keys", key_name),
            Endpoint("POST", f"{_BOT}/keys/{{key}}/rotate", overlap),
        ),
    ),
    "webhooks": Family(
        3, (*webhooks(_BOT, f"/manage/bots/{BOTS[0]}"), *webhooks(_SERVER, f"/manage/servers/{SERVERS[0]}"))
    ),
    "votes": Family(2, (*votes(_BOT), *votes(_SERVER))),
    "strikes": Family(
        1,
        (
            *(Endpoint("POST", f"{one}/strike", strike) for one in (f"{_BOT}/votes", f"{_SERVER}/votes")),
            Endpoint("POST", f"{_BOT}/votes", voter),
        ),
    ),
    "users": Family(
        1,
        (
            Endpoint("PUT", "/manage/users/{user}/moderator", empty),
            Endpoint("PUT", "/manage/users/{user}/quarantines/{act}", quarantine),
        ),
    ),
    **{kind.plural: Family(1, of_made(kind)) for kind in MADE},
}


def record_family(folder: Path, name: str, count: int) -> None:
    for part in ("answers", "bodies"):
        (folder / part).mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as data,
        fixed_random() as source,
        running(Path(data) / "data", **SETTINGS) as gateway,
        (folder / "answers" / f"{name}.txt").open("w") as answers,
        (folder / "bodies" / f"{name}.txt").open("w") as bodies,
        closing(Asking(gateway, source, name)) as asking,
    ):
        for _ in range(count):
            body, line = asking.ask()
            answers.write(f"{line}\n")
            bodies.write(f"{digest(body)} {body[:SHOWN_BYTES]!r}\n")


class Asking:
    """Sends the generated requests of one family."""

    def __init__(self, gateway: ThreadGateway, source: FixedRandom, name: str) -> None:
        self._gateway, self._source, self._name = gateway, source, name
        self._dice = random.Random(name)
        self._number = 0
        self._keys = fill(gateway, source)
        host, _, port = gateway.base_url.removeprefix("http://").partition(":")
        self._connection = HTTPConnection(host, int(port), timeout=WAIT_SECONDS)

    def close(self) -> None:
        self._connection.close()

    def ask(self) -> tuple[bytes, str]:
        """Send the next request. Return its body, and the line of its answer."""
        dice = self._dice
        self._number += 1
        endpoint = dice.choice(FAMILIES[self._name].endpoints)
        bot, path = self._path(endpoint.path)
        body = generated(dice, endpoint.valid)
        self._source.begin(f"{self._name} {self._number}")
        self._gateway.clock.advance(86_400 if dice.random() < 0.005 else 1)
        sent = {"Authorization": self._credentials(path, bot), "Content-Type": "application/json"}
        self._connection.request(endpoint.method, path, body, sent)
        response = self._connection.getresponse()
        answer = response.read().decode()
        told = "; ".join(headers_of(dict(response.getheaders())))
        return body, f"{endpoint.method} {path} {digest(body)} {response.status} {told} {answer}"

    def _path(self, template: str) -> tuple[str, str]:
        dice = self._dice
        odd = dice.random() < 0.06
        known = list(self._keys) if template.startswith("/bots/") and dice.random() < 0.9 else BOTS
        bot = dice.choice(ODD if odd else known)
        ids = {
            "bot": bot,
            "server": dice.choice(ODD if odd else SERVERS),
            "user": dice.choice((*USERS, *ODD) if dice.random() < 0.1 else USERS),
            "act": dice.choice(("sign-in", "submit", "vote", "dance")),
            "key": dice.choice([*self._keys.values(), ("", "none")])[1],
        }
        if "{made}" in template:
            ids["made"] = dice.choice(ODD if odd else made_ids(BY_PLURAL[template.split("/")[2]]))
        return bot, template.format(**ids, tested=TESTED)

    def _credentials(self, path: str, bot: str) -> str:
        if self._dice.random() < 0.02:
            return self._dice.choice(("", "wrong", "Bearer wrong", f"Basic {OPERATOR_TOKEN}"))
        if path.startswith("/bots/"):
            return self._keys.get(bot, ("vg_none", ""))[0]
        return f"Bearer {OPERATOR_TOKEN}"


def fill(gateway: ThreadGateway, source: FixedRandom) -> dict[str, tuple[str, str]]:
    """List bots and servers in each state. Return the key of each approved bot: its value and its id."""
    keys: dict[str, tuple[str, str]] = {}
    source.begin("listings")
    for number, (bot, server) in enumerate(zip(BOTS, SERVERS, strict=True)):
        owner = USERS[number % 4]
        gateway.done(
            "POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot, "owner_id": owner, "name": f"Bot {number}"}
        )
        gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "id": server, "owner_id": owner})
        for one in (f"/manage/bots/{bot}", f"/manage/servers/{server}"):
            if number % 4 == 3:
                gateway.done("POST", f"{one}/deny", {"reason": "It answers nobody."})
            elif number % 4 < 2:
                gateway.done("POST", f"{one}/approve", {})
        if number % 4 < 2:
            key: Any = gateway.done("POST", f"/manage/bots/{bot}/keys", {"name": "recorded"})
            keys[bot] = key["key"], key["id"]
            gateway.done("PUT", f"/manage/bots/{bot}/actual-server-count", {"server_count": 1_000})
    list_made(gateway, USERS[0])
    template = BY_PLURAL["templates"]
    written = msgspec.to_builtins(template.written(template.sample))
    gateway.done("POST", "/manage/templates", {**written, "id": TESTED, "owner_id": USERS[0]})
    tested = {"bots": BOTS[0], "servers": SERVERS[0], "templates": TESTED}
    for one in (f"/manage/{kind}/{id}" for kind, id in tested.items()):
        gateway.done("PUT", f"{one}/webhook", {"url": REFUSING})
    return keys


def digest(body: bytes) -> str:
    return sha256(body).hexdigest()[:12]


def in_memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
