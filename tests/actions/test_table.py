"""actions/table.py: every action takes the right that this test names, and no one else has that right."""

from typing import get_args

import pytest

from actions.action import AnyAction, operations
from actions.table import ACTIONS
from people.permissions import RIGHTS, Relation, Right

NEEDED: dict[str, tuple[Right | None, bool]] = {
    "submit{Thing}": (None, False),
    "list{Thing}s": (None, False),
    "show{Thing}": ("see", False),
    "show{Thing}History": ("review", False),
    "edit{Thing}": ("edit", False),
    "remove{Thing}": ("remove", True),
    "approve{Thing}": ("decide", False),
    "deny{Thing}": ("decide", False),
    "withdraw{Thing}": ("decide", False),
    "agreeTo{Thing}Change": ("decide", False),
    "refuse{Thing}Change": ("decide", False),
    "setActualServerCount": (None, False),
    "setLimits": (None, False),
    "showQueue": (None, False),
    "claim{Thing}": ("review", False),
    "release{Thing}": ("review", False),
    "show{Thing}Notes": ("review", False),
    "note{Thing}": ("review", False),
    "listReported": (None, False),
    "report{Thing}": (None, False),
    "show{Thing}Reports": ("decide", False),
    "settle{Thing}Reports": ("decide", False),
    "issueKey": ("keys", True),
    "listKeys": ("keys", False),
    "rotateKey": ("keys", True),
    "deleteKey": ("keys", True),
    "save{Thing}Webhook": ("webhook", True),
    "show{Thing}Webhook": ("webhook", False),
    "remove{Thing}Webhook": ("webhook", True),
    "resume{Thing}Webhook": ("webhook", False),
    "probe{Thing}Webhook": ("webhook", False),
    "rotate{Thing}WebhookSecret": ("webhook", True),
    "test{Thing}Webhook": ("webhook", False),
    "list{Thing}Deliveries": ("webhook", False),
    "redeliver{Thing}Delivery": ("webhook", False),
    "redeliverFailed{Thing}Deliveries": ("webhook", False),
    "inviteExtraOwner": ("own", True),
    "acceptInvitation": ("answer", False),
    "endExtraOwner": ("own", True),
    "offer{Thing}": ("own", True),
    "accept{Thing}Offer": ("answer", False),
    "end{Thing}Offer": ("own", True),
    "voteFor{Thing}": (None, False),
    "check{Thing}Votes": (None, False),
    "count{Thing}Votes": ("see", False),
    "strike{Thing}Votes": ("decide", False),
    **dict.fromkeys(("like{Thing}", "unlike{Thing}"), (None, False)),
    **dict.fromkeys(("list{Thing}Ratings", "rate{Thing}", "unrate{Thing}"), (None, False)),
    **dict.fromkeys(("answer{Thing}Rating", "unanswer{Thing}Rating"), ("edit", False)),
    "report{Thing}Rating": (None, False),
    "remove{Thing}Rating": ("decide", False),
    **dict.fromkeys(("listUsers", "showUser"), (None, False)),
    "forgetUser": (None, True),
    **dict.fromkeys(("listModerators", "appointModerator", "dismissModerator"), (None, False)),
    **dict.fromkeys(("listSessions", "endSessions", "endAllSessions", "endSession"), (None, False)),
    **dict.fromkeys(("listNotices", "listReminders", "clearReminders"), (None, False)),
    **dict.fromkeys(("quarantineUser", "liftQuarantine"), (None, False)),
    "uploadFile": (None, False),
}
"""The right that each action takes, and whether the sign-in must be fresh."""
MAY: dict[Relation, set[Right]] = {
    "owner": {"see", "edit", "keys", "webhook", "prove", "own", "remove"},
    "extra owner": {"see", "edit", "keys", "webhook", "leave"},
    "invited": {"answer"},
    "moderator": {"see", "review", "decide"},
}
by_name = pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)


@by_name
def test_an_action_takes_the_right_that_it_should(action: AnyAction) -> None:
    assert (action.access.right, action.access.fresh) == NEEDED[action.name]


@by_name
@pytest.mark.parametrize("relation", get_args(Relation))
def test_an_action_is_for_those_with_its_right(action: AnyAction, relation: Relation) -> None:
    right = action.access.right
    assert right is None or (relation in RIGHTS[right]) == (right in MAY[relation])


def test_each_action_is_there_once_and_says_what_it_does() -> None:
    names = [operation.name for operation in operations(ACTIONS)]
    assert len(names) == len({*names})
    assert NEEDED.keys() == {action.name for action in ACTIONS}
