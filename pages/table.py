"""The table of people's pages. Invariant: a page that is not here does not exist.

A page that changes something is a POST, and leads to a page by 303. The callback of the sign-in is the
exception: the chat platform sends the browser there by a GET.
"""

from dataclasses import dataclass

from pages.account.invitations import INVITATION
from pages.account.language import LANGUAGE
from pages.account.my_data import MY_DATA
from pages.account.my_pages import MY_PAGES
from pages.account.my_votes import MY_VOTES
from pages.account.sign_in import SIGN_IN_PAGES
from pages.owner.deliveries import DELIVERY_PAGES
from pages.owner.keys import KEY_PAGES
from pages.owner.overview import OVERVIEW, PROOF
from pages.owner.owners import OWNER_PAGES
from pages.owner.profile import PROFILE
from pages.owner.removal import REMOVAL
from pages.owner.server_checks import SERVER_CHECK
from pages.owner.submission import SUBMISSIONS
from pages.owner.take_over import TAKE_OVER
from pages.owner.vote_numbers import NUMBER_PAGES
from pages.owner.webhooks import WEBHOOK_PAGES
from pages.page_rows import rows_of
from pages.review.listing_review import LISTING_PAGES
from pages.review.queue import QUEUE
from pages.review.votes import FLAGGED_VOTES, LISTING_VOTES
from pages.site_tools import SiteTools
from pages.voting.vote_page import VOTE_PAGE
from web.pages import PageRow
from web.people.for_robots import robots
from web.people.public_listing import PublicListing
from web.people.public_lists import PublicLists
from web.people.public_table import PUBLIC_PAGES


@dataclass(frozen=True)
class PeoplePages:
    """The objects that make the pages: one of a gateway. `site` is for the pages that are rows."""

    site: SiteTools
    lists: PublicLists
    listing: PublicListing


OWNED_PAGES = (*SUBMISSIONS, PROOF, OVERVIEW, SERVER_CHECK, PROFILE, REMOVAL)
PEOPLE_PAGES = (
    *rows_of((*SIGN_IN_PAGES, LANGUAGE)),
    PageRow("GET", "/robots.txt", lambda _: robots, "anyone"),
    *rows_of((*MY_PAGES, *MY_DATA, *MY_VOTES)),
    *rows_of(OWNED_PAGES),
    *rows_of((TAKE_OVER, *OWNER_PAGES, INVITATION)),
    *rows_of(KEY_PAGES),
    *rows_of((*WEBHOOK_PAGES, *DELIVERY_PAGES)),
    *rows_of(NUMBER_PAGES),
    *rows_of((QUEUE, FLAGGED_VOTES, *LISTING_PAGES, LISTING_VOTES)),
    *rows_of((VOTE_PAGE,)),
    *PUBLIC_PAGES,
)
