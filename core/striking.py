"""The actors that the row of a listing names, and how a name is struck out. Invariant: what was done stays.

A row names the actors of its trail, the authors of notes and of a change, the moderator who has claimed its
review, the user who has proven to own it, the former owner who lost it, the owner whom a message tells of a
decision, the users whose votes a rule has flagged, the makers of keys, co-owners and the users who are
invited, and the heir of a hand-over.
"""

from msgspec import UNSET
from msgspec.structs import replace

from core.actors import ERASED, Actor
from core.co_owner_changes import without_user
from core.rows import Claim, Key, Listing, Note, Proof, VoteFlag
from core.trail import struck_out


def actors_of(row: Listing) -> set[Actor]:
    """Return everybody whom the row names."""
    named = [each.by for each in (row.claim, row.proof, row.change) if each is not None]
    if row.message is not UNSET:
        named.append(row.message.to)
    if row.taken is not UNSET:
        named.append(row.taken.lost_by)
    if row.flags is not UNSET:
        named += [flag.by for flag in row.flags]
    if row.hand_over is not None:
        named.append(row.hand_over.heir)
    named += [maker for key in row.keys for maker in key.makers]
    named += [each.user for each in row.co_owners]
    return {*(act.by for act in row.trail), *(note.by for note in row.notes), *named}


def without_actor(row: Listing, actor: Actor, until_ms: int | None) -> Listing:
    """Return the row without the actor's name in what happened up to and with a time; None means all times.

    A claim or a proof of the actor goes, because it is nothing without a name. So does a message to the
    actor, an invitation, a co-ownership, and a hand-over that is offered to the actor.
    """
    if actor not in actors_of(row):
        return row

    def is_meant(each: Claim | Note | Proof | VoteFlag, at_ms: int) -> bool:
        return each.by == actor and (until_ms is None or at_ms <= until_ms)

    claim, proof, stamps = row.claim, row.proof, row.stamps
    if claim is not None and is_meant(claim, stamps.claim.ms or claim.at_ms):
        claim = None
    if proof is not None and is_meant(proof, stamps.proof.ms or proof.at_ms):
        proof = None
    message = row.message
    decided_ms = (message.stamp.ms or message.decided_ms) if message is not UNSET else 0
    if message is not UNSET and message.to == actor and (until_ms is None or decided_ms <= until_ms):
        message = UNSET
    hand_over = row.hand_over
    offered_ms = (stamps.owner.ms or hand_over.at_ms) if hand_over is not None else 0
    if hand_over is not None and hand_over.heir == actor and (until_ms is None or offered_ms <= until_ms):
        hand_over = None
    change = row.change
    if change is not None and change.by == actor and (until_ms is None or change.sent_ms <= until_ms):
        change = replace(change, by=ERASED)
    notes = (replace(note, by=ERASED) if is_meant(note, note.at_ms) else note for note in row.notes)
    flags = row.flags
    if flags is not UNSET:
        flags = tuple(replace(flag, by=ERASED) if is_meant(flag, flag.at_ms) else flag for flag in flags)
    taken = row.taken
    if taken is not UNSET and taken.lost_by == actor:
        taken_ms = taken.stamp.ms or taken.at_ms
        taken = replace(taken, lost_by=ERASED) if until_ms is None or taken_ms <= until_ms else taken
    return replace(
        row,
        trail=struck_out(row.trail, actor, until_ms),
        notes=tuple(notes),
        claim=claim,
        proof=proof,
        message=message,
        flags=flags,
        taken=taken,
        keys=tuple(_without_maker(key, actor, until_ms) for key in row.keys),
        co_owners=without_user(row.co_owners, actor, until_ms),
        hand_over=hand_over,
        change=change,
    )


def _without_maker(key: Key, actor: Actor, until_ms: int | None) -> Key:
    made_ms = key.stamp.ms or key.rotated_ms or key.created_ms
    if actor not in key.makers or (until_ms is not None and made_ms > until_ms):
        return key
    return replace(key, makers=tuple(ERASED if maker == actor else maker for maker in key.makers))
