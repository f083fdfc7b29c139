"""Keys and secrets on the one page that shows them. Invariant: that page answers the form that made them.

So its value is in no address, and no second request gets it.
"""

from typing import NamedTuple

from languages.texts import Text
from pages.page import Shown


class ShownOnce(NamedTuple):
    """A value that is shown once.

    Args:
        label: the name of the value.
        what_to_do: the text for its owner.
        back: the page to go on to.
        example: a command that uses it.
    """

    title: Text
    label: Text
    value: str
    what_to_do: Text
    back: str
    example: str | None = None


def shown_once(shown: ShownOnce) -> Shown[None]:
    """Return the page with a secret, for the `then` of a post."""
    return Shown(None, html={"shown": shown}, template="shown_once")
