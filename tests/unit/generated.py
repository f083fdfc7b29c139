"""Events as hypothesis makes them, and what every state must keep whatever led to it.

Names come from small pools, so that events meet: about things that exist, that are gone, or that never were.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from core import events as ev
from core.rows import (
    Attempt,
    BotProfile,
    Key,
    KeyGrant,
    Listing,
    Outcome,
    Policy,
    ServerProfile,
    StatsWindow,
    Suspension,
    Webhook,
)
from core.state import State
from core.votes import leaves_of
from tests.unit.conftest import empty_state
from tests.unit.given import BOT, NOW_MS, OTHER_USER, SERVER, USER

Picture = tuple[object, ...]
Columns = tuple[bytes, bytes]
Leaves = Mapping[str, Sequence[bytes]]
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def examples(count: int) -> Callable[[F], F]:
    """Runs a property on `count` examples, the same ones every time, however slow the machine."""
    slow = [HealthCheck.too_slow]
    return settings(max_examples=count, derandomize=True, suppress_health_check=slow, deadline=None)


texts = st.text(max_size=8)
refs = st.sampled_from([BOT, SERVER])
users = st.sampled_from([USER, OTHER_USER, str((1 << 64) - 1)])
delivery_ids = st.sampled_from(["first", "second", "third", "fourth"])
key_ids = st.sampled_from(["k1", "k2"])
times = st.integers(NOW_MS, NOW_MS + 4)
counts = st.none() | st.integers(0, 3)
reviews = st.sampled_from(["in_review", "approved", "denied"])
policies = st.none() | st.builds(Policy, st.integers(1, 3), st.integers(1, 3))
profiles = st.builds(
    BotProfile,
    texts,
    texts,
    texts,
    st.tuples(texts),
    extra_owners=st.tuples() | st.tuples(users),
    support_invite=st.none() | texts,
) | st.builds(ServerProfile, texts, texts, st.tuples(texts), texts)
failures = st.integers(0, 3)
suspensions = st.none() | st.builds(Suspension, times, st.just("timeout"), st.integers(1, 3), times)
webhooks = st.builds(Webhook, texts, times, st.none() | texts, failed=failures, suspension=suspensions)
attempts = st.builds(
    Attempt,
    times,
    st.integers(0, 1),
    st.none() | st.sampled_from([204, 500]),
    st.none() | st.just("timeout"),
    texts,
)


@st.composite
def keys_saved(draw: st.DrawFn) -> ev.KeySaved:
    """Digests are never shared between keys: they have 256 bits."""
    ref, key_id, version = draw(refs), draw(key_ids), draw(st.integers(1, 3))
    old = f"{ref} {key_id} {version - 1}" if draw(st.booleans()) else None
    digest = f"{ref} {key_id} {version}"
    rotated_ms = draw(st.none() | times)
    key = Key(
        key_id, draw(texts), digest, digest[:8], draw(times), rotated_ms, old, draw(times) if old else 0
    )
    return ev.KeySaved(ref, key)


@st.composite
def deliveries_attempted(draw: st.DrawFn) -> ev.DeliveryAttempted:
    """A next attempt is due unless this was the last."""
    outcome: Outcome = draw(st.sampled_from(["delivered", "retry", "held", "failed"]))
    next_attempt_ms = draw(times) if outcome in {"retry", "held"} else None
    return ev.DeliveryAttempted(
        draw(delivery_ids), draw(refs), draw(st.integers(1, 3)), draw(attempts), outcome, next_attempt_ms
    )


listings_saved = st.builds(ev.ListingSaved, refs, users, profiles, reviews, times)

OF_TYPE: Mapping[type, st.SearchStrategy[ev.Event]] = {
    ev.ListingSaved: listings_saved,
    ev.ListingReviewed: st.builds(ev.ListingReviewed, refs, reviews, st.none() | texts, times),
    ev.ListingRemoved: st.builds(ev.ListingRemoved, refs),
    ev.KeySaved: keys_saved(),
    ev.KeyDeleted: st.builds(ev.KeyDeleted, refs, key_ids),
    ev.StatsUpdated: st.builds(
        ev.StatsUpdated, refs, counts, counts, st.builds(StatsWindow, times, st.integers(1, 3)), times
    ),
    ev.ActualCountSet: st.builds(ev.ActualCountSet, refs, st.integers(0, 3)),
    ev.LimitsSet: st.builds(ev.LimitsSet, refs, policies, policies),
    ev.WebhookSaved: st.builds(ev.WebhookSaved, refs, webhooks),
    ev.WebhookRemoved: st.builds(ev.WebhookRemoved, refs),
    ev.EndpointHealthSet: st.builds(ev.EndpointHealthSet, refs, failures, suspensions),
    ev.VoteCast: st.builds(ev.VoteCast, refs, users, st.integers(1, 3), times),
    ev.UserErased: st.builds(ev.UserErased, users, st.lists(refs, max_size=3).map(tuple)),
    ev.DeliveryQueued: st.builds(ev.DeliveryQueued, delivery_ids, refs, users, st.booleans(), times),
    ev.DeliveryAttempted: deliveries_attempted(),
    ev.DeliveryDropped: st.builds(
        ev.DeliveryDropped,
        delivery_ids,
        refs,
        st.integers(0, 3),
        st.sampled_from(["expired", "overflow"]),
        times,
    ),
}

events = st.one_of(*OF_TYPE.values())
# Deliveries have the longest lives, so their events come oftener.
frequent = st.sampled_from(
    [
        events,
        OF_TYPE[ev.KeySaved],
        OF_TYPE[ev.VoteCast],
        OF_TYPE[ev.DeliveryQueued],
        OF_TYPE[ev.DeliveryQueued],
        OF_TYPE[ev.DeliveryAttempted],
        OF_TYPE[ev.DeliveryAttempted],
    ]
).flatmap(lambda chosen: chosen)


def histories(steps: st.SearchStrategy[T], most: int) -> st.SearchStrategy[list[T]]:
    """Lists of which the long ones are as frequent as the short ones."""
    return st.integers(0, most).flatmap(lambda length: st.lists(steps, min_size=length, max_size=length))


# Most events need a listing to be about.
sequences = st.builds(
    lambda first, then: [*first, *then],
    st.lists(listings_saved, min_size=1, max_size=3),
    histories(frequent, 40),
)


def picture(state: State) -> Picture:
    """All that the state holds, in a form that is equal for equal states."""
    finished = {ref: sorted(rows, key=lambda row: row.id) for ref, rows in state.finished.items() if rows}
    votes = {ref: voted(state, ref) for ref in voted_for(state)}
    return dict(state.listings), dict(state.pending), finished, votes


def voted_for(state: State) -> list[str]:
    """The listings that have votes."""
    return [ref for ref in state.refs if state.votes.voters(ref)]


def voted(state: State, ref: str) -> tuple[bytes, bytes]:
    """All users of a listing and all their packed votes, whatever their leaves."""
    leaves = list(leaves_of(state.votes, ref))
    return (
        b"".join(leaf[: len(leaf) // 2] for leaf in leaves),
        b"".join(leaf[len(leaf) // 2 :] for leaf in leaves),
    )


def leaves_by_ref(state: State) -> Leaves:
    return {ref: list(leaves_of(state.votes, ref)) for ref in voted_for(state)}


def reloaded(state: State, votes: Leaves | None = None) -> State:
    """A state that took up the tables of another, or its rows and other votes, as from a snapshot."""
    copy = empty_state()
    copy.load(state.listings.values())
    for rows in state.finished.values():
        copy.load(rows)
    copy.load(state.pending.values())
    for ref, leaves in (leaves_by_ref(state) if votes is None else votes).items():
        copy.load_votes((ref, leaf) for leaf in leaves)
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
    assert {*state.finished, *pending_of} <= set(state.listings)
    assert len(state.votes) == sum(state.votes.voters(ref) for ref in state.refs)
    for ref in state.listings:
        kept = [*state.finished.get(ref, ()), *(row for row in state.pending.values() if row.ref == ref)]
        assert sorted(row.id for row in state.deliveries(ref)) == sorted(row.id for row in kept)


def _grants(listings: Mapping[str, Listing]) -> dict[str, KeyGrant]:
    grants = {}
    for listing in listings.values():
        for key in listing.keys:
            grants[key.digest] = KeyGrant(listing.ref, key.id, None)
            if key.old_digest is not None:
                grants[key.old_digest] = KeyGrant(listing.ref, key.id, key.old_until_ms)
    return grants
