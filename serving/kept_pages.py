"""Answers that are kept in memory, and the reader of the log that drops them.

An answer is kept under its address and its variant. Only the slow way, through Tornado, makes answers:
`keeping` wraps the endpoints whose routes declare that their answers may be kept. Of these, an answer is kept
if every cache may keep it, so its `Cache-Control` and its `Vary` decide here, too.

    made --> fresh, 2 s --> old: the next request makes it again, the others get it, up to an age of 10 s
      \\______ an event about a listing or a user that it shows drops it, at any age

Invariants:

* From the commit of an event that drops an answer, it is never sent again.
* An answer that was begun before such an event is not kept behind it.
* An answer that is not the same for everybody is not kept: see `AnswerKeeping.variant`.
* The kept answers take at most `room` bytes. One that was asked for once or twice pushes out only others like
  it: a fifth of the room is for answers on probation, and those asked for more often have the rest. In each
  part, the least recently used leaves first.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncGenerator, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args
from urllib.parse import urlencode

import msgspec
from tornado.httputil import HTTPHeaders

from core import events as ev
from core.clock import NS_PER_MS, NS_PER_SECOND, Clock
from core.finished import finished
from handlers.gzip_body import LEAST_BYTES, packed
from handlers.reply import Reply
from handlers.request import Endpoint, Request, is_known
from handlers.route import AnswerKeeping, AnswerVariant, Resource
from serving.traffic import EndpointTraffic, Traffic

FRESH_NS = 2 * NS_PER_SECOND
"""The age up to which an answer is as good as a new one: votes and counts may be that old."""
OLDEST_NS = 10 * NS_PER_SECOND
"""The age up to which others get an answer while one request makes it again."""
CLAIM_NS = 500 * NS_PER_MS
"""The time in which a request that was to make an answer again has to begin with it."""
PROBATION = 5
"""The part of the room for answers on probation: one in so many."""
ASKED_OFTEN = 3
"""The requests after which an answer is no longer on probation."""
OF_A_SLOT = 3_000
OF_A_REF = 150
"""The bytes that a kept answer takes beside address and content, and those for each listing or user in it."""
LONG = 128 * 1_024
"""The size from which a thread packs an answer: it takes milliseconds."""
MOST_REFS = 1_000
"""An answer that shows more listings, such as a part of the sitemap, is dropped with any of them."""
ANY = "*"

Drop = Literal["shown", "all", "nothing"]
"""The answers that an event drops: those that show its listing or user, all, or none. The last are as old as
their age lets them be."""
DROPS: Mapping[type[ev.Event], Drop] = {
    # Removed, hidden, withdrawn, suspended, decided, edited: the old answer must not be seen any more.
    ev.ListingSaved: "shown",
    ev.ListingReviewed: "shown",
    ev.ChangeDecided: "shown",
    ev.SlotsSet: "shown",
    ev.ListingTakenOver: "shown",
    ev.ListingRemoved: "shown",
    ev.ListingMerged: "shown",
    ev.OwnerSet: "shown",
    ev.ReportsSettled: "shown",
    # Users with their reviews and answers. An erasure changes listings that it does not name.
    ev.RatingSet: "shown",
    ev.RatingAnswered: "shown",
    ev.QuarantineSet: "shown",
    ev.UserMerged: "shown",
    ev.UserDropped: "shown",
    ev.UserErased: "all",
    # Votes, counts and names: their age is bounded, and that is enough.
    ev.VoteCast: "nothing",
    ev.VotesRemoved: "nothing",
    ev.VotesMerged: "nothing",
    ev.VotesMoved: "nothing",
    ev.VoteCountsMerged: "nothing",
    ev.StatsUpdated: "nothing",
    ev.DownloadCounted: "nothing",
    ev.UserSignedIn: "nothing",
    # No stranger sees these.
    **dict.fromkeys(
        (
            *(ev.CoOwnerSaved, ev.CoOwnersEnded, ev.KeySaved, ev.KeyUsed, ev.KeyDeleted, ev.NoteAdded),
            *(ev.VoteFlagged, ev.ListingReported, ev.EndpointHealthSet, ev.DeliveryQueued),
            *(ev.DeliveryAttempted, ev.DeliveryDropped, ev.DeliveryTaken, ev.DeliveryMerged),
            *(ev.DeliveryForgotten, ev.OwnerMessageQueued, ev.OwnerMessageAttempted, ev.OwnerMessageTaken),
            *(ev.SessionSeen, ev.SessionsEnded, ev.EndingsForgotten, ev.UserSlotsSet, ev.ReminderSet),
            *(ev.ReminderAttempted, ev.MailAttempted, ev.CooldownsKept, ev.NodeNamed, ev.Merged),
        ),
        "nothing",
    ),
}
Outcome = Literal["kept", "made"]
"""The source of an answer that may be kept: memory, or a page that was made for the request."""
DropReason = Literal["event", "room"]
"""The reason to drop an answer that is not too old."""
_BY_AGE = frozenset(kind for kind, drop in DROPS.items() if drop == "nothing")


@dataclass(slots=True, eq=False)
class KeptAnswer:
    """The place of an answer. It is empty once the answer is dropped, and never filled again."""

    address: "KeptAddress"
    key: Hashable
    reply: Reply | None = None
    shows: Collection[str] = ()
    size: int = 0
    made_ns: int = 0
    fresh_until_ns: int = 0
    claimed_until_ns: int = 0
    makers: int = 0
    requests: int = 0
    part: "OrderedDict[KeptAnswer, None]" = field(default_factory=OrderedDict)
    head: tuple[bytes, bytes] | None = None
    """The head of the answer as the direct route has it."""


@dataclass(slots=True, eq=False)
class KeptAddress:
    """A path with its query, and the slots of its variants."""

    path: bytes
    keeping: AnswerKeeping
    traffic: EndpointTraffic
    varies: bool
    """True if the answers differ in more than their packing."""
    slots: dict[Hashable, KeptAnswer] = field(default_factory=dict)

    def key(self, variant: AnswerVariant) -> Hashable:
        return variant if self.varies else variant.is_packed


@dataclass(slots=True, eq=False)
class _Making:
    """An answer that is being made, and what was dropped meanwhile."""

    dropped: set[str] = field(default_factory=set)
    is_all: bool = False

    def spoils(self, shows: Collection[str]) -> bool:
        """Return true if something that the answer shows was dropped."""
        return self.is_all or not self.dropped.isdisjoint(shows)


class KeptPages:
    """The kept answers of a gateway.

    Args:
        room: the bytes that they take at most; without room, none is kept.
    """

    def __init__(self, room: int, clock: Clock, traffic: Traffic) -> None:
        self.room = room
        self._most = room // PROBATION
        self._monotonic_ns = clock.monotonic_ns
        self._traffic = traffic
        self._probation = OrderedDict[KeptAnswer, None]()
        self._protected = OrderedDict[KeptAnswer, None]()
        self._sizes = {id(self._probation): 0, id(self._protected): 0}
        self._shown: dict[str, set[KeptAnswer]] = {}
        self._makings: set[_Making] = set()
        self.addresses: dict[bytes, KeptAddress] = {}
        self.requests: dict[Outcome, int] = dict.fromkeys(get_args(Outcome), 0)
        self.dropped: dict[DropReason, int] = dict.fromkeys(get_args(DropReason), 0)

    def __len__(self) -> int:
        return len(self._probation) + len(self._protected)

    @property
    def size(self) -> int:
        """The bytes that the kept answers take."""
        return sum(self._sizes.values())

    # From the log.

    def on_record(self, _: int, events: Sequence[ev.Event]) -> None:
        """Drop every answer that a committed record has made wrong."""
        for event in events:
            if type(event) in _BY_AGE:
                continue
            if DROPS[type(event)] == "all":
                self._drop_all()
            else:
                self._drop(event.ref)  # type: ignore[union-attr]  # the others drop nothing

    def _drop(self, ref: str) -> None:
        for making in self._makings:
            making.dropped |= {ref, ANY}
        self._let_go([*self._shown.get(ref, ()), *self._shown.get(ANY, ())], "event")

    def _drop_all(self) -> None:
        for making in self._makings:
            making.is_all = True
        self._let_go([*self._probation, *self._protected], "event")

    def _let_go(self, slots: Collection[KeptAnswer], reason: DropReason) -> None:
        self.dropped[reason] += len(slots)
        for slot in slots:
            self.forget(slot)

    # From the slow way.

    def keeping(self, resources: Sequence[Resource]) -> list[Resource]:
        """Return the resources. Those that declare it keep their answers, and answer with kept ones."""
        return [
            replace(each, endpoints={**each.endpoints, "GET": self._kept(each, each.keeping)})
            if each.keeping is not None
            else each
            for each in resources
        ]

    def _kept(self, resource: Resource, keeping: AnswerKeeping) -> Endpoint:
        make, traffic = resource.endpoints["GET"], self._traffic.of(resource.name("GET"))
        parameters = frozenset(keeping.parameters)

        async def serve(request: Request) -> Reply:
            variant = keeping.variant(request.headers)
            if variant is None or not request.query.keys() <= parameters:
                return await finished(make(request))
            path = address_of(request.path, request.query)
            slot = self._slot(path, variant)
            if slot is not None and slot.reply is not None and self.may_send(slot, is_claim=False):
                self.used(slot)
                return _if_changed(request, slot.reply)
            self.requests["made"] += 1
            making = _Making()
            self._makings.add(making)
            if slot is not None:
                slot.makers += 1
            began_ns, is_stored = self._monotonic_ns(), False
            try:
                whole = await self._whole(await finished(make(_unconditional(request))))
                reply = await _tagged(whole, variant)
                if _may_keep(reply) and not making.spoils(_indexed(reply)):
                    address = self.addresses.get(path) or KeptAddress(path, keeping, traffic, _varies(reply))
                    is_stored = self._store(address, variant, reply, began_ns)
            finally:
                self._makings.discard(making)
                if slot is not None:
                    slot.makers -= 1
                    slot.claimed_until_ns = 0
                    if not is_stored:
                        self.forget(slot)
            return _if_changed(request, reply)

        return serve

    async def _whole(self, reply: Reply) -> Reply:
        """Return an answer that may be kept without its stream, if it is short enough."""
        stream = reply.stream
        if stream is None or not _may_keep(msgspec.structs.replace(reply, stream=None)):
            return reply
        pieces, size = list[bytes](), 0
        async for piece in stream:
            pieces.append(piece)
            size += len(piece)
            if size > self._most:
                return msgspec.structs.replace(reply, stream=_from_the_start(pieces, stream))
            await asyncio.sleep(0)
        return msgspec.structs.replace(reply, body=b"".join(pieces), stream=None)

    def _slot(self, path: bytes, variant: AnswerVariant) -> KeptAnswer | None:
        address = self.addresses.get(path)
        return address.slots.get(address.key(variant)) if address is not None else None

    # From both ways.

    def may_send(self, slot: KeptAnswer, *, is_claim: bool) -> bool:
        """Return true if the answer in a slot may be sent. If not, the request is to make it again.

        Args:
            is_claim: true for a request on the direct route. It has yet to find its way to the maker.
        """
        now_ns = self._monotonic_ns()
        if now_ns < slot.fresh_until_ns:
            return True
        if slot.reply is None or now_ns >= slot.made_ns + OLDEST_NS:
            return False
        if slot.makers:
            return True
        if is_claim:
            if now_ns < slot.claimed_until_ns:
                return True
            slot.claimed_until_ns = now_ns + CLAIM_NS
        return False

    def used(self, slot: KeptAnswer) -> None:
        """Note a request that gets the answer in a slot."""
        self.requests["kept"] += 1
        self._note(slot)

    def _note(self, slot: KeptAnswer) -> None:
        """Note a request for the answer in a slot, which may be the one that it was made for."""
        slot.part.move_to_end(slot)
        if slot.part is self._probation:
            slot.requests += 1
            if slot.requests >= ASKED_OFTEN:
                self._protect(slot)

    def forget(self, slot: KeptAnswer) -> None:
        """Drop the answer in a slot."""
        if slot.reply is None:
            return
        self._take(slot)
        self._index(slot, ())
        slot.reply, slot.head, slot.fresh_until_ns = None, None, 0
        address = slot.address
        del address.slots[slot.key]
        if not address.slots:
            del self.addresses[address.path]

    # The two parts.

    def _store(self, address: KeptAddress, variant: AnswerVariant, reply: Reply, began_ns: int) -> bool:
        """Keep an answer, if there is room for it. Return true if it is kept."""
        shows = _indexed(reply)
        size = OF_A_SLOT + len(address.path) + len(reply.body) + OF_A_REF * len(shows)
        if size > self._most or _varies(reply) != address.varies:
            return False
        key = address.key(variant)
        slot = address.slots.get(key)
        if slot is None:
            slot = KeptAnswer(address, key)
        elif began_ns < slot.made_ns:
            return True  # another request has begun later, and was quicker
        self._index(slot, shows)
        if slot.reply is not None:
            self._sizes[id(slot.part)] += size - slot.size
            slot.size = size
        else:
            slot.size = size
            self._put(slot, self._probation)
            address.slots[key] = slot
            self.addresses[address.path] = address
        slot.reply, slot.head = reply, None
        slot.made_ns, slot.fresh_until_ns = began_ns, began_ns + FRESH_NS
        self._note(slot)
        self._make_room()
        return slot.reply is not None

    def _put(self, slot: KeptAnswer, part: "OrderedDict[KeptAnswer, None]") -> None:
        part[slot] = None
        slot.part = part
        self._sizes[id(part)] += slot.size

    def _take(self, slot: KeptAnswer) -> None:
        del slot.part[slot]
        self._sizes[id(slot.part)] -= slot.size

    def _protect(self, slot: KeptAnswer) -> None:
        self._take(slot)
        self._put(slot, self._protected)

    def _make_room(self) -> None:
        """Let answers leave. One that leaves the protected part is on probation again."""
        while self._sizes[id(self._protected)] > self.room - self._most:
            slot = next(iter(self._protected))
            self._take(slot)
            slot.requests = 0
            self._put(slot, self._probation)
        while self._sizes[id(self._probation)] > self._most:
            self._let_go([next(iter(self._probation))], "room")

    def _index(self, slot: KeptAnswer, shows: Collection[str]) -> None:
        """Note that the answer in a slot shows these listings and users."""
        for ref in slot.shows:
            slots = self._shown[ref]
            slots.discard(slot)
            if not slots:
                del self._shown[ref]
        slot.shows = shows
        for ref in shows:
            self._shown.setdefault(ref, set()).add(slot)


def address_of(path: str, query: Mapping[str, str]) -> bytes:
    """Return a path with its query in one order."""
    written = f"{path}?{urlencode(sorted(query.items()))}" if query else path
    return written.encode("latin-1", "replace")


def _unconditional(request: Request) -> Request:
    """Return the request without its condition, so that the answer to it is whole."""
    if "If-None-Match" not in request.headers:
        return request
    headers = HTTPHeaders(dict(request.headers))
    del headers["If-None-Match"]
    return request._replace(headers=headers)


async def _from_the_start(
    read: Sequence[bytes], rest: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Yield pieces of a stream that were read, and then the rest of it."""
    try:
        for piece in read:
            yield piece
        async for piece in rest:
            yield piece
    finally:
        await rest.aclose()


