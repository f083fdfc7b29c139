"""Nodes with nothing between them."""

import pytest

from tests.support.committed_rows import a_webhook
from tests.support.memory_nodes import Node, a_node, one_ahead_of


@pytest.fixture
def a() -> Node:
    """A node with a bot that has a webhook."""
    node = a_node()
    a_webhook(node.ledger)
    return node


@pytest.fixture
def b(a: Node) -> Node:
    """One that has heard of all that `a` did, and whose clock is ahead."""
    return one_ahead_of(a)
