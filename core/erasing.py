"""The actors whom the row of a listing names, and how an erased name goes. Invariant: what was done stays."""

from msgspec.structs import replace

from core.actors import ERASED, Actor
from core.audit_log import without_name
from core.rows import CoOwner, Key, Listing


def actors_of(row: Listing) -> set[Actor]:
    """Return everybody whom the row names."""
    named = {each.by for each in (row.claim, row.proof, row.change) if each is not None}
    named.update(each.by for entries in (row.audit_log, row.notes, row.flags) for each in entries)
    named.update(maker for key in row.keys for maker in key.makers)
    named.update(each.user for each in row.co_owners)
    if row.message is not None:
        named.add(row.message.to)
    if row.taken is not None:
        named.add(row.taken.lost_by)
    if row.hand_over is not None:
        named.add(row.hand_over.successor)
    return named


def without_actor(row: Listing, actor: Actor, until_ms: int | None) -> Listing:
    """Return the row without the actor's name in what happened up to and with a time; None means all times.

    A claim or a proof of the actor goes, because it is nothing without a name. So does a message to the
    actor, an invitation, a co-ownership, and a hand-over that is offered to the actor.
    """
    if actor not in actors_of(row):
        return row

    def is_meant(named: Actor, at_ms: int) -> bool:
        return named == actor and (until_ms is None or at_ms <= until_ms)

    stamps, claim, proof, message = row.known_stamps, row.claim, row.proof, row.message
    if claim is not None and is_meant(claim.by, stamps.claim.ms or claim.at_ms):
        claim = None
    if proof is not None and is_meant(proof.by, stamps.proof.ms or proof.at_ms):
        proof = None
    if message is not None:
        decided_ms = message.stamp.ms if message.stamp is not None else message.decided_ms
        message = None if is_meant(message.to, decided_ms) else message
    hand_over, change, taken = row.hand_over, row.change, row.taken
    if hand_over is not None and is_meant(hand_over.successor, stamps.owner.ms or hand_over.at_ms):
        hand_over = None
    if change is not None and is_meant(change.by, change.sent_ms):
        change = replace(change, by=ERASED)
    if taken is not None and is_meant(taken.lost_by, taken.stamp.ms or taken.at_ms):
        taken = replace(taken, lost_by=ERASED)
    return replace(
        row,
        audit_log=without_name(row.audit_log, actor, until_ms),
        notes=without_name(row.notes, actor, until_ms),
        flags=without_name(row.flags, actor, until_ms),
        claim=claim,
        proof=proof,
        message=message,
        taken=taken,
        keys=tuple(_without_maker(key, actor) if is_meant(actor, _made_ms(key)) else key for key in row.keys),
        co_owners=tuple(each for each in row.co_owners if not is_meant(each.user, _written_ms(each))),
        hand_over=hand_over,
        change=change,
    )


def _made_ms(key: Key) -> int:
    return key.stamp.ms if key.stamp is not None else key.rotated_ms or key.created_ms


def _without_maker(key: Key, actor: Actor) -> Key:
    if actor not in key.makers:
        return key
    return replace(key, makers=tuple(ERASED if maker == actor else maker for maker in key.makers))


def _written_ms(co_owner: CoOwner) -> int:
    return co_owner.stamp.ms or co_owner.joined_ms or co_owner.invited_ms
