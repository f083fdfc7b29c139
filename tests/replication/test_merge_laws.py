"""merge.py: its laws, over anything that a fleet may do and any order in which it hears of it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.actors import ERASED, OPERATOR, user_actor, user_of
from core.audit_log import APART, FLAGS_KEPT, KEPT, NOTES_KEPT, newest, newest_flags, newest_notes, reports_of
from core.clock import day_of, month_of
from core.push_history import pushes_of
from core.rows import (
    UNSTAMPED,
    AuditAction,
    AuditEntry,
    BotCounts,
    Claim,
    CoOwner,
    HandOver,
    Key,
    Listing,
    NodeDownloads,
    NodeWindow,
    Note,
    PendingChange,
    Proof,
    Report,
    Revocation,
    SettledReport,
    Stamp,
    Stamps,
    Takeover,
    VoteFlag,
    Webhook,
)
from core.sharing import (
    SLOTS,
    WRITTEN_TOGETHER,
    Joined,
    joined,
    joined_co_owners,
    joined_downloads,
    joined_keys,
    joined_windows,
    newest_revocations,
    tenure,
)
from core.user_changes import joined_users
from core.user_rows import USERS as USERS_REF
from core.user_rows import UserRow, user_ref
from tests.support.examples import examples
from tests.support.fleet_book import Book, Life, stamp_of, values
from tests.support.generated_events import (
    counts,
    eligibilities,
    histories,
    invite_checks,
    limits,
    owner_messages,
    profiles,
    push_histories,
    reviewed_of,
    user_rows,
)
from tests.support.memory_nodes import DIGESTS, Node, assert_alike, assert_folds
from tests.support.sample_rows import BOT_REF, HOUR_MS, USER
from tests.support.simulated_fleet import REFS, USERS, Script, Simulation, Step
from votes.queries import refs_that_know

ALONE = [
    "submit",
    "submit",
    "edit",
    "issue",
    "rotate",
    "use",
    "update",
    "webhook",
    "vote",
    "vote",
    "count",
    "sign in",
]
TOGETHER = [
    *("edit", "edit", "agree", "refuse", "withdraw"),
    *(*ALONE, "approve", "deny", "remove", "limit", "revoke", "unhook", "fail", "attempt", "take"),
    *("sign in", "sign in", "sign out", "see", "appoint", "quarantine"),
    *("invite", "invite", "join", "join", "part", "offer", "inherit"),
    *("remind", "remind", "forget", "remind by message", "check", "check", "name", "take over", "take over"),
    *(
        "claim",
        "note",
        "flag",
        "report",
        "settle",
        "prove",
        "read",
        "deny",
        "edit",
        "tell",
        "tell",
        "take message",
    ),
    *("vote", "vote", "remove_votes", "erase", "wait", "stop", "rename", *["hear"] * 14),
]

stamps = st.builds(Stamp, st.integers(0, 2), st.sampled_from(["a.1", "b.1"])) | st.just(UNSTAMPED)
keys = st.builds(
    lambda id_, created_ms, digest, stamp, day: Key(
        id_, "", digest, "", created_ms, stamp=stamp, used_day=day
    ),
    st.sampled_from(["k1", "k2", "k3"]),
    st.integers(0, 1),
    st.sampled_from(["d1", "d2"]),
    stamps,
    st.integers(0, 2),
)
co_owners = st.builds(
    CoOwner,
    st.sampled_from(["k1", "o1", "o2"]),
    st.sampled_from([*map(user_actor, USERS)]),
    st.integers(0, 1),
    st.none() | st.just(2),
    stamps,
)
revocations = st.builds(Revocation, st.integers(1, 2), st.sampled_from(["k1", "k2", "o2"]))
notes = st.builds(Note, st.integers(0, 3), st.just(OPERATOR), st.sampled_from("xy"))
flags = st.builds(
    VoteFlag,
    st.integers(0, 3),
    st.sampled_from([user_actor(USER), ERASED]),
    st.just("burst"),
    st.sampled_from(["f1", "f2"]),
)
report_lists = st.none() | st.builds(
    reports_of,
    st.lists(
        st.builds(
            Report,
            st.integers(0, 3),
            st.sampled_from([*map(user_actor, USERS)]),
            st.sampled_from(["other", "breaks_rules"]),
            node=st.sampled_from(["a.1", "b.1"]),
        ),
        max_size=4,
    ),
    st.lists(
        st.builds(
            SettledReport,
            st.integers(0, 3),
            st.sampled_from([*map(user_actor, USERS)]),
            st.sampled_from(["a.1", "b.1"]),
        ),
        max_size=3,
    ),
)
downloads = st.lists(
    st.builds(NodeDownloads, st.sampled_from(["a.1", "b.1"]), st.integers(1, 3)), max_size=3
).map(lambda found: joined_downloads(found, ()))
windows = st.builds(NodeWindow, st.sampled_from(["a.1", "b.1"]), st.integers(0, 1), st.integers(1, 2))
takeovers = st.none() | st.builds(
    Takeover, stamps, st.integers(0, 1), st.sampled_from([user_actor(USER), ERASED])
)
actions: st.SearchStrategy[AuditAction] = st.sampled_from(["submitted", "edited", "votes_struck"])
entries = st.builds(
    AuditEntry, st.integers(0, 40), st.sampled_from([user_actor(USER), ERASED]), actions, node=st.just("a.1")
)
settings_of_webhooks = st.none() | st.builds(Webhook, st.sampled_from(["x", "y"]), st.integers(0, 1))
rows = st.builds(
    Listing,
    st.just(BOT_REF),
    st.sampled_from(USERS),
    profiles[BOT_REF],
    st.integers(0, 2),
    st.integers(0, 2),
    st.none() | reviewed_of(BOT_REF),
    counts=st.none() | st.builds(BotCounts, counts, counts, st.integers(0, 2)),
    actual=st.none() | st.sampled_from([0, 127, 128, 70_000]),
    limits=limits,
    webhook=settings_of_webhooks,
    keys=st.lists(keys, max_size=3).map(tuple),
    windows=st.lists(windows, max_size=3).map(tuple),
    revoked=st.lists(revocations, max_size=2).map(tuple),
    stamps=st.none() | st.builds(Stamps, *[stamps] * 9),
    co_owners=st.lists(co_owners, max_size=3).map(tuple),
    hand_over=st.none() | st.builds(HandOver, st.just(user_actor(USER)), st.integers(0, 1), st.just(9)),
    claim=st.none() | st.builds(Claim, st.integers(0, 1), st.just(OPERATOR)),
    notes=st.lists(notes, max_size=3).map(newest_notes),
    proof=st.none() | st.builds(Proof, st.integers(0, 1), st.just(OPERATOR)),
    change=st.none()
    | st.builds(
        PendingChange,
        profiles[BOT_REF],
        st.booleans(),
        st.sampled_from([user_actor(USER), ERASED]),
        st.integers(0, 1),
        st.integers(0, 1),
    ),
    message=st.none() | owner_messages,
    eligibility=st.none() | eligibilities,
    invite_check=st.none() | invite_checks,
    pushed=push_histories(),
    flags=st.lists(flags, max_size=3).map(newest_flags),
    reports=report_lists,
    downloads=downloads,
    taken=takeovers,
).map(lambda row: joined(row, row))
"""As they may be told: each key and each node's window is there once, in order."""


