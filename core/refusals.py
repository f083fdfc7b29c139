"""The refusals of the domain, and the failure of the journal.

    Refusal                 the caller's request cannot be granted; nothing has changed
    |-- NotFound            the thing named does not exist
    |-- Conflict            the thing is in a state that forbids it
    |-- VotedTooSoon        the cooldown of this user's last vote has not passed
    |-- Quarantined         the act is forbidden to this user for a time
    |-- Invalid             fields break the contract's rules: field -> reason, all of them at once
    `-- StatsRefused        a stats update breaks a rule of the contract
        |-- NoCountGiven, ServerCountOutOfRange, CommandCountOutOfRange
        |-- ServerCountTooFarOff
        `-- ActualCountUnknown
    SearchUnavailable       not the caller's fault: listings cannot be searched now
    Unavailable             not the caller's fault: the journal cannot take writes now
    PlaceLost               the journal cannot be read on from a place that a reader has kept

A refusal carries facts, never a status or a sentence for HTTP: `handlers/reply.py` has the one table of
statuses and texts. Only the reason for a wrong field is a text here, because the rule of the field writes it.
"""

from collections.abc import Mapping
from typing import Literal

Thing = Literal[
    "listing",
    "key",
    "webhook",
    "delivery",
    "user",
    "session",
    "quarantine",
    "invitation",
    "extra_owner",
    "hand_over",
]
ConflictReason = Literal[
    "listing_exists",
    "not_in_review",
    "is_approved",
    "not_approved",
    "no_change",
    "other_version",
    "keys_need_approval",
    "too_many_keys",
    "votes_need_approval",
    "not_signed",
    "too_many_tests",
    "delivery_pending",
    "too_many_pending",
    "not_suspended",
    "nothing_to_probe",
    "moderator_by_settings",
    "is_moderator",
    "owner_proves",
    "no_code",
    "owner_proven",
    "owner_proven_server",
    "own_listing",
    "own_quarantine",
    "owner_quarantined",
    "too_many_reminders",
    "owns_already",
    "too_many_owners",
]


class Refusal(Exception):
    """The domain says no."""


class NotFound(Refusal):
    def __init__(self, thing: Thing) -> None:
        super().__init__(thing)
        self.thing = thing


class Conflict(Refusal):
    def __init__(self, reason: ConflictReason, **facts: str | int) -> None:
        """`facts` are the values that the reason's text names."""
        super().__init__(reason)
        self.reason = reason
        self.facts = facts


class VotedTooSoon(Refusal):
    def __init__(self, next_vote_ms: int, wait_ms: int) -> None:
        super().__init__(next_vote_ms)
        self.next_vote_ms = next_vote_ms
        self.wait_ms = wait_ms


class Quarantined(Refusal):
    def __init__(self, act: str, reason: str, until_ms: int | None) -> None:
        """`until_ms` is None for a quarantine without an end."""
        super().__init__(act)
        self.act = act
        self.reason = reason
        self.until_ms = until_ms


class Invalid(Refusal):
    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


class StatsRefused(Refusal):
    """A stats update that the contract's error table names."""


class NoCountGiven(StatsRefused):
    pass


class ServerCountOutOfRange(StatsRefused):
    pass


class CommandCountOutOfRange(StatsRefused):
    pass


class ServerCountTooFarOff(StatsRefused):
    def __init__(self, given: int, max_difference: int, actual: int) -> None:
        super().__init__(given, max_difference, actual)
        self.given = given
        self.max_difference = max_difference
        self.actual = actual


class ActualCountUnknown(StatsRefused):
    def __init__(self, retry_seconds: int | None) -> None:
        """`retry_seconds` is None unless the gateway waits for a first answer about the bot."""
        super().__init__(retry_seconds)
        self.retry_seconds = retry_seconds


class SearchUnavailable(Exception):
    """SQLite has failed or is not there, or too many searches wait."""


class Unavailable(Exception):
    """The journal takes no writes: its disk is full or failed, or the process is stopping."""


class PlaceLost(Exception):
    """The journal cannot be read on from this place: it no longer reaches back so far, cannot be read there,
    or the place is of another journal."""
