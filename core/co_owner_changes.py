"""Co-owners in the row of a listing, as events and other nodes change them.

An invitation and the co-ownership that follows from it are one entry with an id. Invariant: an entry that has
ended stays so, whatever other nodes have heard. An owner who takes somebody out can rely on that.
"""

from collections.abc import Collection, Iterable

import msgspec
from msgspec.structs import replace

from core.actors import Actor
from core.rows import CoOwner, Listing, Revocation, Stamp
from core.sharing import newest_revocations

_encode = msgspec.msgpack.Encoder().encode


def with_co_owner(row: Listing, co_owner: CoOwner, stamp: Stamp | None) -> Listing:
    """Return the row with the co-owner, in place of the one of that id."""
    new = co_owner if stamp is None else replace(co_owner, stamp=stamp)
    others = (each for each in row.co_owners if each.id != new.id)
    return replace(row, co_owners=_in_order((*others, new)))


def without_co_owners(row: Listing, ids: Collection[str], stamp: Stamp | None) -> Listing:
    """Return the row without the co-owners of these ids. Only a fleet has to remember them."""
    row = replace(row, co_owners=tuple(each for each in row.co_owners if each.id not in ids))
    if stamp is None:
        return row
    gone = (Revocation(stamp.ms, each) for each in ids)
    return replace(row, revoked=newest_revocations((*row.revoked, *gone)))


def joined_co_owners(
    one: Iterable[CoOwner], other: Iterable[CoOwner], gone: Collection[str]
) -> tuple[CoOwner, ...]:
    """Merge those of two nodes. `gone` are the ids of those that have ended."""
    known: dict[str, CoOwner] = {}
    for each in (*one, *other):
        known[each.id] = max(known.get(each.id, each), each, key=lambda it: (it.stamp, _encode(it)))
    return _in_order(each for each in known.values() if each.id not in gone)


def without_user(co_owners: Iterable[CoOwner], actor: Actor, until_ms: int | None) -> tuple[CoOwner, ...]:
    """Return those that are not of a user who was erased, up to and with a time; None means all times."""
    return tuple(
        each
        for each in co_owners
        if each.user != actor or (until_ms is not None and _written_ms(each) > until_ms)
    )


def _written_ms(co_owner: CoOwner) -> int:
    return co_owner.stamp.ms or co_owner.joined_ms or co_owner.invited_ms


def _in_order(co_owners: Iterable[CoOwner]) -> tuple[CoOwner, ...]:
    return tuple(sorted(co_owners, key=lambda each: (each.invited_ms, each.id)))
