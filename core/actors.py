"""The author of a change, and the request that is the cause of the running code.

Invariant: an actor names somebody in the past, and permits nothing. Only log lines tell the request; no rule
reads it.

An actor is text: "operator", "gateway" for the gateway's own acts, "users/<id>" for a user who has signed in,
"erased" for a user of whom nothing may be known any more. It is empty where nobody knows: records of older
versions do not say it. No record says "moderator": it hides the moderator's name from readers who may not
know it.

They are context variables: a task that a request starts inherits them, and so does a thread that
`asyncio.to_thread` starts. A webhook's attempt gets the id from the request that queued the delivery
(webhook/notifier.py).
"""

from contextvars import ContextVar
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


REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")
"""Empty where no request is the cause: timers, readers of other nodes, the start."""
ADDRESS: ContextVar[str] = ContextVar("address", default="")
"""Empty where `REQUEST_ID` is."""
