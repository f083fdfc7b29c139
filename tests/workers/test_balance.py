"""workers/balance.py: a worker leaves a new connection to one that has fewer."""

import os

from workers.balance import Balance
from workers.common_memory import CommonMemory, Layout, made

LAYOUT = Layout(3, 8, 8)


def balances() -> tuple[CommonMemory, list[Balance]]:
    descriptor = made(LAYOUT)
    memory = CommonMemory(descriptor, LAYOUT)
    os.close(descriptor)
    return memory, [Balance(memory, number) for number in (1, 2, 3)]


def test_a_worker_with_more_connections_than_another_one_leaves_the_next_to_it() -> None:
    _, all_of = balances()
    for balance, connections in zip(all_of, (5, 4, 9), strict=True):
        balance.accepts(is_accepting=True)
        balance.has(connections)
    assert [balance.is_our_turn(count) for balance, count in zip(all_of, (5, 4, 9), strict=True)] == [
        False,
        True,
        False,
    ]


def test_a_worker_that_does_not_accept_holds_nobody_back() -> None:
    memory, (one, two, three) = balances()
    assert [one.others_accept] == [False]
    assert one.is_our_turn(1_000)
    two.accepts(is_accepting=True)
    assert [one.others_accept] == [True]
    assert not one.is_our_turn(1_000)
    memory.forget_connections(2)  # its process has ended
    assert one.is_our_turn(1_000)
    assert three.is_our_turn(0)


def test_a_small_difference_among_many_connections_is_none() -> None:
    _, (one, two, _) = balances()
    two.accepts(is_accepting=True)
    two.has(160)
    assert one.is_our_turn(170)
    assert not one.is_our_turn(171)
