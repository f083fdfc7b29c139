"""Gateways in which everything exists that the examples of the OpenAPI document name."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from blobs.blob_store import Blobs
from core import events as ev
from core.actors import user_actor
from core.events import Event
from core.rows import Attempt, CoOwner, HandOver, Suspension, Webhook
from core.user_rows import Rating, user_ref
from forms.fields import MAX_MS
from forms.file_fields import FileRef, files_of
from kinds.kind import Kind
from kinds.registry import KINDS
from listings.keys import KeyDigester
from openapi.examples import (
    BODIES,
    CO_OWNER,
    DELIVERY_ID,
    FAR_MS,
    NOW_MS,
    OWNER,
    QUARANTINE,
    SERVER_COUNT,
    USER,
)
from tests.support.described_rows import (
    APPROVED_BOT,
    APPROVED_SERVER,
    CO_OWNER_ID,
    KEY,
    PRODUCTION_KEY,
    SIGNED_IN,
)
from tests.support.gateways import ThreadGateway, running
from tests.support.made_listings import MADE_ROWS
from tests.support.slots_set import actual_count_set, webhook_saved

DIGEST_SECRET = "the-digest-secret-of-these-tests-0123456789"
SETTINGS: dict[str, object] = {
    "keys.digest_secret": DIGEST_SECRET,
    # No request is refused for the number of those before it, and every count is near the actual one.
    "limits.stats.requests": 1_000_000,
    "limits.voters.requests": 1_000_000,
    "limits.failures.requests": 1_000_000,
    "stats.max_difference": 10_000_000,
    # Where webhooks may go is the deployment's, not the document's.
    "webhooks.allow_http": True,
}
SAMPLE_FILES = {
    file.digest: file
    for kind in KINDS
    for name in kind.fields
    for file in files_of(getattr(kind.sample, name))
}
"""The files that the document's examples name: they are kept in every world."""


@contextmanager
def described(folder: Path) -> Iterator[ThreadGateway]:
    """Run a gateway that has the files of the examples."""
    kept = Blobs.ref

    async def ref(files: Blobs, digest: str) -> FileRef | None:
        return SAMPLE_FILES.get(digest) or await kept(files, digest)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Blobs, "ref", ref)
        with running(folder, **SETTINGS) as gateway:
            yield gateway


def world(operation_id: str, url: str, refs: Iterable[str]) -> list[Event]:
    """Removes what there is, and makes both listings and all that hangs on them as the operation wants them.

    Nothing to be submitted exists yet, nothing to be reviewed is decided, all else is approved. The user may
    not vote, where that is not tried.
    """
    events: list[Event] = [ev.ListingRemoved(ref) for ref in refs]
    events.append(ev.UserErased(USER, (SIGNED_IN.ref,)))
    if not operation_id.startswith("voteFor"):
        events.append(ev.UserMerged(SIGNED_IN))
    if operation_id.startswith("submit"):
        return events
    for listing in (APPROVED_BOT, APPROVED_SERVER, *MADE_ROWS):
        events.append(ev.ListingSaved(listing.ref, listing.owner_id, listing.profile, "in_review", NOW_MS))
        if operation_id.startswith(("approve", "deny", "claim", "release")):
            continue
        attempt = Attempt(NOW_MS, 1, 204, None, "")
        if "Offer" in operation_id:
            offered = HandOver(user_actor(CO_OWNER), NOW_MS, MAX_MS)
            events.append(ev.OwnerSet(listing.ref, OWNER, offered, "hand_over_offered", NOW_MS))
        if operation_id in {"acceptInvitation", "endExtraOwner"}:
            invited = CoOwner(CO_OWNER_ID, user_actor(USER), NOW_MS)
            events.append(ev.CoOwnerSaved(listing.ref, invited, NOW_MS))
        events += [
            ev.ListingReviewed(listing.ref, "approved", None, NOW_MS),
            webhook_saved(listing.ref, Webhook(url, NOW_MS)),
            ev.DeliveryQueued(DELIVERY_ID, listing.ref, USER, test=False, at_ms=NOW_MS),
            ev.DeliveryAttempted(DELIVERY_ID, listing.ref, 1, attempt, "delivered", None),
        ]
        if operation_id.startswith("rate"):
            events.append(ev.VoteCast(listing.ref, USER, 1, NOW_MS))
        elif "Rating" in operation_id:
            rating = Rating(listing.ref, NOW_MS, 4, "It counts well, and its owner helps.")
            events.append(ev.RatingSet(SIGNED_IN.ref, rating, NOW_MS))
    key = replace(PRODUCTION_KEY, digest=KeyDigester(DIGEST_SECRET.encode()).digest(KEY))
    return [*events, ev.KeySaved(APPROVED_BOT.ref, key), actual_count_set(APPROVED_BOT.ref, SERVER_COUNT)]


REFUSED = {
    "listVotes": "placeLost",  # a cursor is a place in the journal of one gateway
    "restartWorkers": "noWorkers",
    **{f"{act}{kind.title}Change": "otherVersion" for kind in KINDS for act in ("agreeTo", "refuse")},
}
"""Requests whose examples are refused here. The version of a change depends on its content."""


def prepare(gateway: ThreadGateway, operation_id: str, path: str, url: str) -> None:
    """Make everything as the examples of an operation want it.

    Args:
        path: of the operation, filled in.
        url: of the receiver of webhooks.
    """
    ledger = gateway.gateway.ledger
    gateway.on_loop(lambda: ledger.commit(_prepared(operation_id, url, ledger.state.listings.refs)))
    for kind in KINDS:
        if operation_id.endswith(f"{kind.title}Change"):
            _edit(gateway, path.partition("/change")[0], kind)


def _prepared(operation_id: str, url: str, refs: Iterable[str]) -> list[Event]:
    """Return the events of the world in which an example succeeds."""
    events: list[Event] = [
        replace(event, owner_id=OWNER) if isinstance(event, ev.ListingSaved) else event
        for event in world(operation_id, url, refs)
    ]
    listed = [event.ref for event in events if isinstance(event, ev.ListingSaved)]
    if operation_id.startswith("settle"):
        events += [ev.ListingReported(ref, "other", "", NOW_MS, by=user_actor(USER)) for ref in listed]
    if operation_id.startswith(("resume", "probe")):
        webhook = Webhook(url, NOW_MS, suspension=Suspension(NOW_MS, "timeout", 1, FAR_MS))
        events = [
            event for event in events if not isinstance(event, ev.DeliveryQueued | ev.DeliveryAttempted)
        ]
        events += [webhook_saved(ref, webhook, at_ms=1) for ref in listed]
    if operation_id.startswith("probe"):
        for number, ref in enumerate(listed):
            events.append(ev.DeliveryQueued(f"{number:024x}", ref, USER, test=False, at_ms=NOW_MS))
    if operation_id.startswith(("like", "rate")):
        events.append(ev.QuarantineSet(user_ref(USER), replace(QUARANTINE, until_ms=NOW_MS), NOW_MS))
    return events


def _edit(gateway: ThreadGateway, path: str, kind: Kind) -> None:
    """Edit the approved listing of a path, so that a change waits for a decision."""
    ((_, example),) = BODIES[f"{kind.title}Edit"].items()
    text = next(name for name in ("description", "bio", "name") if name in example.value)
    gateway.done("PUT", path, {**example.value, text: f"{example.value[text]}_new"})
