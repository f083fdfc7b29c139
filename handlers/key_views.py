"""API keys as the management API shows them. Law: a value is in one answer only, the one that made it."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from core.clock import date_of
from core.rows import Key
from handlers.listing_views import Hint
from handlers.views import NULL, ActorName, Count, Day, Moment, NoMore, OurId, Success, View, example

KeyName = Annotated[str, example("production")]
KeyValue = Annotated[
    str,
    Meta(pattern="^vg_[A-Za-z0-9_-]{43}$", description="The value, shown in this answer alone."),
    example("vg_3q2-7wEjRWeJq83vASNFZ4mrze8BI0VniavN7wEjRWc"),
]


class KeyView(View):
    """An API key without its value, which nobody keeps."""

    id: OurId
    name: KeyName
    fingerprint: Annotated[
        str, Meta(pattern="^[0-9a-f]{8}$", description="Tells keys apart."), example("1f3c5a7e")
    ]
    created_at: Moment
    rotated_at: Annotated[Moment | None, NULL]
    old_key_until: Annotated[
        Count | None,
        Meta(description="The time when the key before the rotation stops; null once it has."),
        NULL,
    ]
    made_by: Annotated[
        tuple[ActorName, ...],
        Meta(description="The makers of its value and, after a rotation with overlap, of the old one."),
    ]
    last_used: Annotated[
        Day | None, Meta(description="The last day on which the key was accepted; null for never.")
    ]


class KeyList(Success):
    """The API keys of a bot."""

    keys: tuple[KeyView, ...]
    next: NoMore = None


class IssuedKey(Success):
    """A new API key with its value."""

    id: OurId
    name: KeyName
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
