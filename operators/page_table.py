"""The table of the debug pages. Law: a page that is not here does not exist.

Every page but the sign-in is for the operator alone. A page that changes something is a POST, and the GET of
the same path asks for confirmation.
"""

from dataclasses import dataclass

from operators.listing_pages import ListingPages
from operators.operator_actions import DataActions, ListingActions, action_rows
from operators.overview_page import OverviewPage
from operators.process_pages import ProcessPages
from operators.sign_in_page import SignInPage
from web.pages import PageRow


@dataclass(frozen=True)
class DebugPages:
    """The objects that make the pages: one of a gateway."""

    sign_in: SignInPage
    overview: OverviewPage
    process: ProcessPages
    listings: ListingPages
    listing_actions: ListingActions
    data_actions: DataActions


PAGES = (
    PageRow("GET", "/debug/sign-in", lambda to: to.sign_in.show, "anyone"),
    PageRow("POST", "/debug/sign-in", lambda to: to.sign_in.sign_in, "anyone"),
    PageRow("POST", "/debug/sign-out", lambda to: to.sign_in.sign_out, "anyone"),
    PageRow("GET", "/debug", lambda to: to.overview.show, "operator"),
    PageRow("GET", "/debug/live", lambda to: to.overview.live, "anyone"),
    PageRow("GET", "/debug/webhooks", lambda to: to.process.webhooks, "operator"),
    PageRow("GET", "/debug/limiter", lambda to: to.process.limiter, "operator"),
    PageRow("GET", "/debug/errors", lambda to: to.process.errors, "operator"),
    PageRow("GET", "/debug/journal", lambda to: to.process.journal, "operator"),
    PageRow("GET", "/debug/data", lambda to: to.process.data, "operator"),
    PageRow("GET", "/debug/find", lambda to: to.listings.find, "operator"),
    PageRow("GET", "/debug/users/{id}", lambda to: to.listings.user, "operator"),
    PageRow("GET", "/debug/listings/{kind}/{id}", lambda to: to.listings.listing, "operator"),
    *action_rows(),
)
