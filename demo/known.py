"""The chat platform's facts about the demo: the file for `examples/chat_platform.py --known`."""

from collections.abc import Mapping, Sequence
from typing import Any

from demo.people import DAN, OFFERED, PEOPLE
from demo.plan import SHAPES, Planned
from demo.trees import template_answer

UNLISTED_BOTS = {"401000000000000001": "Marble Run", "401000000000000002": "Paper Lantern"}
UNLISTED_SERVERS = {"301000000000000001": "Lantern Street", "301000000000000002": "The Quiet Corner"}
"""A bot and a server of Dan that are still to be submitted, and one more of each. An invite is the id."""


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
        ]
        + [{"id": bot_id, "name": name} for bot_id, name in UNLISTED_BOTS.items()],
        "directory": {each.id: each.size for each in listings if each.is_bot},
        "servers": [
            {
                "id": each.id,
                "name": each.name,
                "icon": each.icon,
                "owner_id": each.owner.id,
                "approximate_member_count": each.size,
                "approximate_presence_count": each.online,
            }
            for each in listings
            if each.kind.has("invites")
        ]
        + [
            {"id": server_id, "name": name, "owner_id": DAN.id}
            for server_id, name in UNLISTED_SERVERS.items()
        ],
        "invites": {
            code: {"server": server_id, "expires_at": None}
            for code, server_id in (
                *((each.invite, each.id) for each in listings if each.kind.has("invites")),
                *((server_id, server_id) for server_id in UNLISTED_SERVERS),
            )
        },
        "templates": [
            {**template_answer(each), "name": each.name} for each in listings if each.kind.has("tree")
        ],
        "shapes": {each.icon: SHAPES[each.name] for each in listings if each.name in SHAPES},
    }
