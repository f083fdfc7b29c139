"""Keys and secrets on the one page that shows them. Invariant: that page answers the form that made them.

So its value is in no address, and no second request gets it.
"""

from pages.page import Shown
from web.people.shown_once import ShownOnce


def shown_once(shown: ShownOnce) -> Shown[None]:
    """Return the page with a secret, for the `then` of a post."""
    return Shown(None, html={"shown": shown}, template="shown_once")
