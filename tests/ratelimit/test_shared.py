"""ratelimit/bucket.py: takes of other nodes count as soon as this node hears of them."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from core.rows import Policy
from ratelimit.bucket import NS, Buckets, SharedBuckets
from tests.support.examples import examples
from tests.support.generated_events import histories

THREE_IN_TEN = Policy(requests=3, window_seconds=10)
MANY = Policy(requests=1_000, window_seconds=10)
WINDOW_NS = 10 * NS

steps = st.tuples(
    st.sampled_from(["take", "take", "take", "give back", "tell"]),
    st.integers(0, 2),  # the node
    st.sampled_from(["a", "b"]),
)


def test_what_was_allowed_since_the_last_time_is_told_once() -> None:
    buckets = SharedBuckets()
    for key in ("a", "a", "b"):
        buckets.take(key, THREE_IN_TEN, 0)
    assert buckets.told() == {"a": 2, "b": 1}
    assert buckets.told() == {}
    buckets.take("b", THREE_IN_TEN, 1)
    assert buckets.told() == {"b": 1}


def test_what_was_refused_or_only_looked_at_is_not_told() -> None:
    buckets = SharedBuckets()
    decisions = [buckets.take("a", THREE_IN_TEN, 0) for _ in range(5)]
    buckets.peek("b", THREE_IN_TEN, 0)
    assert buckets.told() == {"a": 3}
    buckets.give_back("a", decisions[-1])
    assert buckets.told() == {}


def test_a_take_that_is_given_back_is_not_told_or_taken_back_if_it_was() -> None:
    buckets = SharedBuckets()
    buckets.give_back("a", buckets.take("a", THREE_IN_TEN, 0))
    assert buckets.told() == {}
    decision = buckets.take("a", THREE_IN_TEN, 0)
    assert buckets.told() == {"a": 1}
    buckets.give_back("a", decision)
    assert buckets.told() == {"a": -1}


def test_what_is_heard_counts_in_the_open_window() -> None:
    buckets = SharedBuckets()
    first = buckets.take("a", THREE_IN_TEN, 0)
    buckets.heard("a", THREE_IN_TEN, 5 * NS, 1)
    last = buckets.take("a", THREE_IN_TEN, 6 * NS)
    assert (last.allowed, last.remaining, last.started_ns) == (True, 0, first.started_ns)
    assert not buckets.take("a", THREE_IN_TEN, 7 * NS).allowed
    buckets.heard("a", THREE_IN_TEN, 8 * NS, -1)
    assert buckets.take("a", THREE_IN_TEN, 8 * NS).allowed


def test_what_is_heard_without_an_open_window_opens_one() -> None:
    buckets = SharedBuckets()
    buckets.take("a", THREE_IN_TEN, 0)
    buckets.heard("a", THREE_IN_TEN, WINDOW_NS, 2)
    decision = buckets.take("a", THREE_IN_TEN, WINDOW_NS + 1)
    assert (decision.remaining, decision.started_ns) == (0, WINDOW_NS)


def test_nothing_is_opened_by_what_was_taken_back() -> None:
    buckets = SharedBuckets()
    buckets.heard("a", THREE_IN_TEN, 0, -1)
    assert len(buckets) == 0


def test_what_is_heard_is_not_told_on() -> None:
    buckets = SharedBuckets()
    buckets.heard("a", THREE_IN_TEN, 0, 2)
    assert buckets.told() == {}


def tell(sender: SharedBuckets, nodes: list[SharedBuckets]) -> None:
    for key, used in sender.told().items():
        for node in nodes:
            if node is not sender:
                node.heard(key, MANY, 0, used)


@examples(150)
@given(histories(steps, 40))
def test_nodes_that_have_told_each_other_everything_agree_with_one_that_saw_it_all(
    history: list[tuple[str, int, str]],
) -> None:
    """Within one window the nodes exceed the limit only by the takes that they have not heard of yet."""
    nodes, one, kept = [SharedBuckets() for _ in range(3)], Buckets(), []
    for what, number, key in history:
        node = nodes[number]
        if what == "take":
            kept.append((node, key, node.take(key, MANY, 0), one.take(key, MANY, 0)))
        elif what == "tell":
            tell(node, nodes)
        elif kept:
            taker, taken, decision, of_one = kept.pop(0)
            taker.give_back(taken, decision)
            one.give_back(taken, of_one)
    for node in nodes:
        tell(node, nodes)
    for node, key in product(nodes, "ab"):
        assert node.peek(key, MANY, 0) == one.peek(key, MANY, 0)
