"""Who makes a change. Law: an actor names somebody in the past, and permits nothing.

An actor is text: "operator", "gateway" for what the gateway does by itself, "users/<id>" for a user who has
signed in, "erased" for a user of whom nothing may be known any more. It is empty where nobody knows: records
of older versions do not say it. "moderator" is in no record: it stands for one where others read of it.
"""

from typing import NewType

Actor = NewType("Actor", str)
OPERATOR = Actor("operator")
GATEWAY = Actor("gateway")
ERASED = Actor("erased")
MODERATOR = Actor("moderator")
UNKNOWN = Actor("")
_USERS = "users/"


def user_actor(user_id: str) -> Actor:
    return Actor(_USERS + user_id)


def user_of(actor: Actor) -> str | None:
    """Return the id of the user; None for an actor who is none."""
    return actor.removeprefix(_USERS) if actor.startswith(_USERS) else None