users = user_rows(user_ref(USER))


def steps(kinds: list[str]) -> st.SearchStrategy[Step]:
    """Steps of a few nodes, about few listings and users."""
    return st.builds(
        Step,
        st.sampled_from(kinds),
        st.integers(0, 3),
        st.sampled_from(REFS),
        st.sampled_from(USERS),
        st.integers(0, 7),
    )


skews_ms = st.lists(st.sampled_from([0, 0, 1, 5 * HOUR_MS, -3 * HOUR_MS]), min_size=2, max_size=4)
a_bot = st.builds(Step, st.just("submit"), st.integers(0, 3), st.just(BOT_REF), st.just(USER), st.just(1))
scripts = st.builds(
    lambda skews_ms, first, alone, together, seed: Script(skews_ms, alone, [first, *together], seed),
    skews_ms,
    a_bot,
    histories(steps(ALONE), 8),
    histories(steps(TOGETHER), 120),
    st.integers(0, 1_000),
)


def ended(script: Script) -> Simulation:
    """A fleet in which everybody has heard everything."""
    simulation = Simulation(script)
    simulation.tell_all(script.seed)
    return simulation


@examples(150)
@given(scripts)
def test_nodes_that_have_merged_the_same_facts_are_equal(script: Script) -> None:
    simulation = ended(script)
    assert_alike(*simulation.nodes)
    before = [node.state.shared_digest() for node in simulation.nodes]
    simulation.tell_all(script.seed + 1)
    assert [node.state.shared_digest() for node in simulation.nodes] == before


