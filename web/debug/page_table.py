"""The table of the debug pages. Law: a page that is not here does not exist.

Every page but the sign-in is for the operator alone. A page that changes something is a POST, and the GET of
the same path asks for confirmation.
"""

from dataclasses import dataclass

from web.debug.overview_page import OverviewPage
from web.debug.sign_in_page import SignInPage
from web.pages import PageRow

SECTIONS = (("/debug", "Overview"),)
"""The navigation: paths and names."""


@dataclass(frozen=True)
class DebugPages:
    """The objects that make the pages: one of a gateway."""

    sign_in: SignInPage
    overview: OverviewPage


PAGES = (
    PageRow("GET", "/debug/sign-in", lambda to: to.sign_in.show, is_open=True),
    PageRow("POST", "/debug/sign-in", lambda to: to.sign_in.sign_in, is_open=True),
    PageRow("POST", "/debug/sign-out", lambda to: to.sign_in.sign_out, is_open=True),
    PageRow("GET", "/debug", lambda to: to.overview.show),
)
