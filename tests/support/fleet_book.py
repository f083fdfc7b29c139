"""The events that the nodes of a fleet have acknowledged, with the removals and erasures that each node knew
of."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET

from core import events as ev
from core.actors import user_of
from core.clock import day_of, month_of_day
from core.fleet_table import label_of
from core.push_history import Pushed
from core.rows import CoOwner, Key, Listing, Stamp, StatsWindow
from core.sharing import NO_TENURE, OF_OWNERS, WRITTEN_TOGETHER, tenure
from tests.support.memory_nodes import DIGESTS, Node

Life = tuple[str, int]
"""A listing's ref, and the time at which a former listing of the same ref was removed."""
Tenure = tuple[Stamp, int]


class Vote(NamedTuple):
    ref: str
    user: str
    at_ms: int
    life: int
    forgotten: int
    removed_ms: int


class Removed:
    """Votes that a node has removed, by day and by month."""

    def __init__(self) -> None:
        self.days = Counter[int]()
        self.months = Counter[int]()


class SignIn(NamedTuple):
    ref: str
    digest: str
    forgotten: int


class Message(NamedTuple):
    """A message to an owner, when it was queued."""

    stamp: Stamp
    user: str


class Book:
    def __init__(self) -> None:
        self.votes: list[Vote] = []
        self.parts: dict[tuple[Life, str], list[tuple[tuple[Tenure, Stamp], list[Any]]]] = defaultdict(list)
        self.keys: dict[tuple[Life, Tenure], dict[str, list[Key]]] = defaultdict(lambda: defaultdict(list))
        """By the take-over that the issuer of the key knew of."""
        self.used: dict[Life, dict[str, int]] = defaultdict(dict)
        self.deleted: dict[Life, set[str]] = defaultdict(set)
        self.windows: dict[Life, dict[str, StatsWindow]] = defaultdict(dict)
        self.pushed: dict[Life, dict[int, Pushed]] = defaultdict(dict)
        """The greatest counts of each day."""
        self.removed: dict[Life, dict[str, Removed]] = defaultdict(lambda: defaultdict(Removed))
        """The votes that each node has removed."""
        self.erased: set[str] = set()
        self.sign_ins: list[SignIn] = []
        self.ended: set[str] = set()
        self.co_owners: dict[tuple[Life, Tenure], dict[str, list[CoOwner]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.messages: dict[Life, list[Message]] = defaultdict(list)

    def note(self, node: Node, events: Sequence[ev.Event]) -> None:
        for event in events:
            match event:
                case ev.VoteCast():
                    self._note_vote(node, event)
                case ev.UserSignedIn():
                    forgotten = node.state.fleet.erased.get(DIGESTS.user(node.state.users[event.ref].id), 0)
                    self.sign_ins.append(SignIn(event.ref, event.session.digest, forgotten))
                    self.ended.update(event.ends)
                case ev.SessionsEnded():
                    self.ended.update(event.digests)
                case ev.VotesRemoved():
                    self._note_removed(self.removed[self._life(node, event.ref)][node.label], event)
                case ev.UserErased():
                    self.erased.add(event.user)
                case ev.KeyDeleted() | ev.CoOwnersEnded():
                    ids = (event.key_id,) if isinstance(event, ev.KeyDeleted) else event.ids
                    self.deleted[self._life(node, event.ref)].update(ids)
                case ev.KeyUsed():
                    used = self.used[self._life(node, event.ref)]
                    used[event.key_id] = max(event.day, used.get(event.key_id, 0))
                case ev.OwnerMessageQueued():
                    self._note_message(node, event)
                case _:
                    self._note_written(node, event)

    def _note_vote(self, node: Node, event: ev.VoteCast) -> None:
        life, pseudonym = self._life(node, event.ref)[1], DIGESTS.user(event.user)
        forgotten = node.state.fleet.erased.get(pseudonym, 0)
        removed_ms = node.state.fleet.removed_votes.get(event.ref, {}).get(event.user, 0)
        self.votes.append(Vote(event.ref, event.user, event.at_ms, life, forgotten, removed_ms))

    @staticmethod
    def _note_removed(of_node: Removed, event: ev.VotesRemoved) -> None:
        for day, of_day, of_month in event.days:
            of_node.days[day] = max(of_day, of_node.days[day])
            month = month_of_day(day)
            of_node.months[month] = max(of_month, of_node.months[month])

    def _note_message(self, node: Node, event: ev.OwnerMessageQueued) -> None:
        user, message = user_of(event.to) or "", node.listing(event.ref).message
        assert message is not None
        assert message.stamp is not None
        self.messages[self._life(node, event.ref)].append(Message(message.stamp, user))

    def _note_written(self, node: Node, event: ev.Event) -> None:
        match event:
            case ev.ListingSaved() | ev.ListingReviewed() | ev.ChangeDecided():
                self._note_part(node, event.ref, "profile")
                self._note_part(node, event.ref, "owner")
            case ev.ListingTakenOver():
                self._note_part(node, event.ref, "profile")
                self._note_part(node, event.ref, "webhook")
                self._note_part(node, event.ref, "owner")
            case ev.OwnerSet():
                self._note_part(node, event.ref, "owner")
            case ev.CoOwnerSaved():
                row = node.listing(event.ref)
                of_life = self.co_owners[self._life(node, event.ref), tenure(row)]
                rows = {each.id: each for each in row.co_owners}
                of_life[event.co_owner.id].append(rows[event.co_owner.id])
            case ev.StatsUpdated():
                self._note_part(node, event.ref, "counts")
                self._note_push(node, event)
            case ev.SlotsSet():
                for slot in ("actual", "limits", "webhook"):
                    if getattr(event, slot) is not UNSET:
                        self._note_part(node, event.ref, slot)
            case ev.KeySaved():
                row = node.listing(event.ref)
                key = row.key(event.key.id)
                assert key is not None
                self.keys[self._life(node, event.ref), tenure(row)][key.id].append(key)

    def _note_part(self, node: Node, ref: str, part: str) -> None:
        life, row = self._life(node, ref), node.listing(ref)
        self.parts[life, part].append((stamp_of(row, part), values(row, part)))
        if part == "counts" and row.window is not None:
            self.windows[life][node.label or label_of(node.name, 1)] = row.window

    def _note_push(self, node: Node, event: ev.StatsUpdated) -> None:
        of_life, day = self.pushed[self._life(node, event.ref)], day_of(event.at_ms)
        known, new = of_life.get(day, (-1, -1)), (event.server_count, event.command_count)
        greatest = (
            max(-1 if now is None else now, -1 if old is None else old)
            for now, old in zip(new, known, strict=True)
        )
        of_life[day] = Pushed(*(each if each >= 0 else None for each in greatest))

    @staticmethod
    def _life(node: Node, ref: str) -> Life:
        return ref, node.state.fleet.removed.get(ref, 0)


def stamp_of(row: Listing, part: str) -> tuple[Tenure, Stamp]:
    """Return the order of writings of a part. A part of the owners is ordered by the take-over first."""
    return tenure(row) if part in OF_OWNERS else NO_TENURE, getattr(row.known_stamps, part)


def values(row: Listing, part: str) -> list[Any]:
    """Return the fields that are written together.

    The state of an endpoint is not a setting of its webhook.
    """
    fields = [getattr(row, name) for name in WRITTEN_TOGETHER[part]]
    if part == "webhook" and row.webhook is not None:
        return [(row.webhook.url, row.webhook.saved_ms, row.webhook.secret)]
    return fields
