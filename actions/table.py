"""The one table of actions: each subject has a group. Invariant: what is not here cannot be called."""

from actions.action import AnyAction
from actions.keys import KEY_ACTIONS
from actions.review import DECISION_ACTIONS, REVIEW_ACTIONS
from actions.vote_removals import REMOVE_VOTES
from actions.votes import VOTE_ACTIONS

ACTIONS: tuple[AnyAction, ...] = (
    *DECISION_ACTIONS,
    *REVIEW_ACTIONS,
    *KEY_ACTIONS,
    *VOTE_ACTIONS,
    REMOVE_VOTES,
)
