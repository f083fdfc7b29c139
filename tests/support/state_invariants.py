"""The content of a state, and the invariants of its indexes."""

from collections import Counter
from collections.abc import Mapping, Sequence

from core.rows import Delivery, KeyGrant, Listing, OwnerMessage
from core.state import State
from core.user_rows import UserRow
from core.vote_table import leaves_of
from tests.support.memory_ledger import empty_state

Picture = tuple[object, ...]
Leaves = Mapping[str, Sequence[bytes]]
Parts = Sequence[tuple[str, int, dict[int, int]]]


def picture(state: State) -> Picture:
    """Return everything that the state holds, in a form that is equal for equal states."""
    votes = votes_of(state), parts_of(state), counts_of(state), dict(state.cooldowns)
    return (*rows_of(state), *votes, list(state.listings.unlisted), state.fleet.row)


def digested(state: State) -> Picture:
    """Return the content that the digest covers: without votes for unknown listings, and without the nodes of
    votes."""
    votes = {ref: list(state.votes.votes(ref)) for ref in state.listings.refs if state.votes.voters(ref)}
    counts = {ref: state.vote_counts.summed(ref) for ref in state.listings.refs}
    return (*rows_of(state), votes, counts)


def counts_of(state: State) -> dict[str, tuple[int, tuple[bytes, ...]]]:
    """Return the votes of all time, by day and by month, of the listings that have votes."""
    refs = [*state.listings.refs, *state.listings.unlisted]
    counts = {ref: (state.vote_counts.total(ref), tuple(state.vote_counts.rows(ref))) for ref in refs}
    return {ref: each for ref, each in counts.items() if any(each)}


def rows_of(state: State) -> Picture:
    finished = {
        ref: sorted(rows, key=lambda row: row.id) for ref, rows in state.deliveries.finished.items() if rows
    }
    elsewhere = {ref: dict(rows) for ref, rows in state.deliveries.remote.items()}
    return dict(state.listings), dict(state.deliveries.pending), finished, elsewhere, dict(state.users)


def votes_of(state: State) -> dict[str, tuple[bytes, bytes]]:
    return {ref: voted(state, ref) for ref in voted_for(state)}


def voted_for(state: State) -> list[str]:
    """Return the listings that have votes, including listings that are not known yet."""
    return [
        ref for ref in sorted([*state.listings.refs, *state.listings.unlisted]) if state.votes.voters(ref)
    ]


def voted(state: State, ref: str) -> tuple[bytes, bytes]:
    """Return the users of a listing and their packed votes, joined over all leaves."""
    leaves = list(leaves_of(state.votes, ref))
    return (
        b"".join(leaf[: len(leaf) // 2] for leaf in leaves),
        b"".join(leaf[len(leaf) // 2 :] for leaf in leaves),
    )


def leaves_by_ref(state: State) -> Leaves:
    return {ref: list(leaves_of(state.votes, ref)) for ref in voted_for(state)}


def parts_of(state: State) -> Parts:
    """Return the counts of users who have voted at several nodes."""
    several = state.votes.several
    return [(ref, user, dict(several[ref][user])) for ref in sorted(several) for user in sorted(several[ref])]


def reloaded(state: State, votes: Leaves | None = None, parts: Parts | None = None) -> State:
    """Return a state with the tables of another one, loaded as from a snapshot; `votes` replace its own."""
    copy = empty_state()
    copy.load_fleet(state.fleet.row)
    copy.load_cooldowns(state.cooldowns.items())
    copy.load(state.listings.values())
    for rows in state.deliveries.finished.values():
        copy.load(rows)
    for elsewhere in state.deliveries.remote.values():
        copy.load(elsewhere.values())
    copy.load(state.deliveries.pending.values())
    copy.load(state.users.values())
    for ref, leaves in (leaves_by_ref(state) if votes is None else votes).items():
        copy.load_votes((ref, leaf) for leaf in leaves)
    copy.load_vote_counts((ref, rows) for ref, (_, rows) in counts_of(state).items() if rows)
    copy.load_parts(parts_of(state) if parts is None else parts)
    copy.loaded()
    return copy


def assert_indexes_agree(state: State) -> None:
    """Check that every index agrees with the tables, and that nothing is left of removed listings."""
    assert list(state.listings.refs) == sorted(state.listings)
    assert dict(state.listings.grants) == _grants(state.listings)
    assert state.listings.key_count == sum(len(listing.keys) for listing in state.listings.values())
    pending_of: dict[str, dict[str, object]] = {}
    for row in state.deliveries.pending.values():
        pending_of.setdefault(row.ref, {})[row.id] = row
    assert {
        ref: state.deliveries.pending_of(ref) for ref in state.listings if state.deliveries.pending_of(ref)
    } == pending_of
    assert {*state.deliveries.finished, *pending_of, *state.deliveries.remote} <= set(state.listings)
    assert not set(state.listings.unlisted) & set(state.listings)
    assert list(state.listings.unlisted) == sorted(set(state.listings.unlisted))
    assert len(state.votes) == sum(state.votes.voters(ref) for ref in voted_for(state))
    assert {ref for ref, _, _ in parts_of(state)} <= set(voted_for(state))
    messages = {ref: row.message for ref, row in state.listings.items()}
    assert dict(state.listings.untold) == {ref: each for ref, each in messages.items() if _is_untold(each)}
    _assert_owners_agree(state)
    _assert_users_agree(state)
    for ref in state.listings:
        kept = [*state.deliveries.finished.get(ref, ()), *state.deliveries.remote.get(ref, {}).values()]
        kept += [row for row in state.deliveries.pending.values() if row.ref == ref]
        assert sorted(row.id for row in state.deliveries.newest_first(ref)) == sorted(row.id for row in kept)


def _is_untold(message: object) -> bool:
    return isinstance(message, OwnerMessage) and message.next_attempt_ms is not None


def _assert_owners_agree(state: State) -> None:
    elsewhere: list[Delivery] = [row for rows in state.deliveries.remote.values() for row in rows.values()]
    assert all(state.deliveries.remote.values())
    assert all(row.owner and row.next_attempt_ms is not None for row in elsewhere)
    assert not any(row.owner for row in state.deliveries.pending.values())
    assert dict(state.deliveries.remote_counts) == Counter(row.owner for row in elsewhere)


def _assert_users_agree(state: State) -> None:
    users = state.users
    assert list(users.refs) == sorted(users)
    assert dict(users.by_session) == {
        session.digest: row.ref for row in users.values() for session in row.sessions
    }
    assert set(users.named) == {int(row.id) for row in users.values() if row.lets_name}
    assert set(users.with_role) == {row.ref for row in users.values() if row.role is not None}
    given = sorted(
        (each.listing, (each.at_ms, int(row.id), each.stars))
        for row in users.values()
        for each in row.ratings_given
    )
    listings = {ref for ref, _ in given}
    assert given == sorted((ref, each) for ref in listings for each in users.ratings.newest(ref, 0))
    assert len(users.ratings) == len(given)
    assert all({each.digest for each in row.ended}.isdisjoint(_open(row)) for row in users.values())


def _open(row: UserRow) -> set[str]:
    return {session.digest for session in row.sessions}


def _grants(listings: Mapping[str, Listing]) -> dict[str, KeyGrant]:
    grants = {}
    for listing in listings.values():
        for key in listing.keys if listing.state == "approved" else ():
            grants[key.digest] = KeyGrant(listing.ref, key.id, None)
            if key.old_digest is not None:
                grants[key.old_digest] = KeyGrant(listing.ref, key.id, key.old_until_ms)
    return grants
