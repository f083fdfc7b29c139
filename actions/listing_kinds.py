"""The kinds of listings as actions and pages are told apart by them."""

from typing import Literal, get_args

from kinds.bots import BOTS
from kinds.kind import PartName
from kinds.registry import BY_PLURAL

Kind = Literal["bots", "servers"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def kind_of_ref(ref: str) -> Kind:
    """Return the kind of a listing as paths and answers name it."""
    return "bots" if ref.startswith(BOTS.prefix) else "servers"


def kinds_with(part: PartName | None) -> tuple[Kind, ...]:
    """Return the kinds that have a part; all of them for None."""
    return tuple(kind for kind in KINDS if BY_PLURAL[kind].has(part))
