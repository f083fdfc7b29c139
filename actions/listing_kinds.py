"""The kinds of listings as actions and pages are told apart by them, and the parts that each kind has."""

from collections.abc import Mapping
from typing import Literal, get_args

from kinds.bots import BOTS

Kind = Literal["bots", "servers"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PARTS: Mapping[Kind, frozenset[str]] = {
    "bots": frozenset({"keys", "co_owners", "facts"}),
    "servers": frozenset({"facts"}),
}
"""The parts that only some kinds have. What all kinds have, such as votes, is not among them."""


def kind_of_ref(ref: str) -> Kind:
    """Return the kind of a listing as paths and answers name it."""
    return "bots" if ref.startswith(BOTS.prefix) else "servers"


def kinds_with(part: str | None) -> tuple[Kind, ...]:
    """Return the kinds that have a part; all of them for None."""
    return tuple(kind for kind in KINDS if part is None or part in PARTS[kind])
