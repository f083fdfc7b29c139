"""The one table of actions: each subject has a group. Invariant: what is not here cannot be called."""

from actions.action import AnyAction
from actions.keys import KEY_ACTIONS
from actions.owners import OWNER_ACTIONS
from actions.votes import VOTE_ACTIONS

ACTIONS: tuple[AnyAction, ...] = (*KEY_ACTIONS, *OWNER_ACTIONS, *VOTE_ACTIONS)
