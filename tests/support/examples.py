"""The number of examples of a property, or of a kind of damage, that a test has time for."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings

F = TypeVar("F", bound=Callable[..., Any])

ALL_EXAMPLES = "VOTEGATE_ALL_EXAMPLES" in os.environ
"""Set by `make test-long`."""


def affordable(count: int) -> int:
    """Return a tenth of `count` for `make test`, but at least 15 if there are as many; all for `make
    test-long`."""
    return count if ALL_EXAMPLES else max(count // 10, min(count, 15))


def examples(count: int) -> Callable[[F], F]:
    """Run a property on `count` examples: the same ones every time, on a slow machine, too."""
    return settings(max_examples=affordable(count))


settings.register_profile(
    "however slow the machine",
    max_examples=affordable(100),
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    deadline=None,
)
settings.load_profile("however slow the machine")
