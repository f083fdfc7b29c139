"""The one table of actions: each subject has a group. Invariant: what is not here cannot be called."""

from actions.action import AnyAction
from actions.deliveries import DELIVERY_ACTIONS
from actions.keys import KEY_ACTIONS
from actions.listings import LISTING_ACTIONS, NUMBER_ACTIONS
from actions.owners import OWNER_ACTIONS
from actions.votes import VOTE_ACTIONS
from actions.webhooks import WEBHOOK_ACTIONS

ACTIONS: tuple[AnyAction, ...] = (
    *LISTING_ACTIONS,
    *NUMBER_ACTIONS,
    *OWNER_ACTIONS,
    *KEY_ACTIONS,
    *WEBHOOK_ACTIONS,
    *DELIVERY_ACTIONS,
    *VOTE_ACTIONS,
)