@examples(150)
@given(scripts)
def test_nothing_acknowledged_is_missing_unless_it_was_taken_back(script: Script) -> None:
    simulation = ended(script)
    for node in simulation.nodes:
        assert_as_in(simulation.book, node)


@examples(60)
@given(scripts)
def test_a_journal_leads_to_the_same_at_any_time(script: Script) -> None:
    simulation = Simulation(script)
    for node in simulation.nodes:
        assert_folds(node)


@examples(150)
@given(rows, rows, rows)
def test_rows_join_into_the_same_in_any_order_and_twice_is_once(
    one: Listing, other: Listing, third: Listing
) -> None:
    assert joined(one, other) == joined(other, one)
    assert joined(joined(one, other), third) == joined(one, joined(other, third))
    assert joined(joined(one, other), other) == joined(one, other)
    assert joined(one, one) == one


OF_SLOTS: Mapping[str, st.SearchStrategy[Any]] = {
    "created_ms": st.integers(0, 2),
    "taken": takeovers,
    "keys": st.lists(keys, max_size=3).map(lambda found: joined_keys(found, ())),
    "co_owners": st.lists(co_owners, max_size=3).map(lambda found: joined_co_owners(found, ())),
    "revoked": st.lists(revocations, max_size=2).map(newest_revocations),
    "audit_log": st.lists(entries, max_size=KEPT + APART + 5).map(newest),
    "notes": st.lists(notes, max_size=NOTES_KEPT + 3).map(newest_notes),
    "flags": st.lists(flags, max_size=FLAGS_KEPT + 3).map(newest_flags),
    "reports": report_lists,
    "downloads": downloads,
    "message": st.none() | owner_messages,
    "windows": st.lists(windows, max_size=3).map(lambda found: joined_windows(found, ())),
    "pushed": push_histories(),
}
JOINED = {slot: rule.join for slot, rule in SLOTS.items() if isinstance(rule, Joined)}


def test_every_slot_has_a_rule() -> None:
    assert set(SLOTS) == set(Listing.__struct_fields__) - {"ref", "stamps", "window"}
    assert set(OF_SLOTS) == set(JOINED)


@pytest.mark.parametrize("slot", JOINED)
@examples(60)
@given(choice=st.data())
def test_every_join_is_commutative_associative_and_idempotent(slot: str, choice: st.DataObject) -> None:
    join = JOINED[slot]
    one, other, third = (choice.draw(OF_SLOTS[slot]) for _ in range(3))
    assert join(one, other) == join(other, one)
    assert join(join(one, other), third) == join(one, join(other, third))
    assert join(one, one) == one
    assert join(join(one, other), other) == join(one, other)


@examples(150)
@given(users, users, users)
def test_rows_of_users_join_into_the_same_in_any_order_and_twice_is_once(
    one: UserRow, other: UserRow, third: UserRow
) -> None:
    assert joined_users(one, other) == joined_users(other, one)
    assert joined_users(joined_users(one, other), third) == joined_users(one, joined_users(other, third))
    assert joined_users(joined_users(one, other), other) == joined_users(one, other)
    assert joined_users(one, one) == one


