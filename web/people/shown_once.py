"""Keys and secrets on the one page that shows them. Law: the page is the answer to the form that made it.

So its value is in no address, and no second request gets it.
"""

from typing import NamedTuple

from languages.texts import Text
from web.pages import Page
from web.people.listing_access import Access
from web.people.listing_tabs import tab_page


class ShownOnce(NamedTuple):
    """A value that is shown once.

    Args:
        label: what it is.
        what_to_do: what its owner does with it now.
        back: the page to go on to.
        example: a command that uses it.
    """

    title: Text
    label: Text
    value: str
    what_to_do: Text
    back: str
    example: str | None = None


def shown_once(access: Access, at: str, shown: ShownOnce) -> Page:
    return tab_page(access, at, {"shown": shown}, template="shown_once")
