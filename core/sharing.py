"""A listing as all nodes of a fleet have it. Law: facts of one node are left out or labelled."""

from collections.abc import Iterable

from msgspec import UNSET
from msgspec.structs import replace

from core.rows import Listing, NodeWindow, Revocation, StatsWindow, Webhook

REVOCATIONS_KEPT = 1_000  # of one listing


def shared(row: Listing, label: str) -> Listing:
    """Return the row of the node of this label as the other nodes may have it."""
    if row.stats_window is not None:
        own = NodeWindow(label, row.stats_window.started_ms, row.stats_window.used)
        row = replace(row, stats_window=None, windows=tuple(sorted((own, *row.windows))))
    if row.webhook is not None and (row.webhook.failed or row.webhook.suspension is not None):
        row = replace(row, webhook=without_health(row.webhook))
    if row.message is not UNSET and not row.message.node:
        row = replace(row, message=replace(row.message, node=label))
    return row


def as_own(row: Listing, label: str) -> Listing:
    """Return a shared row as the node of this label keeps it."""
    if row.message is not UNSET and row.message.node == label:
        row = replace(row, message=replace(row.message, node=""))
    own = next((window for window in row.windows if window.node == label), None)
    if own is None:
        return row
    return replace(
        row,
        stats_window=StatsWindow(own.started_ms, own.used),
        windows=tuple(window for window in row.windows if window is not own),
    )


def newest_revocations(revoked: Iterable[Revocation]) -> tuple[Revocation, ...]:
    """Return the deleted keys that a listing remembers: the newest."""
    return tuple(sorted(set(revoked))[-REVOCATIONS_KEPT:])


def without_health(webhook: Webhook) -> Webhook:
    """Return the settings of the webhook without its health, as before the first attempt."""
    return replace(webhook, failed=0, suspension=None)
