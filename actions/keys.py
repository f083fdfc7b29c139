"""The API keys of a listing. Invariant: a key's value is in one answer only, the one that made it."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from actions.action import Access, Action, Call, Command, Option
from actions.views import (
    NULL,
    ActorName,
    Count,
    Day,
    Hint,
    Moment,
    NoMore,
    OurId,
    Success,
    View,
    described,
    example,
)
from core.clock import date_of
from core.rows import Key
from listings.forms import KeyName, Rotation
from listings.keys import KEY_BYTES, NewKey, delete_key, issue_key, key_value, rotate_key
from listings.rules import listing_of

KeyLabel = Annotated[str, example("production")]
KeyValue = Annotated[
    str,
    Meta(pattern="^vg_[A-Za-z0-9_-]{43}$", description="The value, shown only in this answer."),
    example("vg_3q2-7wEjRWeJq83vASNFZ4mrze8BI0VniavN7wEjRWc"),
]


class KeyView(View):
    """An API key without its value, which nobody keeps."""

    id: OurId
    name: KeyLabel
    fingerprint: Annotated[
        str,
        Meta(pattern="^[0-9a-f]{8}$", description="A short digest of the value, to tell keys apart."),
        example("1f3c5a7e"),
    ]
    created_at: Moment
    rotated_at: Annotated[Moment | None, NULL]
    old_key_until: Annotated[
        Count | None,
        described("The time when the key before the rotation stops; null once it has stopped.", None),
    ]
    made_by: Annotated[
        tuple[ActorName, ...],
        described("The actors who made the value and, after a rotation with overlap, the old value."),
    ]
    last_used: Annotated[
        Day | None, described("The last day on which the key was accepted; null if it never was.")
    ]


class KeyList(Success):
    """The API keys of a bot."""

    keys: tuple[KeyView, ...]
    next: NoMore = None


class IssuedKey(Success):
    """A new API key with its value."""

    id: OurId
    name: KeyLabel
    key: KeyValue
    hint: Hint | UnsetType = UNSET


class RotatedKey(Success):
    """An API key with its new value."""

    id: OurId
    key: KeyValue


def key_view(key: Key, now_ms: int) -> KeyView:
    return KeyView(
        id=key.id,
        name=key.name,
        fingerprint=key.fingerprint,
        created_at=key.created_ms,
        rotated_at=key.rotated_ms,
        old_key_until=key.old_until_ms if key.old_until_ms > now_ms else None,
        made_by=key.makers,
        last_used=date_of(key.used_day) if key.used_day else None,
    )


async def issue(call: Call, form: KeyName) -> IssuedKey:
    """Make a key, and return it with its value."""
    tools, ref = call.tools, call.ref
    value, key_id = key_value(tools.random(KEY_BYTES)), tools.new_id()
    events = issue_key(
        call.state,
        ref,
        NewKey(key_id, form.name, tools.digester.digest(value)),
        now_ms=call.now_ms,
        keys_per_listing=tools.keys_per_listing,
        by=call.by,
    )
    return await call.commit(
        events, lambda: IssuedKey(id=key_id, name=form.name, key=value, hint=tools.hint(ref))
    )


def index(call: Call, _: None) -> KeyList:
    """Return the keys without their values."""
    listing = listing_of(call.state, call.ref)
    return KeyList(keys=tuple(key_view(key, call.now_ms) for key in listing.keys))


async def rotate(call: Call, form: Rotation) -> RotatedKey:
    """Give a key a new value, and return that."""
    key_id, value = call.ids[1], key_value(call.tools.random(KEY_BYTES))
    events = rotate_key(
        call.state,
        call.ref,
        key_id,
        digest=call.tools.digester.digest(value),
        overlap_seconds=form.overlap_seconds,
        now_ms=call.now_ms,
        by=call.by,
    )
    return await call.commit(events, lambda: RotatedKey(id=key_id, key=value))


async def delete(call: Call, _: None) -> Success:
    """Delete a key."""
    return await call.done(delete_key(call.state, call.ref, call.ids[1], call.now_ms, by=call.by))


OVERLAP = Option(
    "--overlap",
    reads="seconds",
    default="0",
    help="Time for which the old key works beside the new one, such as 24h.",
)

ISSUE_KEY = Action(
    name="issueKey",
    run=issue,
    access=Access("keys", fresh=True),
    route="POST /manage/{kind}/{id}/keys",
    of="keys",
    summary="Issue an API key",
    about=(
        "The {thing} must be approved. It can have $keys_per_listing keys at most. Keep the value: "
        "only this answer shows it."
    ),
    outcome="The new key, with its value.",
    refuses=("keys_need_approval", "too_many_keys"),
    status=201,
    command=Command(
        "keys issue",
        "Issue an API key for a bot.\n\nNAME is for your own use. The key is shown only this once.",
        {"name": Option()},
    ),
)
LIST_KEYS = Action(
    name="listKeys",
    run=index,
    access=Access("keys"),
    route="GET /manage/{kind}/{id}/keys",
    of="keys",
    summary="List a {thing}'s API keys",
    about="The list has no values of keys, because the gateway does not keep them.",
    outcome="The keys.",
    command=Command("keys list"),
)
ROTATE_KEY = Action(
    name="rotateKey",
    run=rotate,
    access=Access("keys", fresh=True),
    route="POST /manage/{kind}/{id}/keys/{key_id}/rotate",
    of="keys",
    summary="Rotate an API key",
    about="The key gets a new value. The old value stops at once, or after an overlap that you choose.",
    outcome="The key with its new value.",
    refuses=("no_such_key",),
    command=Command(
        "keys rotate",
        "Rotate an API key.\n\nThe key gets a new value. The old value stops at once, unless you "
        "name an overlap. The new one is shown only this once.",
        {"overlap_seconds": OVERLAP},
    ),
)
DELETE_KEY = Action(
    name="deleteKey",
    run=delete,
    access=Access("keys", fresh=True),
    route="DELETE /manage/{kind}/{id}/keys/{key_id}",
    of="keys",
    summary="Delete an API key",
    about="The key stops at once.",
    outcome="Confirmation that the key is deleted.",
    refuses=("no_such_key",),
    command=Command("keys revoke", loses="This stops the key {key_id} at once."),
)
KEY_ACTIONS = (ISSUE_KEY, LIST_KEYS, ROTATE_KEY, DELETE_KEY)
