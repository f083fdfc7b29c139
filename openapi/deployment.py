"""A deployment's numbers: the limits in force, as texts of the document.

The composition root makes the value from the settings. Texts name a number as `$name`; `words` has the names.
"""

from dataclasses import dataclass
from functools import cached_property
from string import Template

from kinds.kind import Kind, PartName

_UNITS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"))
_MANY = 3
"""A span is written in the largest unit of which it has three or more: 24 hours, but 14 days."""


@dataclass(frozen=True)
class Window:
    """`requests` per window of `window_seconds`."""

    requests: int
    window_seconds: int

    def __str__(self) -> str:
        return f"{self.requests:,} requests per {span(self.window_seconds)}"


@dataclass(frozen=True)
class Deployment:
    name: str
    """The name of the platform."""
    contact: str | None
    """The contact of its owner: the URL of a page, or `mailto:`."""
    stats: Window
    voters: Window
    failures: Window
    """Failed requests of an address before it is refused."""
    max_difference: int
    vote_window_seconds: float
    vote_cooldown_seconds: float
    kinds: tuple[Kind, ...]
    """The kinds of listings that it offers. The document describes no others."""
    without: frozenset[PartName]
    """The parts of kinds that it does not offer."""
    keys_per_listing: int
    max_body_bytes: int
    upload_bytes: int
    max_header_bytes: int
    webhook_timeout_seconds: float
    webhook_retries: int
    webhook_retry_seconds: float
    webhook_suspend_after: int
    webhook_kept_seconds: float

    @cached_property
    def words(self) -> dict[str, str]:
        """The values that replace each `$name` in a text."""
        failures = self.failures
        return {
            "name": self.name,
            "stats_limit": str(self.stats),
            "voters_limit": str(self.voters),
            "failures": f"{failures.requests:,} requests within {span(failures.window_seconds)}",
            "max_difference": f"{self.max_difference:,}",
            "vote_window": span(self.vote_window_seconds),
            "vote_cooldown": span(self.vote_cooldown_seconds),
            "keys_per_listing": f"{self.keys_per_listing:,}",
            "max_body": f"{self.max_body_bytes:,} bytes",
            "max_headers": f"{self.max_header_bytes:,} bytes",
            "webhook_timeout": span(self.webhook_timeout_seconds),
            "webhook_retries": f"{self.webhook_retries} times",
            "webhook_retry": span(self.webhook_retry_seconds),
            "webhook_suspend_after": str(self.webhook_suspend_after),
            "webhook_kept": span(self.webhook_kept_seconds),
        }

    def filled(self, text: str) -> str:
        """Return the text with the numbers for its `$name`s. Raises KeyError for a name that there is not."""
        return Template(text).substitute(self.words)


def span(seconds: float) -> str:
    """Return a span of time in words."""
    for unit_seconds, unit in _UNITS:
        if seconds >= _MANY * unit_seconds and seconds % unit_seconds == 0:
            return f"{seconds / unit_seconds:g} {unit}"
    return f"{seconds:g} second{'' if seconds == 1 else 's'}"
