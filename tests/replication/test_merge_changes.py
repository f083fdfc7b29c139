"""replication/merge.py: edits of approved listings and decisions about them at several nodes.

Profile, change and review are one part: they are always those that one node wrote together.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from core.actors import ERASED, Actor, user_actor
from core.rows import Listing
from forms.reading import read
from kinds.bots import BOTS, BotProfile
from listings import rules
from listings.keys import NewKey, issue_key
from listings.rules import EditsShown
from tests.support.form_bodies import as_body, without
from tests.support.memory_nodes import DIGESTS, Node, a_node, assert_alike, meet
from tests.support.sample_rows import BOT_REF, OTHER_USER, OWNER, USER
from votes.rules import erase_user

MODERATOR, BY_OWNER = user_actor(OTHER_USER), user_actor(OWNER)
GOOD = BotProfile("Good bot", "A bot for the tests", "A description of a bot for all tests", ("Music",))


@pytest.fixture
def a() -> Node:
    """A node with an approved bot that a moderator has agreed to."""
    a = a_node()
    edit(a, "Good bot", "after")
    decide(a, "agree")
    return a


@pytest.fixture
def b(a: Node) -> Node:
    b = Node("b")
    meet(a, b)
    return b


def edit(node: Node, name: str, shown: EditsShown, by: Actor = BY_OWNER) -> None:
    node.clock.advance_ms(1)
    fields: dict[str, Any] = without(as_body(GOOD), "kind")
    fields |= {"name": name, "owner_id": node.listing().owner_id}
    now_ms = node.clock.now_ms()
    node.ledger.commit(rules.edit(node.state, BOT_REF, read(BOTS.edit, fields), now_ms, by=by, shown=shown))


def decide(node: Node, what: str) -> None:
    node.clock.advance_ms(1)
    state, now_ms = node.state, node.clock.now_ms()
    version = rules.change_version(node.listing())
    if what == "agree":
        events = rules.decide(
            state, BOT_REF, rules.Verdict("change_agreed", version=version), now_ms, by=MODERATOR
        )
    elif what == "refuse":
        events = rules.decide(
            state, BOT_REF, rules.Verdict("change_refused", "Spam.", version), now_ms, by=MODERATOR
        )
    else:
        events = rules.decide(state, BOT_REF, rules.Verdict("withdrawn", "Spam."), now_ms, by=MODERATOR)
    node.ledger.commit(events)


def written(row: Listing) -> tuple[object, ...]:
    return row.profile, row.change, row.review, row.reason, row.decided_ms


@pytest.mark.parametrize("shown", ["after", "before"])
def test_a_change_and_its_decision_are_known_to_all(a: Node, b: Node, shown: EditsShown) -> None:
    edit(a, "Renamed", shown)
    meet(a, b)
    assert written(b.listing()) == written(a.listing())
    assert b.listing().latest == replace(GOOD, name="Renamed")
    decide(b, "refuse")
    meet(a, b)
    assert (a.listing().profile, a.listing().change) == (GOOD, None)
    assert_alike(a, b)


@pytest.mark.parametrize("decision", ["agree", "refuse", "withdraw"])
@pytest.mark.parametrize("shown", ["after", "before"])
@pytest.mark.parametrize("later", ["the edit", "the decision"])
def test_an_edit_and_a_decision_at_two_nodes_never_mix(
    a: Node, b: Node, decision: str, shown: EditsShown, later: str
) -> None:
    edit(a, "Renamed", shown)
    meet(a, b)
    (a if later == "the edit" else b).clock.advance_ms(1_000)
    edit(a, "Renamed again", shown)
    decide(b, decision)
    stands = written((a if later == "the edit" else b).listing())
    meet(a, b)
    assert written(a.listing()) == written(b.listing()) == stands
    if later == "the edit":
        assert a.listing().change is not None, "it waits for another look"
    assert_alike(a, b)


@pytest.mark.parametrize("later", ["a", "b"])
def test_the_later_of_two_edits_at_two_nodes_waits_with_the_agreed_version(
    a: Node, b: Node, later: str
) -> None:
    (a if later == "a" else b).clock.advance_ms(1_000)
    edit(a, "From a", "before")
    edit(b, "From b", "after")
    meet(a, b)
    row = a.listing()
    assert (row.agreed, row.latest) == (GOOD, replace(GOOD, name=f"From {later}"))
    assert row.profile == (GOOD if later == "a" else row.latest)
    assert_alike(a, b)


def test_a_key_that_is_issued_while_another_node_withdraws_the_approval_opens_nothing(
    a: Node, b: Node
) -> None:
    issued = issue_key(a.state, BOT_REF, NewKey("k1", "n", "d1"), now_ms=1, keys_per_listing=2, by=BY_OWNER)
    a.ledger.commit(issued)
    assert "d1" in a.state.listings.grants
    decide(b, "withdraw")
    meet(a, b)
    for node in (a, b):
        assert [key.id for key in node.listing().keys] == ["k1"]
        assert not node.state.listings.grants


def test_the_author_of_a_change_is_erased_at_all_nodes(a: Node, b: Node) -> None:
    edit(a, "Renamed", "after", by=user_actor(USER))
    meet(a, b)
    now_ms = a.clock.now_ms()
    a.ledger.commit(erase_user(USER, [BOT_REF], DIGESTS.user(USER), now_ms=now_ms, by=BY_OWNER))
    meet(a, b)
    for node in (a, b):
        change = node.listing().change
        assert change is not None
        assert (change.by, node.listing().latest.name) == (ERASED, "Renamed")
    assert_alike(a, b)
