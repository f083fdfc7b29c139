"""The facts on the demo that the chat platform has: the file for `examples/chat_platform.py --known`."""

from collections.abc import Mapping, Sequence
from typing import Any

from demo.people import OFFERED, PEOPLE
from demo.plan import SHAPES, Planned


def known(listings: Sequence[Planned]) -> Mapping[str, Any]:
    """Return the users, applications and servers as the stand-in learns them."""
    return {
        "users": [
            {"id": each.id, "username": each.username, "global_name": each.name, "avatar": each.avatar}
            for each in PEOPLE
        ],
        "offered": {person.id: label for person, label in OFFERED.items()},
        "applications": [
            {
                "id": each.id,
                "name": each.name,
                "icon": each.icon,
                "description": each.fields["short_description"],
            }
            for each in listings
            if each.is_bot
        ],
        "directory": {each.id: each.size for each in listings if each.is_bot},
        "servers": [
            {
                "id": each.id,
                "name": each.name,
                "icon": each.icon,
                "owner_id": each.owner.id,
                "approximate_member_count": each.size,
                "approximate_presence_count": each.size * each.dice("presence").randrange(9, 30) // 100,
            }
            for each in listings
            if not each.is_bot
        ],
        "shapes": {each.icon: SHAPES[each.name] for each in listings if each.name in SHAPES},
    }
