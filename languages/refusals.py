"""Refusals: a request that cannot be granted, and has changed nothing.

    Refusal                 a code with its facts
    `-- Invalid             fields break rules: field -> fault, all of them at once

`refusal_texts.py` has the status and the texts of their codes. `core/failures.py` has failures that are
nobody's mistake.
"""

from collections.abc import Mapping
from typing import Any

from languages.said import SAID, Code, Fault
from languages.texts import Fact


class Refusal(Exception):
    """The request is refused."""

    def __init__(self, code: Code, /, **facts: Fact) -> None:
        """`facts` are the values that the code's text names, or that its answer has beside the text."""
        super().__init__(code, *facts.values())
        self.code: Code = code
        self.facts: Mapping[str, Any] = facts

    @property
    def status(self) -> int:
        """The HTTP status."""
        return SAID[self.code].status


class Invalid(Refusal):
    """Fields are wrong. A field of "" stands for the whole form."""

    def __init__(self, faults: Mapping[str, Fault]) -> None:
        super().__init__("invalid_fields")
        self.faults = faults

    def __str__(self) -> str:
        return ", ".join(self.faults)


def voted_too_soon(next_vote_ms: int, now_ms: int) -> Refusal:
    """Return the refusal of a vote within the cooldown."""
    wait_seconds = -((now_ms - next_vote_ms) // 1_000)
    return Refusal("voted_too_soon", retry_seconds=wait_seconds, next_vote_ms=next_vote_ms)
