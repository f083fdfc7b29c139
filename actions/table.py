"""The one table of actions: each subject has a group. Invariant: what is not here cannot be called."""

from actions.action import AnyAction
from actions.deliveries import DELIVERY_ACTIONS
from actions.keys import KEY_ACTIONS
from actions.likes import LIKE_ACTIONS
from actions.listings import LISTING_ACTIONS, NUMBER_ACTIONS
from actions.owners import OWNER_ACTIONS
from actions.ratings import RATING_ACTIONS
from actions.reports import REPORT_ACTIONS
from actions.review import DECISION_ACTIONS, REVIEW_ACTIONS
from actions.uploads import FILE_ACTIONS
from actions.users import USER_ACTIONS
from actions.votes import VOTE_ACTIONS
from actions.webhooks import WEBHOOK_ACTIONS

GROUPS: tuple[tuple[str, tuple[AnyAction, ...]], ...] = (
    ("Listings", (*LISTING_ACTIONS, *DECISION_ACTIONS)),
    ("Listings", NUMBER_ACTIONS),
    ("Listings", OWNER_ACTIONS),
    ("Listings", FILE_ACTIONS),
    ("Review", (*REVIEW_ACTIONS, *REPORT_ACTIONS)),
    ("Keys", KEY_ACTIONS),
    ("Webhooks", (*WEBHOOK_ACTIONS, *DELIVERY_ACTIONS)),
    ("Votes", VOTE_ACTIONS),
    ("Likes", LIKE_ACTIONS),
    ("Ratings", RATING_ACTIONS),
    ("Users", USER_ACTIONS),
)
"""The groups with their tags. The API's description has them in this order, each kind by kind."""
ACTIONS: tuple[AnyAction, ...] = tuple(action for _, actions in GROUPS for action in actions)
