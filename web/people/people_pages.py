"""The table of people's pages. Law: a page that is not here does not exist.

A page that changes something is a POST, and leads to a page by 303. The callback of the sign-in is the
exception: the chat platform sends the browser there by a GET.
"""

from dataclasses import dataclass

from web.pages import PageRow
from web.people.sign_in_pages import CALLBACK, SignInPages


@dataclass(frozen=True)
class PeoplePages:
    """The objects that make the pages: one of a gateway."""

    sign_in: SignInPages


PEOPLE_PAGES = (
    PageRow("GET", "/signin", lambda to: to.sign_in.show, "anyone"),
    PageRow("POST", "/signin", lambda to: to.sign_in.start, "anyone"),
    PageRow("GET", CALLBACK, lambda to: to.sign_in.finish, "anyone"),
    PageRow("POST", "/signout", lambda to: to.sign_in.sign_out, "anyone"),
)
