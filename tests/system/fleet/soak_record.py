"""An outside record of everything that a fleet acknowledged.

Invariant: everything that must be there is there, and everything that was removed stays removed.

Sure facts are counted apart from possible ones, such as a request without an answer, or a vote for a listing
that was being removed elsewhere.
"""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tests.support.gateways import USER, Client

STABLE_BOTS = [str(10**17 + number) for number in range(3)]
REMOVED_BOTS = [str(2 * 10**17 + number) for number in range(2)]
"""Removed and submitted again, now and then."""
FIRST_NEWCOMER = 4 * 10**17
FIRST_ERASED = 5 * 10**17
USERS_AT_ONCE = 1_000
SURELY_LATER_SECONDS = 0.005
"""Edits further apart have different stamps."""


@dataclass
class Ballot:
    """Votes of one user for one bot: so many are there, and so many more may be."""

    sure: int = 0
    maybe: int = 0
    last_ms: int = 0


@dataclass
class IssuedKey:
    id: str
    secret: str
    opens: bool | None = True
    """None when nobody can tell."""


@dataclass
class Edit:
    text: str
    began: float
    ended: float | None
    """None when it was not acknowledged."""


@dataclass
class Bot:
    id: str
    home: str | None
    """The node that knows the life of the bot that counts; empty when all do, None when nobody can tell."""
    life: int = 0
    ballots: dict[str, Ballot] = field(default_factory=dict)
    keys: list[IssuedKey] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    removing: threading.Lock = field(default_factory=threading.Lock)

    def ballot(self, user: str) -> Ballot:
        return self.ballots.setdefault(user, Ballot())


class Node:
    """One that may be stopped and started. `life` is even while it is up."""

    def __init__(self, name: str, client: Client) -> None:
        self.name = name
        self.client = client
        self.life = 0

    def is_steady(self, since: int) -> bool:
        """Return true if the node was up then, and has been ever since."""
        return not since % 2 and self.life == since


@dataclass
class Findings:
    """The answers that the load has got, and those that it must not get."""

    acknowledged: int = 0
    conflicts: int = 0
    answers: Counter[int] = field(default_factory=Counter)
    errors: int = 0
    pages: int = 0
    unanswered: int = 0
    erased: int = 0
    removed: int = 0
    lost: int = 0
    violations: list[str] = field(default_factory=list)


class World:
    """The requests to the fleet, and its answers."""

    def __init__(self, nodes: Sequence[Node], webhook_url: str) -> None:
        self.nodes = nodes
        self.bots = [Bot(id_, "") for id_ in STABLE_BOTS] + [Bot(id_, None) for id_ in REMOVED_BOTS]
        self.stable, self.removed = self.bots[: len(STABLE_BOTS)], self.bots[len(STABLE_BOTS) :]
        self.findings = Findings()
        self.webhook_url = webhook_url
        self.lock = threading.Lock()
        self._newcomers = 0
        self._erasable: list[str] = []
        self._erased = 0

    def newcomer(self) -> str:
        with self.lock:
            self._newcomers += 1
            return str(FIRST_NEWCOMER + self._newcomers)

    def next_erased(self) -> str:
        with self.lock:
            self._erased += 1
            return str(FIRST_ERASED + self._erased)

    def erasable(self, user: str) -> None:
        with self.lock:
            self._erasable.append(user)

    def take_erasable(self, chance: random.Random) -> str | None:
        """A user who has voted; nobody votes for them meanwhile."""
        with self.lock:
            users = self._erasable
            return users.pop(chance.randrange(len(users))) if users else None


def check(world: World, node: Node) -> None:
    """Compares what the node says with what the fleet has acknowledged."""
    for bot in world.bots:
        _check_votes(world.findings, bot, node)
        _check_keys(world.findings, bot, node)
        _check_edits(world.findings, bot, node)


def read_pages(world: World, node: Node) -> None:
    """Ask for the page of each bot, so that the node keeps it."""
    for bot in world.bots:
        node.client.request("GET", f"/bots/{bot.id}.json")


def check_pages(world: World, node: Node) -> None:
    """Compares the pages of bots, kept or not, with what the node says of the same bots."""
    for bot in world.bots:
        page = node.client.request("GET", f"/bots/{bot.id}.json")
        row = node.client.operate("GET", f"/manage/bots/{bot.id}")
        is_public = row.status_code == 200 and row.json()["state"] == "approved"
        shown, true = (
            answer.json().get("description") if answer.status_code == 200 else None for answer in (page, row)
        )
        if (page.status_code == 200) != is_public or (is_public and shown != true):
            world.findings.violations.append(
                f"{node.name}: the page of bot {bot.id}: {shown!r}, not {true!r}"
            )


def _check_votes(findings: Findings, bot: Bot, node: Node) -> None:
    for user, count, last_ms in _votes(node.client, bot):
        ballot = bot.ballots[user]
        wrong = ""
        if count < ballot.sure:
            findings.lost += ballot.sure - count
            wrong = "lost"
        elif count > ballot.sure + ballot.maybe:
            wrong = "made up"
        elif not ballot.maybe and last_ms != (ballot.last_ms or None):
            wrong = "at another time"
        if wrong:
            said = f"{count} votes, the last at {last_ms}"
            findings.violations.append(f"{node.name}: {wrong}: bot {bot.id}, user {user}: {said}: {ballot}")


def _votes(client: Client, bot: Bot) -> Iterator[tuple[str, int, int | None]]:
    users, there = sorted(bot.ballots), client.operate("GET", f"/manage/bots/{bot.id}").status_code == 200
    for start in range(0, len(users), USERS_AT_ONCE):
        some = users[start : start + USERS_AT_ONCE]
        if not there:
            yield from ((user, 0, None) for user in some)
            continue
        for vote in client.done("POST", f"/manage/bots/{bot.id}/votes/check", {"users": some})["votes"]:
            yield vote["user"], vote["vote"], vote["lastVote"]


def _check_keys(findings: Findings, bot: Bot, node: Node) -> None:
    for key in bot.keys:
        status = node.client.voters(key.secret, bot.id, USER).status_code
        if key.opens is not None and (status == 200) != key.opens:
            findings.violations.append(f"{node.name}: bot {bot.id}, key {key.id}: {status}, {key.opens}")


def _check_edits(findings: Findings, bot: Bot, node: Node) -> None:
    if not bot.edits:
        return
    text = node.client.done("GET", f"/manage/bots/{bot.id}")["description"]
    ended = [edit.ended for edit in bot.edits if edit.text == text]
    newest = max((edit.began for edit in bot.edits if edit.ended is not None), default=0.0)
    if not ended or (ended[0] is not None and ended[0] + SURELY_LATER_SECONDS < newest):
        findings.violations.append(f"{node.name}: bot {bot.id}: {text!r} is not the last edit")