async def _tagged(reply: Reply, variant: AnswerVariant) -> Reply:
    """Return an answer that caches may keep packed, if it is long enough, and with its tag."""
    if not _may_keep(reply):
        return reply
    headers = {**reply.headers}
    body = reply.body
    is_plain = "content-encoding" not in headers and _is_text(reply.content_type)
    if is_plain and not _varies(reply) and len(body) >= LEAST_BYTES:
        headers["vary"] = "Accept-Encoding"
        if variant.is_packed:
            body = packed(body) if len(body) < LONG else await asyncio.to_thread(packed, body)
            headers["content-encoding"] = "gzip"
        headers.pop("etag", None)
    if "etag" not in headers:
        headers["etag"] = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    return msgspec.structs.replace(reply, body=body, headers=headers)


def _is_text(content_type: str) -> bool:
    return content_type.startswith(("text/", "application/", "image/svg"))


def _may_keep(reply: Reply) -> bool:
    """Return true if every cache may keep an answer."""
    return (
        reply.status == 200
        and reply.headers.get("cache-control", "").startswith("public")
        and not reply.cookies
        and reply.stream is None
        and reply.limits is None
    )


def _indexed(reply: Reply) -> Collection[str]:
    """Return the refs whose events drop an answer."""
    return reply.shows if len(reply.shows) <= MOST_REFS else (ANY,)


def _varies(reply: Reply) -> bool:
    """Return true if the answers at an address differ in more than their packing."""
    return reply.headers.get("vary", "") not in {"", "Accept-Encoding"}


def _if_changed(request: Request, reply: Reply) -> Reply:
    """Return the answer; 304 if the client has it already (RFC 9110, 13.1.2)."""
    if reply.status == 200 and "etag" in reply.headers and is_known(request, reply.headers["etag"]):
        return msgspec.structs.replace(reply, status=304, body=b"")
    return reply
