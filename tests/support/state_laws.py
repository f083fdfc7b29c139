"""What a state holds, and what every state must keep whatever led to it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from core.rows import Delivery, KeyGrant, Listing
from core.state import State
from core.votes import leaves_of
from tests.support.memory_ledger import empty_state

Picture = tuple[object, ...]
Leaves = Mapping[str, Sequence[bytes]]
Parts = Sequence[tuple[str, int, dict[int, int]]]


def picture(state: State) -> Picture:
    """All that the state holds, in a form that is equal for equal states."""
    return (*rows_of(state), votes_of(state), parts_of(state), list(state.ghosts), state.fleet.row)


def digested(state: State) -> Picture:
    """What the digest is of: not what came before its listing, nor at which nodes votes were cast."""
    votes = {ref: list(state.votes.votes(ref)) for ref in state.refs if state.votes.voters(ref)}
    return (*rows_of(state), votes)


def rows_of(state: State) -> Picture:
    finished = {ref: sorted(rows, key=lambda row: row.id) for ref, rows in state.finished.items() if rows}
    elsewhere = {ref: dict(rows) for ref, rows in state.elsewhere.items()}
    return dict(state.listings), dict(state.pending), finished, elsewhere


def votes_of(state: State) -> dict[str, tuple[bytes, bytes]]:
    return {ref: voted(state, ref) for ref in voted_for(state)}


def voted_for(state: State) -> list[str]:
    """The listings that have votes, those not yet known among them."""
    return [ref for ref in sorted([*state.refs, *state.ghosts]) if state.votes.voters(ref)]


def voted(state: State, ref: str) -> tuple[bytes, bytes]:
    """All users of a listing and all their packed votes, whatever their leaves."""
    leaves = list(leaves_of(state.votes, ref))
    return (
        b"".join(leaf[: len(leaf) // 2] for leaf in leaves),
        b"".join(leaf[len(leaf) // 2 :] for leaf in leaves),
    )


def leaves_by_ref(state: State) -> Leaves:
    return {ref: list(leaves_of(state.votes, ref)) for ref in voted_for(state)}


def parts_of(state: State) -> Parts:
    """The counts of voters of several nodes."""
    several = state.votes.several
    return [(ref, user, dict(several[ref][user])) for ref in sorted(several) for user in sorted(several[ref])]


def reloaded(state: State, votes: Leaves | None = None, parts: Parts | None = None) -> State:
    """A state that took up the tables of another, or its rows and other votes, as from a snapshot."""
    copy = empty_state()
    copy.load_fleet(state.fleet.row)
    copy.load(state.listings.values())
    for rows in state.finished.values():
        copy.load(rows)
    for elsewhere in state.elsewhere.values():
        copy.load(elsewhere.values())
    copy.load(state.pending.values())
    for ref, leaves in (leaves_by_ref(state) if votes is None else votes).items():
        copy.load_votes((ref, leaf) for leaf in leaves)
    copy.load_parts(parts_of(state) if parts is None else parts)
    copy.loaded()
    return copy


def assert_indexes_agree(state: State) -> None:
    """Every secondary index says what the tables say, and nothing hangs on a listing that is gone."""
    assert list(state.refs) == sorted(state.listings)
    assert dict(state.grants) == _grants(state.listings)
    assert state.key_count == sum(len(listing.keys) for listing in state.listings.values())
    pending_of: dict[str, dict[str, object]] = {}
    for row in state.pending.values():
        pending_of.setdefault(row.ref, {})[row.id] = row
    assert {ref: state.pending_of(ref) for ref in state.listings if state.pending_of(ref)} == pending_of
    assert {*state.finished, *pending_of, *state.elsewhere} <= set(state.listings)
    assert not set(state.ghosts) & set(state.listings)
    assert list(state.ghosts) == sorted(set(state.ghosts))
    assert len(state.votes) == sum(state.votes.voters(ref) for ref in voted_for(state))
    assert {ref for ref, _, _ in parts_of(state)} <= set(voted_for(state))
    _assert_owners_agree(state)
    for ref in state.listings:
        kept = [*state.finished.get(ref, ()), *state.elsewhere.get(ref, {}).values()]
        kept += [row for row in state.pending.values() if row.ref == ref]
        assert sorted(row.id for row in state.deliveries(ref)) == sorted(row.id for row in kept)


def _assert_owners_agree(state: State) -> None:
    elsewhere: list[Delivery] = [row for rows in state.elsewhere.values() for row in rows.values()]
    assert all(state.elsewhere.values())
    assert all(row.owner and row.next_attempt_ms is not None for row in elsewhere)
    assert not any(row.owner for row in state.pending.values())
    assert dict(state.owners) == Counter(row.owner for row in elsewhere)


def _grants(listings: Mapping[str, Listing]) -> dict[str, KeyGrant]:
    grants = {}
    for listing in listings.values():
        for key in listing.keys:
            grants[key.digest] = KeyGrant(listing.ref, key.id, None)
            if key.old_digest is not None:
                grants[key.old_digest] = KeyGrant(listing.ref, key.id, key.old_until_ms)
    return grants
