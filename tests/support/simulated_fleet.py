"""A fleet that performs random steps in a random order. Its book has the changes that it acknowledged.

Every node follows the real rules with its own clock. It reads entries of the others when a step says so: in
any order, twice, late, or a part at a time. Meanwhile it goes on with its own work, or stops in the middle of
it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from core import events as ev
from core.actors import OPERATOR, Actor, user_actor
from core.clock import day_of
from core.fleet_table import name_and_epoch
from core.rows import Attempt, ServerCheck
from core.user_rows import Rating, RatingAnswer, UserProfile, user_ref
from core.webhook_events import NewDeliveries
from forms.reading import read
from kinds.bots import BOTS
from languages.refusals import Refusal
from listings import eligibility, keys, owners, reports, rules, stats, webhooks
from listings.forms import Limit, Limits, WebhookSettings
from people.choices import set_naming
from people.permissions import Moderators
from people.quarantine import after_erasure, impose
from people.user_sessions import Sessions, end_sessions
from tests.support.fleet_book import Book
from tests.support.memory_nodes import DIGESTS, Node, Told
from tests.support.people import TERMS
from tests.support.sample_rows import (
    BOT_REF,
    DELIVERED,
    HOUR_MS,
    NOW_MS,
    OTHER_REF,
    OTHER_USER,
    OWNER,
    SECRET,
    USER,
)
from tests.support.slots_set import listing_claimed, notices_read, ownership_proven
from votes.rules import KeptCooldowns, VoteRemoval, cast_vote, erase_user, remove_votes

REFS = [BOT_REF, OTHER_REF]
USERS = [USER, OTHER_USER]
NAMES = "abcd"
COOLDOWN_MS = 1
WINDOW_SECONDS = 7_200


class Step(NamedTuple):
    what: str
    node: int
    ref: str
    user: str
    number: int


class Script(NamedTuple):
    skews_ms: list[int]
    """The offset of the clock of each node."""
    before: list[Step]
    """The steps of the nodes before they are a fleet."""
    steps: list[Step]
    seed: int
    """The seed of the order in which all nodes read everything in the end."""


class Simulation:
    def __init__(self, script: Script) -> None:
        self.book = Book()
        self.nodes = [
            Node(name, now_ms=NOW_MS + skew, alone=True)
            for name, skew in zip(NAMES, script.skews_ms, strict=False)
        ]
        self._working: dict[str, list[Coroutine[Any, Any, None]]] = {node.name: [] for node in self.nodes}
        self._is_reading = dict.fromkeys(self._working, False)
        self._heard: dict[tuple[str, str], int] = defaultdict(int)
        self._numbers = 0
        for step in script.before:
            self._step(step)
        self._meet()
        for step in script.steps:
            self._step(step)
        for node in self.nodes:
            self._go_on(node, len(script.steps) * 1_000)

    def tell_all(self, seed: int) -> None:
        """Let every node read everything, in a random order."""
        random = Random(seed)
        for node in self.nodes:
            told = [told for other in self.nodes if other is not node for told in other.told]
            random.shuffle(told)
            for one in told:
                node.merge_facts(one.facts, one.author)

    def _meet(self) -> None:
        """Let the nodes become a fleet, and exchange the content that they have."""
        for node in self.nodes:
            node.join()
        copies = [(node, node.label, node.everything()) for node in self.nodes]
        for donor, label, facts in copies:
            for node in self.nodes:
                if node is not donor:
                    node.merge_facts(facts, label)

    def _step(self, step: Step) -> None:
        node = self.nodes[step.node % len(self.nodes)]
        if step.what in _OTHERWISE:
            _OTHERWISE[step.what](self, node, step)
            return
        node.clock.advance_ms(step.number)
        self._numbers += 1
        try:
            events = _RULES[step.what](node, step, f"{node.name}{self._numbers}")
        except Refusal:
            return
        self._commit(node, events)

    def _commit(self, node: Node, events: Sequence[ev.Event]) -> None:
        for event in events:
            node.ledger.commit([event])
            self.book.note(node, [event])

    # -- steps that are not rules ----------------------------------------------------------------------

    def _wait(self, node: Node, step: Step) -> None:
        node.clock.advance_ms(step.number * HOUR_MS)

    def _hear(self, node: Node, step: Step) -> None:
        """Read entries of another node: all new ones, some of them, old ones, or ones that come too early."""
        if not self._is_reading[node.name]:
            others = [other for other in self.nodes if other is not node]
            other = others[step.number % len(others)]
            heard = self._heard[node.name, other.name]
            begin = step.number * 7 % max(len(other.told), 1) if step.number % 3 == 0 else heard
            told = other.told[begin : begin + 2 * step.number + 1]
            if begin == heard:
                self._heard[node.name, other.name] += len(told)
            self._is_reading[node.name] = True
            self._working[node.name].append(self._entries(node, told))
        self._go_on(node, step.number * 5 + 1)

    async def _entries(self, node: Node, told: Sequence[Told]) -> None:
        for one in told:
            await node.applying.entry(one.facts, one.author, one.position)
        self._is_reading[node.name] = False

    def _go_on(self, node: Node, turns: int) -> None:
        """Give so many turns to the work that the node has begun."""
        for _ in range(turns):
            if not self._working[node.name]:
                return
            work = self._working[node.name].pop(0)
            try:
                work.send(None)
            except StopIteration:
                continue
            self._working[node.name].append(work)

    def _stop(self, node: Node, _: Step) -> None:
        for work in self._working[node.name]:
            work.close()
        self._working[node.name], self._is_reading[node.name] = [], False
        node.restart()

    def _rename(self, node: Node, _: Step) -> None:
        node.join(name_and_epoch(node.label)[1] + 1)

    def _erase(self, node: Node, step: Step) -> None:
        self._working[node.name].append(self._erasure(node, step.user))
        self._go_on(node, step.number)

    async def _erasure(self, node: Node, user: str) -> None:
        with node.searches.of(user) as search:
            for _ in search.slices():
                await asyncio.sleep(0)
            now_ms = _now(node)
            erased = erase_user(user, search.refs, DIGESTS.user(user), now_ms=now_ms, by=OPERATOR)
            self._commit(node, [*erased, *after_erasure(node.state, user, now_ms)])


def _now(node: Node) -> int:
    return node.clock.now_ms()


def _by(step: Step) -> Actor:
    """Return the actor of a step. It may be a user who is erased."""
    return user_actor(step.user)


def _submit(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    form = read(BOTS.submission, {"id": step.ref.partition("/")[2], **_WRITTEN[step.number]})
    submitted = rules.submit(node.state, step.ref, form, _now(node), by=_by(step))
    approved = ev.ListingReviewed(step.ref, "approved", None, node.clock.now_ms())
    return [*submitted, approved] if step.number else submitted


def _version(node: Node, step: Step) -> str:
    return rules.change_version(rules.listing_of(node.state, step.ref))


def _key_id(node: Node, step: Step) -> str:
    rows = rules.listing_of(node.state, step.ref).keys
    return rows[step.number % len(rows)].id if rows else "none"


def _vote(node: Node, step: Step, new: str) -> Sequence[ev.Event]:
    return cast_vote(
        node.state,
        step.ref,
        step.user,
        NewDeliveries(lambda: new, 3),
        now_ms=node.clock.now_ms(),
        cooldown_ms=COOLDOWN_MS,
    )


def _remove_votes(node: Node, step: Step, new: str) -> Sequence[ev.Event]:
    return remove_votes(
        node.state,
        step.ref,
        VoteRemoval([step.user], f"Reason {step.number}"),
        NewDeliveries(lambda: new, 3),
        KeptCooldowns(COOLDOWN_MS, DIGESTS.vote),
        now_ms=_now(node),
        by=_by(step),
    )


def _update(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    now_ms = node.clock.now_ms()
    given = stats.StatsUpdate(step.number, None)
    return stats.update_stats(
        node.state, step.ref, given, window_started_ms=now_ms, window_seconds=WINDOW_SECONDS, now_ms=now_ms
    )


def _attempt(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    attempt = Attempt(node.clock.now_ms(), 1, 500, None, "")
    return [
        ev.DeliveryAttempted(row.id, row.ref, row.made + 1, attempt, "retry", NOW_MS)
        if step.number % 2
        else ev.DeliveryAttempted(row.id, row.ref, row.made + 1, DELIVERED, "delivered", None)
        for row in node.state.deliveries.pending_of(step.ref).values()
    ][:1]


def _take(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    elsewhere = list(node.state.deliveries.remote.get(step.ref, ()))
    return [ev.DeliveryTaken(id_, step.ref, node.clock.now_ms()) for id_ in elsewhere]


def _tell(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    message = node.state.listings.untold.get(step.ref)
    if message is None or message.node:
        return []
    failed = Attempt(node.clock.now_ms(), 1, 500, "http_500", "")
    number, decided_ms = message.made + 1, message.decided_ms
    if step.number % 2:
        return [ev.OwnerMessageAttempted(step.ref, decided_ms, number, failed, "retry", NOW_MS)]
    return [ev.OwnerMessageAttempted(step.ref, decided_ms, number, DELIVERED, "delivered", None)]


def _take_message(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    message = node.state.listings.untold.get(step.ref)
    if message is None or not message.node:
        return []
    return [ev.OwnerMessageTaken(step.ref, message.decided_ms, node.clock.now_ms())]


def _sign_in(node: Node, step: Step, new: str) -> Sequence[ev.Event]:
    sessions = Sessions(node.state, Moderators(node.state, frozenset()), TERMS)
    profile = UserProfile(f"user {step.number}")
    had = _session(node, step) if step.number % 2 else None
    return sessions.sign_in(step.user, profile, f"digest {new}", "Firefox", _now(node), ends=had)


def _sign_out(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    had = _session(node, step) if step.number else None
    return end_sessions(node.state, step.user, [had] if had else None, _now(node), by=_by(step))


def _session(node: Node, step: Step) -> str | None:
    row = node.state.users.get(user_ref(step.user))
    sessions = row.sessions if row is not None else ()
    return sessions[step.number % len(sessions)].digest if sessions else None


def _see(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    had = _session(node, step)
    return [ev.SessionSeen(user_ref(step.user), had, _now(node))] if had else []


def _appoint(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    moderators = Moderators(node.state, frozenset())
    if step.number % 2:
        return moderators.appoint(step.user, _now(node), by=OPERATOR)
    return moderators.dismiss(step.user, _now(node), by=OPERATOR)


def _quarantine(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    other = USERS[1 - USERS.index(step.user)]
    return impose(node.state, other, "vote", f"Reason {step.number}", None, _now(node), by=_by(step))


def _remind(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    """Attempt a reminder, at a node that knows the earlier attempts."""
    row = node.state.users.get(user_ref(step.user))
    reminder = row.reminder(step.ref) if row is not None else None
    if row is None or reminder is None:
        return []
    made = reminder.message.made if reminder.message is not None else 0
    attempt = Attempt(_now(node), 1, None, "timeout", "")
    due = (reminder.set_ms, made + 1, attempt)
    return [ev.ReminderAttempted(row.ref, step.ref, *due, "retry", _now(node) + 1)]


def _claim(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    return [listing_claimed(step.ref, step.number % 3 > 0, _now(node), by=_by(step))]


def _check(node: Node, step: Step, _: str) -> Sequence[ev.Event]:
    checks = (ServerCheck("members", "fail" if step.number % 3 else "pass", step.number, 100, _now(node)),)
    return eligibility.check(node.state, step.ref, checks, _now(node), 2, by=_by(step))


_WRITTEN: Sequence[dict[str, Any]] = [
    {
        "owner_id": (OWNER, USER)[number % 2],
        "name": f"Bot {number}",
        "short_description": "Sixteen letters or more",
        "description": "A description of thirty-two letters or more.",
        "categories": ["Utility"],
    }
    for number in range(8)
]
_POLICY = webhooks.WebhookPolicy(lambda _: False, lambda: SECRET, 3, 100)
_RULES: Mapping[str, Callable[[Node, Step, str], Sequence[ev.Event]]] = {
    "submit": _submit,
    "edit": lambda node, step, _: rules.edit(
        node.state,
        step.ref,
        read(BOTS.edit, _WRITTEN[step.number]),
        node.clock.now_ms(),
        by=_by(step),
        shown="after" if step.number % 3 else "before",
    ),
    "agree": lambda node, step, _: rules.decide(
        node.state,
        step.ref,
        rules.Verdict("change_agreed", version=_version(node, step)),
        _now(node),
        by=_by(step),
        tells_owner=True,
    ),
    "refuse": lambda node, step, _: rules.decide(
        node.state,
        step.ref,
        rules.Verdict("change_refused", "No.", _version(node, step)),
        _now(node),
        by=_by(step),
        tells_owner=True,
    ),
    "withdraw": lambda node, step, _: rules.decide(
        node.state, step.ref, rules.Verdict("withdrawn", "No."), _now(node), by=_by(step), tells_owner=True
    ),
    "approve": lambda node, step, _: rules.decide(
        node.state, step.ref, rules.Verdict("approved"), _now(node), by=_by(step), tells_owner=True
    ),
    "deny": lambda node, step, _: rules.decide(
        node.state, step.ref, rules.Verdict("denied", "No."), _now(node), by=_by(step), tells_owner=True
    ),
    "remove": lambda node, step, _: rules.remove(node.state, step.ref, _now(node), by=_by(step)),
    "count": lambda node, step, _: rules.set_actual_count(
        node.state, step.ref, step.number, _now(node), by=_by(step)
    ),
    "limit": lambda node, step, _: rules.set_limits(
        node.state,
        step.ref,
        Limits(stats=Limit(requests=step.number + 1, window_seconds=1)),
        node.clock.now_ms(),
        by=_by(step),
    ),
    "issue": lambda node, step, new: keys.issue_key(
        node.state,
        step.ref,
        keys.NewKey(new, new, f"digest {new}"),
        now_ms=node.clock.now_ms(),
        keys_per_listing=4,
        by=_by(step),
    ),
    "rotate": lambda node, step, new: keys.rotate_key(
        node.state,
        step.ref,
        _key_id(node, step),
        digest=f"digest {new}",
        overlap_seconds=step.number % 2,
        now_ms=node.clock.now_ms(),
        by=_by(step),
    ),
    "use": lambda node, step, _: keys.used_keys(
        node.state,
        [key.digest for key in rules.listing_of(node.state, step.ref).keys],
        day_of(NOW_MS) + step.number,
    ),
    "revoke": lambda node, step, _: keys.delete_key(
        node.state, step.ref, _key_id(node, step), _now(node), by=_by(step)
    ),
    "invite": lambda node, step, new: owners.invite(
        rules.listing_of(node.state, step.ref), step.user, new, _now(node), by=OPERATOR
    ),
    "join": lambda node, step, _: owners.accept_invitation(
        rules.listing_of(node.state, step.ref), step.user, _now(node), by=_by(step)
    ),
    "part": lambda node, step, _: owners.end_co_owner(
        rules.listing_of(node.state, step.ref), step.user, _now(node), by=_by(step)
    ),
    "offer": lambda node, step, _: owners.offer(
        rules.listing_of(node.state, step.ref), step.user, _now(node), by=OPERATOR
    ),
    "inherit": lambda node, step, new: owners.accept_offer(
        rules.listing_of(node.state, step.ref), step.user, new, _now(node), by=_by(step)
    ),
    "update": _update,
    "webhook": lambda node, step, _: webhooks.save_webhook(
        node.state,
        step.ref,
        WebhookSettings(url=f"https://receiver.example/{step.number}"),
        _POLICY,
        node.clock.now_ms(),
        by=_by(step),
    ),
    "unhook": lambda node, step, _: webhooks.remove_webhook(node.state, step.ref, _now(node), by=_by(step)),
    "fail": lambda _, step, __: [ev.EndpointHealthSet(step.ref, step.number, None)],
    "vote": _vote,
    "remove_votes": _remove_votes,
    "sign in": _sign_in,
    "sign out": _sign_out,
    "see": _see,
    "appoint": _appoint,
    "claim": _claim,
    "note": lambda node, step, _: [ev.NoteAdded(step.ref, f"Note {step.number}", _now(node), by=_by(step))],
    "flag": lambda node, step, new: [ev.VoteFlagged(step.ref, step.user, "burst", f"flag {new}", _now(node))],
    "report": lambda node, step, _: reports.report(
        rules.listing_of(node.state, step.ref), step.user, "breaks_rules", "", _now(node)
    ),
    "settle": lambda node, step, _: reports.settle(
        rules.listing_of(node.state, step.ref), None, _now(node), by=_by(step)
    ),
    "prove": lambda node, step, _: [ownership_proven(step.ref, _now(node), by=_by(step))],
    "take over": lambda node, step, _: owners.take_over(
        rules.listing_of(node.state, step.ref), (OWNER, USER)[step.number % 2], "server owner", _now(node)
    ),
    "check": _check,
    "read": lambda node, step, _: [notices_read(user_ref(step.user), _now(node))],
    "quarantine": _quarantine,
    "name": lambda node, step, _: set_naming(
        node.state, step.user, _now(node), is_allowed=step.number % 2 > 0, by=_by(step)
    ),
    "remind": lambda node, step, _: [ev.ReminderSet(user_ref(step.user), step.ref, _now(node))],
    "forget": lambda node, step, _: [ev.ReminderSet(user_ref(step.user), step.ref, _now(node), is_on=False)],
    "rate": lambda node, step, _: [
        ev.RatingSet(
            user_ref(step.user),
            Rating(step.ref, _now(node), 1 + step.number % 5, f"Review {step.number}"),
            _now(node),
        )
    ],
    "unrate": lambda node, step, _: [
        ev.RatingSet(
            user_ref(step.user),
            Rating(step.ref, _now(node), reason=("", "Why.")[step.number % 2]),
            _now(node),
        )
    ],
    "answer a review": lambda node, step, _: [
        ev.RatingAnswered(
            user_ref(step.user),
            step.ref,
            RatingAnswer(_now(node), ("", "Thanks")[step.number % 2]),
            _now(node),
        )
    ],
    "remind by message": _remind,
    "attempt": _attempt,
    "take": _take,
    "tell": _tell,
    "take message": _take_message,
}
_OTHERWISE: Mapping[str, Callable[[Simulation, Node, Step], None]] = {
    "wait": Simulation._wait,
    "hear": Simulation._hear,
    "erase": Simulation._erase,
    "stop": Simulation._stop,
    "rename": Simulation._rename,
}