@pytest.mark.long
@examples(2_000)
@given(scripts)
def test_whatever_a_fleet_does_it_agrees_on_it(script: Script) -> None:
    simulation = ended(script)
    assert_alike(*simulation.nodes)
    for node in simulation.nodes:
        assert_as_in(simulation.book, node)


def assert_as_in(book: Book, node: Node) -> None:
    assert_votes(node, book)
    assert_counts(node, book)
    assert_listings(node, book)
    assert_keys(node, book)
    assert_co_owners(node, book)
    assert_trails(node)
    assert_messages(node, book)
    assert_sessions(node, book)


def assert_votes(node: Node, book: Book) -> None:
    """A vote counts unless a removal or an erasure took it that its node did not know."""
    fleet, votes = node.state.fleet, node.state.votes
    standing = [
        vote
        for vote in book.votes
        if vote.life == fleet.removed.get(vote.ref, 0)
        and vote.forgotten == fleet.erased.get(DIGESTS.user(vote.user), 0)
        and vote.removed_ms == fleet.removed_votes.get(vote.ref, {}).get(vote.user, 0)
    ]
    for ref in REFS:
        expected = {
            int(user): (len(times), max(times))
            for user in USERS
            if (times := [vote.at_ms for vote in standing if (vote.ref, vote.user) == (ref, user)])
        }
        assert {user: (count, last_ms) for user, count, last_ms in votes.votes(ref)} == expected
    for user in book.erased - {vote.user for vote in standing}:
        for ref in (ref for found in refs_that_know(node.state, user) for ref in found):
            assert votes.get(ref, int(user)) is None
            assert user not in {delivery.user for delivery in node.state.deliveries.of(ref)}


def assert_counts(node: Node, book: Book) -> None:
    """Each vote counts on its day and in its month unless it was removed; those of erased users count,
    because they name nobody."""
    for ref in REFS:
        life = node.state.fleet.removed.get(ref, 0)
        times = [vote.at_ms for vote in book.votes if (vote.ref, vote.life) == (ref, life)]
        days, months = Counter(map(day_of, times)), Counter(map(month_of, times))
        for removed in book.removed[ref, life].values():
            days, months = days - removed.days, months - removed.months
        assert node.state.vote_counts.days(ref) == days
        assert node.state.vote_counts.months(ref) == months


def assert_sessions(node: Node, book: Book) -> None:
    """Just those are open that were not ended, and that no erasure took which their node did not know of."""
    erased = node.state.fleet.erased
    standing = {
        each.digest: each.ref
        for each in book.sign_ins
        if each.digest not in book.ended
        and each.forgotten == erased.get(DIGESTS.user(each.ref.removeprefix(USERS_REF)), 0)
    }
    assert dict(node.state.users.by_session) == standing


def assert_trails(node: Node) -> None:
    """Nothing names an erased user as its author but later actions, notes, flags, keys and offers."""
    for row in node.state.listings.values():
        named = [(act.by, act.at_ms) for act in row.audit_log] + [(note.by, note.at_ms) for note in row.notes]
        named += [(maker, (key.stamp or UNSTAMPED).ms) for key in row.keys for maker in key.makers]
        named += [(row.hand_over.successor, row.known_stamps.owner.ms)] if row.hand_over is not None else []
        named += [(flag.by, flag.at_ms) for flag in row.flags]
        if row.reports is not None:
            named += [(each.by, each.at_ms) for each in row.reports.known]
        named += [(row.taken.lost_by, row.taken.stamp.ms)] if row.taken is not None else []
        for by, at_ms in named:
            user = user_of(by)
            erased_ms = node.state.fleet.erased.get(DIGESTS.user(user), 0) if user is not None else 0
            assert at_ms > erased_ms


