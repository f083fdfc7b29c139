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
from core.rows import Attempt, CoOwner, HandOver, Webhook
from core.user_rows import Rating
from forms.fields import MAX_MS
from forms.file_fields import FileRef, files_of
from kinds.registry import KINDS
from listings.keys import KeyDigester
from openapi.examples import CO_OWNER, DELIVERY_ID, NOW_MS, OWNER, SERVER_COUNT, USER
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
