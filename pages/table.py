"""The table of people's pages. Invariant: a page that is not here does not exist.

A page that changes something is a POST, and leads to a page by 303. The callback of the sign-in is the
exception: the chat platform sends the browser there by a GET.
"""

from dataclasses import dataclass

from pages.account.invitations import INVITATION
from pages.account.my_votes import MY_VOTES
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
from pages.public.listing import PUBLIC_LISTING
from pages.public.lists import PUBLIC_LISTS
from pages.public.robots import ROBOTS
from pages.review.listing_review import LISTING_PAGES
from pages.review.queue import QUEUE
from pages.review.votes import FLAGGED_VOTES, LISTING_VOTES
from pages.site_tools import SiteTools
from pages.voting.vote_page import VOTE_PAGE
from web.pages import PageRow
from web.people.language_choice import LanguageChoice
from web.people.my_data import MyData
from web.people.my_pages import MyPages
from web.people.sign_in_pages import CALLBACK, SignInPages


@dataclass(frozen=True)
class PeoplePages:
    """The objects that make the pages: one of a gateway. `site` is for the pages that are rows."""

    site: SiteTools
    sign_in: SignInPages
    language: LanguageChoice
    mine: MyPages
    data: MyData


SIGN_IN_PAGES = (
    PageRow("GET", "/signin", lambda to: to.sign_in.show, "anyone"),
    PageRow("POST", "/signin", lambda to: to.sign_in.start, "anyone"),
    PageRow("GET", CALLBACK, lambda to: to.sign_in.finish, "anyone"),
    PageRow("POST", "/signout", lambda to: to.sign_in.sign_out, "anyone"),
)
OWNED_PAGES = (*SUBMISSIONS, PROOF, OVERVIEW, SERVER_CHECK, PROFILE, REMOVAL)
PEOPLE_PAGES = (
    *SIGN_IN_PAGES,
    PageRow("POST", "/language", lambda to: to.language.choose, "anyone"),
    *rows_of((ROBOTS,)),
    PageRow("GET", "/me", lambda to: to.mine.listings, "signed in"),
    PageRow("GET", "/me/notices", lambda to: to.mine.notices, "signed in"),
    PageRow("POST", "/me/notices", lambda to: to.mine.notices_read, "signed in"),
    PageRow("GET", "/me/sessions", lambda to: to.mine.sessions, "signed in"),
    PageRow("POST", "/me/sessions", lambda to: to.mine.end_session, "signed in"),
    PageRow("GET", "/me/data", lambda to: to.data.show, "signed in"),
    PageRow("GET", "/me/data.json", lambda to: to.data.download, "signed in"),
    PageRow("POST", "/me/data", lambda to: to.data.erase, "signed in"),
    *rows_of(MY_VOTES),
    *rows_of(OWNED_PAGES),
    *rows_of((TAKE_OVER, *OWNER_PAGES, INVITATION)),
    *rows_of(KEY_PAGES),
    *rows_of((*WEBHOOK_PAGES, *DELIVERY_PAGES)),
    *rows_of(NUMBER_PAGES),
    *rows_of((QUEUE, FLAGGED_VOTES, *LISTING_PAGES, LISTING_VOTES)),
    *rows_of((VOTE_PAGE,)),
    *rows_of((*PUBLIC_LISTS, *PUBLIC_LISTING)),
)
