"""The setup steps of a listing, and the next one for a visitor.

Invariant: a step is offered only to a visitor who has the right to take it.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from core.rows import Listing
from kinds.registry import kind_of
from languages.texts import Text
from listings.invites import can_join
from listings.owners import is_proven
from people.permissions import Right

Gap = Literal["ownership", "key", "webhook", "counts", "support", "invite"]
"""A part that a listing can have but does not have yet."""
Next = Literal["denied", "hidden", "suspended", "wait", "done", Gap]
"""The next step: fill a gap, or end a state. `wait` and `done` are no steps for the visitor."""

WHO_FILLS: Mapping[Gap, Right] = {
    "ownership": "prove",
    "key": "keys",
    "webhook": "webhook",
    "counts": "keys",
    "support": "edit",
    "invite": "edit",
}
AFTER_APPROVAL: frozenset[Gap] = frozenset(("key", "webhook", "counts"))
"""The gaps that matter once everybody sees the listing."""
BEFORE_APPROVAL: tuple[Gap, ...] = ("ownership", "invite", "support")
ONCE_APPROVED: tuple[Gap, ...] = ("invite", "key", "webhook", "ownership", "counts", "support")
"""The order in which gaps are filled. Votes reach their owner first."""
STEP_NAMES: Mapping[Gap | Literal["listed"], Text] = {
    "listed": Text("Listed"),
    "ownership": Text("Ownership verified"),
    "key": Text("API key made"),
    "webhook": Text("Webhook set up"),
    "counts": Text("Server count pushed"),
    "support": Text("Support server"),
    "invite": Text("Invite to join"),
}

NEXT_TEXTS: Mapping[Next, Text] = {
    "denied": Text("Denied. Read why, change the profile and send it again."),
    "hidden": Text("Hidden: it does not meet every condition."),
    "suspended": Text("Votes do not reach you: the webhook is suspended."),
    "wait": Text("A moderator will review it."),
    "done": Text("Everything is set up."),
    "ownership": Text("Next: prove that it is yours."),
    "key": Text("Next: make an API key."),
    "webhook": Text("Next: set up the webhook."),
    "counts": Text("Next: push your server count."),
    "support": Text("Next: add a support server."),
    "invite": Text("Next: add an invite, so that people can join."),
}
"""The next step as one line, for a list of listings."""


class SetupStep(NamedTuple):
    """A step, with its name for people."""

    name: Text
    is_done: bool


def gaps_of(row: Listing) -> tuple[Gap, ...]:
    """Return the gaps of a listing, the most urgent first."""
    is_approved = row.state == "approved"
    return tuple(
        gap
        for gap, is_there in _possible(row).items()
        if not is_there and (is_approved or gap not in AFTER_APPROVAL)
    )


def steps_of(row: Listing) -> tuple[SetupStep, ...]:
    """Return all steps of a listing, in the order in which they are taken."""
    possible = _possible(row)
    steps = [SetupStep(STEP_NAMES[gap], possible[gap]) for gap in ONCE_APPROVED if gap in possible]
    return (SetupStep(STEP_NAMES["listed"], row.is_public), *steps)


def next_step(row: Listing, allowed: frozenset[Right]) -> Next | None:
    """Return the next step of a visitor with these rights; None for one who only looks."""
    if not {"edit", "webhook"} & allowed:
        return None
    if row.state == "denied":
        return "denied"
    if row.is_hidden:
        return "hidden"
    if row.webhook is not None and row.webhook.suspension is not None:
        return "suspended"
    missing = gaps_of(row)
    order = ONCE_APPROVED if row.state == "approved" else BEFORE_APPROVAL
    waiting: Next = "done" if row.state == "approved" else "wait"
    return next((gap for gap in order if gap in missing and WHO_FILLS[gap] in allowed), waiting)


def _possible(row: Listing) -> Mapping[Gap, bool]:
    """Return each gap that a listing of this kind can have, and true for the filled ones."""
    kind, profile = kind_of(row.ref), row.latest
    found: tuple[tuple[Gap, bool, bool], ...] = (
        ("ownership", kind.known_as == "application", is_proven(row)),
        ("key", kind.has("keys"), bool(row.keys)),
        ("webhook", kind.has("webhook"), row.webhook is not None),
        ("counts", kind.has("stats"), row.counts is not None),
        ("support", kind.support_name is not None, bool(getattr(profile, kind.support_name or "", None))),
        ("invite", kind.has("invites"), can_join(row)),
    )
    return {gap: is_there for gap, is_possible, is_there in found if is_possible}
