"""The one table of actions: each subject has a group. Invariant: what is not here cannot be called."""

from actions.action import AnyAction
from actions.deliveries import DELIVERY_ACTIONS
from actions.keys import KEY_ACTIONS
from actions.listings import LISTING_ACTIONS, NUMBER_ACTIONS
from actions.notices import CLEAR_REMINDERS, LIST_NOTICES, LIST_REMINDERS
from actions.owners import OWNER_ACTIONS
from actions.review import DECISION_ACTIONS, REVIEW_ACTIONS
from actions.sessions import END_ALL_SESSIONS, END_SESSION, END_SESSIONS, LIST_SESSIONS
from actions.users import (
    APPOINT_MODERATOR,
    DISMISS_MODERATOR,
    FORGET_USER,
    LIFT_QUARANTINE,
    LIST_MODERATORS,
    LIST_USERS,
    QUARANTINE_USER,
    SHOW_USER,
)
from actions.vote_removals import REMOVE_VOTES
from actions.votes import VOTE_ACTIONS
from actions.webhooks import WEBHOOK_ACTIONS

USER_ACTIONS: tuple[AnyAction, ...] = (
    *(LIST_USERS, SHOW_USER, FORGET_USER, LIST_MODERATORS, APPOINT_MODERATOR, DISMISS_MODERATOR),
    *(LIST_SESSIONS, LIST_NOTICES, LIST_REMINDERS, CLEAR_REMINDERS),
    *(END_SESSIONS, END_ALL_SESSIONS, END_SESSION, QUARANTINE_USER, LIFT_QUARANTINE),
)
GROUPS: tuple[tuple[str, tuple[AnyAction, ...]], ...] = (
    ("Listings", (*LISTING_ACTIONS, *DECISION_ACTIONS)),
    ("Listings", NUMBER_ACTIONS),
    ("Listings", OWNER_ACTIONS),
    ("Review", REVIEW_ACTIONS),
    ("Keys", KEY_ACTIONS),
    ("Webhooks", (*WEBHOOK_ACTIONS, *DELIVERY_ACTIONS)),
    ("Votes", (*VOTE_ACTIONS, REMOVE_VOTES)),
    ("Users", USER_ACTIONS),
)
"""The groups with their tags. The API's description has them in this order, each kind by kind."""
ACTIONS: tuple[AnyAction, ...] = tuple(action for _, actions in GROUPS for action in actions)
