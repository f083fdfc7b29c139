"""A listing as all nodes of a fleet have it. Law: what is only of one node is left out, or named after it."""

from collections.abc import Iterable

from msgspec.structs import replace

from core.rows import Listing, NodeWindow, Revocation, StatsWindow, Webhook

REVOKED_KEPT = 1_000  # of one listing


def shared(row: Listing, label: str) -> Listing:
    """The row of the node of this label, as it may be told to others."""
    if row.stats_window is not None:
        own = NodeWindow(label, row.stats_window.started_ms, row.stats_window.used)
        row = replace(row, stats_window=None, windows=tuple(sorted((own, *row.windows))))
    if row.webhook is not None and (row.webhook.failed or row.webhook.suspension is not None):
        row = replace(row, webhook=well(row.webhook))
    return row


def as_own(row: Listing, label: str) -> Listing:
    """A shared row as the node of this label keeps it."""
    own = next((window for window in row.windows if window.node == label), None)
    if own is None:
        return row
    return replace(
        row,
        stats_window=StatsWindow(own.started_ms, own.used),
        windows=tuple(window for window in row.windows if window is not own),
    )


def remembered(revoked: Iterable[Revocation]) -> tuple[Revocation, ...]:
    """The newest of a listing's deleted keys."""
    return tuple(sorted(set(revoked))[-REVOKED_KEPT:])


def well(webhook: Webhook) -> Webhook:
    """The settings alone, as if nothing had been sent yet."""
    return replace(webhook, failed=0, suspension=None)
