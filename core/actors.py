"""The author of a change. Invariant: an actor names somebody in the past, and permits nothing.

An actor is text: "operator", "gateway" for the gateway's own acts, "users/<id>" for a user who has signed in,
"erased" for a user of whom nothing may be known any more. It is empty where nobody knows: records of older
versions do not say it. No record says "moderator": it hides the moderator's name from readers who may not
know it.
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
