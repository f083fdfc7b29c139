"""What a bot must be to be listed. Law: a plain no is an obstacle; what nobody knows is none.

The platform may be away, or say less than it did: then a moderator looks.
"""

from collections.abc import Sequence
from typing import Literal

from chatplatform.facts import PlatformApplication

Obstacle = Literal["no_application", "not_inviteable", "no_commands"]


def obstacles(application: PlatformApplication | None) -> Sequence[Obstacle]:
    """Return what keeps an application from being listed.

    Args:
        application: what the platform said of it; None if it knows no such one.
    """
    if application is None:
        return ["no_application"]
    found: list[Obstacle] = []
    if application.is_inviteable == "no":
        found.append("not_inviteable")
    if application.has_commands == "no":
        found.append("no_commands")
    return found
