"""The log of security events: sign-ins, refusals, and changes of the rights of others.

Invariant: an event is one line with the actor, the client's address and the request's id, and nothing that
somebody sent: no token, no key, no text. Lines about changes come from the events in the journal. Lines about
refusals come from the code that refuses. `log.level` and `server.access_log` do not silence them.

The lines of an event are bounded in each minute (`SecurityBounds`). One more line then says how many were
left out.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextvars import Context
from typing import NamedTuple

from msgspec import UNSET

from core.actors import ADDRESS, GATEWAY, UNKNOWN, user_actor
from core.clock import NS_PER_SECOND, Clock
from core.events import (
    FREQUENT,
    CoOwnerSaved,
    CoOwnersEnded,
    Event,
    KeyDeleted,
    KeySaved,
    ListingRemoved,
    ListingTakenOver,
    OwnerSet,
    QuarantineSet,
    SessionsEnded,
    UserSignedIn,
    UserSlotsSet,
)

LOGGER = "votegate.security"
log = logging.getLogger(LOGGER)

OF_STRANGERS = frozenset({"wrong_operator_token", "sign_in_failed", "form_refused"})
"""The events that anybody can cause."""
STRANGERS_LINES, LINES = 100, 1_000
"""The most lines of one event in a minute: of an event of strangers, and of any other."""
MINUTE_NS = 60 * NS_PER_SECOND
LEFT_OUT = "left_out"


def tell(event: str, **facts: str) -> None:
    """Write a line. `facts` are ids, refs, actors and our own names; empty ones are left out."""
    if log.isEnabledFor(logging.INFO):
        known = {name: fact for name, fact in {**facts, "address": ADDRESS.get()}.items() if fact}
        text = " ".join((event, *(f"{name}={fact}" for name, fact in known.items())))
        log.info("%s", text, extra={"fields": {"event": event, **known}})


def on_record(_: int, events: Sequence[Event]) -> None:
    """Log the security events of a committed record."""
    for event in events:
        if type(event) not in FREQUENT:
            _tell_of_user(event)
            _tell_of_listing(event)


def _tell_of_user(event: Event) -> None:
    match event:
        case UserSignedIn():
            tell("signed_in", by=event.by, user=event.ref)
        case SessionsEnded() if event.by != GATEWAY:  # it ends sessions that have expired
            tell("sessions_ended", by=event.by, user=event.ref, sessions=f"{len(event.digests)}")
        case UserSlotsSet() if event.role is not UNSET:
            given = "role_given" if event.role is not None else "role_taken"
            tell(given, by=event.by, user=event.ref, role=event.role or "moderator")
        case QuarantineSet(quarantine=quarantine):
            imposed = "quarantined" if quarantine.is_in_force(event.at_ms) else "quarantine_lifted"
            tell(imposed, by=event.by, user=event.ref, act=quarantine.act)


def _tell_of_listing(event: Event) -> None:
    match event:
        case KeySaved(key=key):
            issued = "key_issued" if key.rotated_ms is None else "key_rotated"
            tell(issued, by=event.by, listing=event.ref, key=key.id)
        case KeyDeleted():
            tell("key_revoked", by=event.by, listing=event.ref, key=event.key_id)
        case OwnerSet(hand_over=hand_over):
            owner, heir = user_actor(event.owner_id), hand_over.successor if hand_over is not None else ""
            tell(event.action, by=event.by, listing=event.ref, owner=owner, heir=heir)
        case CoOwnerSaved(co_owner=co_owner):
            action = "co_owner_invited" if co_owner.joined_ms is None else "co_owner_joined"
            tell(action, by=event.by, listing=event.ref, user=co_owner.user)
        case CoOwnersEnded():
            tell(event.action, by=event.by, listing=event.ref)
        case ListingTakenOver():
            tell("taken_over", by=event.by, listing=event.ref, owner=user_actor(event.owner_id))
        case ListingRemoved() if event.by != UNKNOWN:  # else another node did it, and has logged it
            tell("listing_removed", by=event.by, listing=event.ref)


class _Minute(NamedTuple):
    """The minute in which an event is counted, from its first line."""

    began_ns: int
    times: int


class SecurityBounds(logging.Filter):
    """Bounds the lines of each event."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._minutes: dict[str, _Minute] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        event: str = record.fields["event"]  # type: ignore[attr-defined] # of `tell`
        if event == LEFT_OUT:
            return True
        self.step()
        now_ns = self._clock.monotonic_ns()
        minute = self._minutes.get(event, _Minute(now_ns, 0))
        self._minutes[event] = minute = minute._replace(times=minute.times + 1)
        return minute.times <= _most(event)

    def step(self) -> None:
        """Log how many lines were left out in the minutes that are over."""
        now_ns = self._clock.monotonic_ns()
        for event, minute in [*self._minutes.items()]:
            if now_ns - minute.began_ns >= MINUTE_NS:
                self._end(event)

    def _end(self, event: str) -> None:
        left_out = self._minutes.pop(event).times - _most(event)
        if left_out > 0:
            # In a context of its own: the present request is that of another event.
            Context().run(tell, LEFT_OUT, of=event, lines=f"{left_out}")

    async def run(self) -> None:
        """Bound the lines until cancelled."""
        log.addFilter(self)
        try:
            while True:
                await asyncio.sleep(1)
                self.step()
        finally:
            for event in [*self._minutes]:
                self._end(event)
            log.removeFilter(self)


def _most(event: str) -> int:
    return STRANGERS_LINES if event in OF_STRANGERS else LINES
