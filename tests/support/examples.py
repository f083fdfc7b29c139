"""How many examples of a property, or of a kind of damage, there is time for."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings

F = TypeVar("F", bound=Callable[..., Any])

ALL_EXAMPLES = "VOTEGATE_ALL_EXAMPLES" in os.environ
"""Set by `make test-long`."""


def affordable(count: int) -> int:
    """Return how many of `count` examples there is time for: `make test` has time for a tenth of them."""
    return count if ALL_EXAMPLES else max(count // 10, min(count, 15))


def examples(count: int) -> Callable[[F], F]:
    """Run a property on `count` examples, the same ones every time, however slow the machine."""
    return settings(max_examples=affordable(count))


settings.register_profile(
    "however slow the machine",
    max_examples=affordable(100),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
)
settings.load_profile("however slow the machine")
