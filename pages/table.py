"""The table of people's pages. Invariant: a page that is not here does not exist.

A page that changes something is a POST, and leads to a page by 303. The callback of the sign-in is the
exception: the chat platform sends the browser there by a GET.
"""

from pages.account.invitations import INVITATION
from pages.account.mails import MAIL_PAGES
from pages.account.my_data import MY_DATA
from pages.account.my_pages import MY_PAGES
from pages.account.my_votes import MY_VOTES
from pages.account.preferences import PREFERENCES
from pages.account.sign_in import SIGN_IN_PAGES
from pages.owner.deliveries import DELIVERY_PAGES
from pages.owner.keys import KEY_PAGES
from pages.owner.overview import OVERVIEW_PAGES
from pages.owner.owners import OWNER_PAGES
from pages.owner.profile import PROFILE
from pages.owner.submission import SUBMISSION
from pages.owner.take_over import TAKE_OVER_PAGES
from pages.owner.vote_numbers import NUMBER_PAGES
from pages.owner.webhooks import WEBHOOK_PAGES
from pages.page_rows import rows_of
from pages.public.add_emojis import ADD_EMOJIS
from pages.public.authors import AUTHOR
from pages.public.colours import COLOURS
from pages.public.downloads import DOWNLOAD
from pages.public.files import FILE
from pages.public.home import HOME
from pages.public.images import IMAGE
from pages.public.link_previews import LINK_PREVIEW
from pages.public.listing import PUBLIC_LISTING
from pages.public.lists import PUBLIC_LISTS
from pages.public.new_listings_feed import NEW_LISTINGS
from pages.public.owner_texts import OWNER_TEXTS
from pages.public.rankings import RANKINGS
from pages.public.ratings import RATING_PAGES
from pages.public.report import REPORT_PAGES
from pages.public.robots import ROBOTS
from pages.public.sitemap import SITEMAP
from pages.public.suggestions import SUGGESTIONS
from pages.review.listing_review import LISTING_PAGES
from pages.review.queue import QUEUE
from pages.review.votes import FLAGGED_VOTES, LISTING_VOTES
from pages.voting.likes import LIKE_BUTTON
from pages.voting.vote_page import VOTE_PAGE

PEOPLE_PAGES = (
    *rows_of((*SIGN_IN_PAGES, PREFERENCES)),
    *rows_of((ROBOTS, *SITEMAP, NEW_LISTINGS, *OWNER_TEXTS)),
    *rows_of((*MY_PAGES, *MAIL_PAGES, *MY_DATA, *MY_VOTES)),
    *rows_of((SUBMISSION, *OVERVIEW_PAGES, PROFILE)),
    *rows_of((*TAKE_OVER_PAGES, *OWNER_PAGES, INVITATION)),
    *rows_of(KEY_PAGES),
    *rows_of((*WEBHOOK_PAGES, *DELIVERY_PAGES)),
    *rows_of(NUMBER_PAGES),
    *rows_of((QUEUE, FLAGGED_VOTES, *LISTING_PAGES, LISTING_VOTES)),
    *rows_of((VOTE_PAGE, LIKE_BUTTON, *REPORT_PAGES, *RATING_PAGES)),
    *rows_of((*HOME, AUTHOR, *PUBLIC_LISTS, SUGGESTIONS, *RANKINGS, LINK_PREVIEW, COLOURS)),
    *rows_of((FILE, DOWNLOAD, IMAGE, ADD_EMOJIS)),
    *rows_of(PUBLIC_LISTING),
)
