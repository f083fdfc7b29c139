"""The message that tells an owner of a decision, as events and other nodes change it.

Law: a message is about one decision, and an event about another decision changes nothing. Of two messages
the one of the later decision wins. Of one decision the message that was taken over last wins, and of one
sender the furthest.
"""

from typing import assert_never

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from core.events import OwnerMessageAttempted, OwnerMessageEvent, OwnerMessageQueued, OwnerMessageTaken
from core.rows import UNSTAMPED, OwnerMessage, Stamp

_encode = msgspec.msgpack.Encoder().encode


def changed_message(
    known: OwnerMessage | UnsetType, event: OwnerMessageEvent, stamp: Stamp | None
) -> OwnerMessage | UnsetType:
    """Return the message after an event. `stamp` is that of a decision, and given inside a fleet only."""
    match event:
        case OwnerMessageQueued():
            stamp, at_ms = stamp or UNSTAMPED, event.at_ms
            if known is not UNSET and (known.stamp, known.decided_ms) == (stamp, at_ms):
                return known
            return OwnerMessage(event.to, event.decision, event.reason, at_ms, at_ms, stamp=stamp)
        case OwnerMessageAttempted():
            if known is UNSET or not _is_local(known, event.decided_ms) or event.number <= known.made:
                return known
            return replace(
                known,
                made=event.number,
                tries=known.tries + (event.outcome != "held"),
                next_attempt_ms=event.next_attempt_ms,
                delivered=event.outcome == "delivered",
                last=event.attempt,
            )
        case OwnerMessageTaken():
            if known is UNSET or not known.node or known.decided_ms != event.decided_ms:
                return known
            if known.next_attempt_ms is None:
                return known
            due_ms = min(known.next_attempt_ms, event.at_ms)  # the clock of its sender may be ahead
            # Later than the takeover before, whatever the clocks say.
            taken_ms = max(event.at_ms, known.taken_ms + 1)
            return replace(known, node="", taken_ms=taken_ms, next_attempt_ms=due_ms)
        case _:
            assert_never(event)


def _is_local(message: OwnerMessage, decided_ms: int) -> bool:
    """Tell if it is a message that this node is to send, of the decision of that time."""
    return (message.node, message.decided_ms) == ("", decided_ms) and message.next_attempt_ms is not None


def joined_messages(
    one: OwnerMessage | UnsetType, other: OwnerMessage | UnsetType
) -> OwnerMessage | UnsetType:
    """Merge the messages of two shared rows."""
    if one is UNSET or other is UNSET:
        return other if one is UNSET else one
    return max(one, other, key=_progress)


def _progress(message: OwnerMessage) -> tuple[Stamp, int, int, str, int, bool, bytes]:
    """Rank a message. The bytes decide nothing among rows of one history: they make the rank total."""
    sender = (message.taken_ms, message.node)
    done = (message.made, message.next_attempt_ms is None)
    return (message.stamp, message.decided_ms, *sender, *done, _encode(message))