def assert_messages(node: Node, book: Book) -> None:
    """Each listing has the message of its last decision, unless its receiver was erased since."""
    erased = node.state.fleet.erased
    for ref, row in node.state.listings.items():
        queued = book.messages[ref, node.state.fleet.removed.get(ref, 0)]
        standing = [each for each in queued if each.stamp.ms > erased.get(DIGESTS.user(each.user), 0)]
        last = max(standing, default=None)
        if row.message is None:
            assert last is None or last != max(queued)
        else:
            assert last is not None
            assert row.message.stamp == last.stamp
            assert user_of(row.message.to) == last.user


def assert_listings(node: Node, book: Book) -> None:
    """A listing is there if it was submitted since its removal, and each part is as it was last written."""
    submitted = {life for life, part in book.parts if part == "profile"}
    lives = [(ref, node.state.fleet.removed.get(ref, 0)) for ref in REFS]
    assert set(node.state.listings) == {ref for ref, removed_ms in lives if (ref, removed_ms) in submitted}
    for life in lives:
        row = node.state.listings.get(life[0])
        if row is not None:
            assert_parts(row, life, book)
            windows = {window.node: (window.started_ms, window.used) for window in row.windows}
            if row.window is not None:
                windows[node.label] = (row.window.started_ms, row.window.used)
            assert pushes_of(row.pushed) == book.pushed[life]
            assert windows == {
                label: (window.started_ms, window.used) for label, window in book.windows[life].items()
            }


def assert_parts(row: Listing, life: Life, book: Book) -> None:
    for part in WRITTEN_TOGETHER:
        written = book.parts.get((life, part), [])
        if not written:
            continue
        last = max(stamp for stamp, _ in written)
        assert stamp_of(row, part) == last
        known = [values for stamp, values in written if stamp == last]
        if part == "owner" and row.hand_over is None:  # its successor may be erased since
            known = [[owner_id, None] for owner_id, _ in known]
        assert unsent(values(row, part)) in map(unsent, known)


def unsent(written: list[Any]) -> list[Any]:
    """Return the written fields without the sender of a change, who may be erased."""
    return [replace(each, by="") if isinstance(each, PendingChange) else each for each in written]


def assert_co_owners(node: Node, book: Book) -> None:
    """All that were invited and have not ended are there, as last written, but for users who were erased
    since."""
    erased = node.state.fleet.erased
    for ref, row in node.state.listings.items():
        life = ref, node.state.fleet.removed.get(ref, 0)
        written = {
            id_: max(rows, key=lambda each: each.stamp)
            for id_, rows in book.co_owners[life, tenure(row)].items()
            if id_ not in book.deleted[life]
        }
        expected = {
            id_: last
            for id_, last in written.items()
            if last.stamp.ms > erased.get(DIGESTS.user(user_of(last.user) or ""), 0) or not erased
        }
        assert {each.id: each for each in row.co_owners} == expected


def unnamed(key: Key) -> Key:
    """The key without its makers, who may be erased, and its use."""
    return replace(key, used_day=0, makers=())


def assert_keys(node: Node, book: Book) -> None:
    """All that were issued and not deleted are there, as last rotated and last used; nothing else opens
    anything."""
    opening = set()
    for ref, row in node.state.listings.items():
        life = ref, node.state.fleet.removed.get(ref, 0)
        written = book.keys[life, tenure(row)]
        expected = {id_: rows for id_, rows in written.items() if id_ not in book.deleted[life]}
        assert {key.id for key in row.keys} == set(expected)
        for key in row.keys:
            last = max(written.stamp or UNSTAMPED for written in expected[key.id])
            newest = [written for written in expected[key.id] if (written.stamp or UNSTAMPED) == last]
            assert unnamed(key) in map(unnamed, newest)
            assert key.used_day == book.used[life].get(key.id, 0)
            opening |= {key.digest, key.old_digest} - {None} if row.state == "approved" else set()
    assert set(node.state.listings.grants) == opening
