"""The example values of the OpenAPI document. Law: a row is shown by the view that shows it in answers.

Their cast is in `cast.py`, the answers of the debug endpoints are in `debug_examples.py`. An answer or a body
without an example by hand shows those of its fields: `Meta(examples=[...])` in a view,
`Field(examples=[...])` in a form.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, fields, replace
from pydantic import BaseModel

from actions.keys import IssuedKey, KeyList, RotatedKey, key_view
from actions.views import Success
from core.due_reminders import DueReminder
from core.rows import Listing, Webhook
from core.user_rows import Reminder
from handlers.history_views import History, act_views, owner_message_view
from handlers.listing_views import (
    ApprovedBot,
    BotPage,
    LimitsAnswer,
    ServerCount,
    ServerPage,
    ShownBot,
    bot_view,
    limits_view,
    listing_answer,
    server_view,
)
from handlers.manage_strikes import StruckVotes
from handlers.reply import encode_json
from handlers.user_views import (
    ModeratorList,
    UserAnswer,
    UserNotices,
    UserPage,
    UserReminders,
    UserSessions,
    moderator_view,
    notice_view,
    reminder_view,
    session_view,
    user_view,
)
from handlers.vote_feed import VoteLine, VotePage
from handlers.vote_views import CastVote, UserVote, UserVotes
from handlers.webhook_views import (
    DeliveryAnswer,
    DeliveryPage,
    Redelivered,
    RotatedSecret,
    SavedWebhook,
    WebhookAnswer,
    delivery_view,
    webhook_view,
)
from listings.notices import OwnerNotice
from listings.rules import change_version
from openapi.cast import (
    APPOINTED,
    APPROVED_BOT,
    APPROVED_SERVER,
    BOT,
    CHANGED_BOT,
    CHAT_WEBHOOK,
    CO_OWNER,
    DAY_MS,
    DELIVERED,
    KEY,
    KEY_ID,
    MODERATOR,
    NOW_MS,
    OWNER,
    PENDING,
    PRODUCTION_KEY,
    QUARANTINE,
    SERVER,
    SERVER_COUNT,
    SIGNED_IN,
    SIGNED_WITH,
    STRANGER,
    SUSPENDED,
    TESTED,
    USER,
    USER_SESSION,
    WEBHOOK,
)
from openapi.debug_examples import DEBUG_ANSWERS, PROBLEM_VIEWS
from openapi.review_examples import REVIEW_ANSWERS
from openapi.schemas import name_of
from operators.operator_routes import ALL_ROUTES
from votes.queries import NEVER, VoteStatus


class Example(NamedTuple):
    """A body. An answer is of a component's type, and may be `only` for operations whose names begin so."""

    summary: str
    value: Any
    answer: str = ""
    only: str = ""


_NEW: dict[str, Any] = {"review": "in_review", "reviewed_ms": None, "webhook": None, "keys": ()}
_NEW_BOT = replace(
    APPROVED_BOT,
    **_NEW,
    server_count=None,
    command_count=None,
    counts_ms=None,
    actual_server_count=None,
    stats_limit=None,
)
_COUNTLESS_BOT = replace(_NEW_BOT, review="approved", reviewed_ms=NOW_MS)
HINT = (
    "The bot cannot push server_count before its actual server count is set. "
    f"Set it: votegate admin counts {BOT} <number>, "
    f'or PUT /manage/bots/{BOT}/actual-server-count with {{"server_count": <number>}}.'
)
_NEW_SERVER = replace(APPROVED_SERVER, **_NEW)
_DENIED: dict[str, Any] = {
    "review": "denied",
    "reason": "The bot does not answer commands.",
    "reviewed_ms": NOW_MS,
}


_USER = user_view(USER, SIGNED_IN, None, sessions=1, now_ms=NOW_MS)
_MODERATOR = user_view(MODERATOR, APPOINTED, "appointed", sessions=0, now_ms=NOW_MS)
_ISSUED = IssuedKey(id=KEY_ID, name="production", key=KEY)


def _example(summary: str, view: Struct, only: str = "") -> Example:
    """Return an answer as its receiver sees it."""
    return Example(summary, msgspec.json.decode(encode_json(view)), name_of(type(view)), only)


def answer_of_fields(kind: type[Struct]) -> Example:
    """Return an answer made of the examples of its fields. Raises TypeError for a field that has none."""
    metas = [(each.name, meta) for each in fields(kind) for meta in getattr(each.type, "__metadata__", ())]
    return _example(_summary(kind), kind(**{name: meta.examples[0] for name, meta in metas if meta.examples}))


def body_of_fields(form: type[BaseModel]) -> Example:
    """Return a body made of the examples of the form's fields. Fields without one are left out."""
    given = {name: each.examples[0] for name, each in form.model_fields.items() if each.examples}
    return Example(_summary(form), given)


def _summary(kind: type[Any]) -> str:
    """Return the first sentence of a type's docstring, without its full stop."""
    return (kind.__doc__ or "").partition(".")[0]


def _key(kind: type[Any]) -> str:
    name = name_of(kind)
    return f"{name[0].lower()}{name[1:]}"


def _webhook(webhook: Webhook, pending: int = 0) -> dict[str, Any]:
    return asdict(webhook_view(webhook, pending, NOW_MS))


def _bot(listing: Listing) -> dict[str, Any]:
    return asdict(bot_view(listing))


_NOTICE = OwnerNotice(APPROVED_BOT, APPROVED_BOT.trail[1], is_given=False, is_new=True)
_REMINDER = Reminder(APPROVED_BOT.ref, NOW_MS - DAY_MS)
_DUE = DueReminder(APPROVED_BOT, _REMINDER, NOW_MS, is_new=True)
_ANSWERS: Mapping[str, Example] = {
    "done": _example("Done", Success()),
    "voted": _example("The user voted lately", VoteStatus(True, 3, NOW_MS - 3_600_000)),
    "votedBefore": _example("The last vote is older", VoteStatus(False, 3, NOW_MS - 2 * DAY_MS)),
    "neverVoted": _example("The user never voted", NEVER),
    "newBot": _example("In review", listing_answer(_NEW_BOT), "submit"),
    "approvedBot": _example("Approved", listing_answer(APPROVED_BOT)),
    "deniedBot": _example("Denied", listing_answer(replace(_NEW_BOT, **_DENIED)), "deny"),
    "withdrawnBot": _example("Denied", listing_answer(replace(APPROVED_BOT, **_DENIED)), "withdraw"),
    "changedBot": _example("Changed", listing_answer(CHANGED_BOT), "edit"),
    "shownBot": _example(
        "Its client sends a wrong field", ShownBot(**_bot(APPROVED_BOT), stats_problems=PROBLEM_VIEWS)
    ),
    "approvedBotWithCount": _example("Its first push can come", ApprovedBot(**_bot(APPROVED_BOT))),
    "approvedBotWithoutCount": _example(
        "Its first push of server_count would fail", ApprovedBot(**_bot(_COUNTLESS_BOT), hint=HINT)
    ),
    "bots": _example("The last page", BotPage(bots=(bot_view(APPROVED_BOT),), next=None)),
    "newServer": _example("In review", listing_answer(_NEW_SERVER), "submit"),
    "approvedServer": _example("Approved", listing_answer(APPROVED_SERVER)),
    "deniedServer": _example("Denied", listing_answer(replace(_NEW_SERVER, **_DENIED)), "deny"),
    "withdrawnServer": _example("Denied", listing_answer(replace(APPROVED_SERVER, **_DENIED)), "withdraw"),
    "servers": _example("The last page", ServerPage(servers=(server_view(APPROVED_SERVER),), next=None)),
    "issuedKey": _example("The only time the key is shown", _ISSUED),
    "issuedKeyWithoutCount": _example(
        "The first push of server_count would fail", replace(_ISSUED, hint=HINT)
    ),
    "history": _example(
        "A bot that was approved",
        History(history=act_views(APPROVED_BOT), message=owner_message_view(APPROVED_BOT)),
    ),
    "keys": _example("One key", KeyList(keys=(key_view(PRODUCTION_KEY, NOW_MS),))),
    "rotatedKey": _example("The only time the new key is shown", RotatedKey(id=KEY_ID, key=KEY)),
    "webhook": _example("With a token", WebhookAnswer(**_webhook(WEBHOOK))),
    "suspendedWebhook": _example("Its last events have failed", WebhookAnswer(**_webhook(SUSPENDED, 3))),
    "chatWebhook": _example("Of a chat platform", WebhookAnswer(**_webhook(CHAT_WEBHOOK))),
    "savedWebhook": _example("The first time", SavedWebhook(**_webhook(WEBHOOK), secret=SIGNED_WITH)),
    "changedWebhook": _example("Later", SavedWebhook(**_webhook(WEBHOOK), secret=None)),
    "rotatedSecret": _example("The only time the new secret is shown", RotatedSecret(secret=SIGNED_WITH)),
    "redelivered": _example("Three deliveries", Redelivered(redelivered=3)),
    "testDelivered": _example(
        "The test was delivered", DeliveryAnswer(**asdict(delivery_view(TESTED, WEBHOOK))), "test"
    ),
    "delivered": _example("It was delivered", DeliveryAnswer(**asdict(delivery_view(DELIVERED, WEBHOOK)))),
    "deliveries": _example(
        "One to be retried, one delivered",
        DeliveryPage(
            deliveries=tuple(delivery_view(row, WEBHOOK) for row in (PENDING, DELIVERED)), next=None
        ),
    ),
    "votesStruck": _example("Votes of two users", StruckVotes(users=2, votes=7, more=False)),
    "voteCast": _example("The user's third vote", CastVote(vote=3, last_ms=NOW_MS, next_ms=NOW_MS + DAY_MS)),
    "votes": _example(
        "Two users",
        UserVotes(
            votes=(
                UserVote(user=USER, voted=True, vote=3, last_ms=NOW_MS),
                UserVote(user=STRANGER, voted=False, vote=0, last_ms=None),
            )
        ),
    ),
    "votePage": _example(
        "How a user stands, and that user's next vote",
        VotePage(
            votes=(
                VoteLine(type="standing", kind="bots", id=BOT, user=USER, at=NOW_MS - DAY_MS, vote=2),
                VoteLine(type="vote", kind="bots", id=BOT, user=USER, at=NOW_MS, vote=3),
            ),
            next="4711-0-9f2c4e6a",
            more=False,
        ),
    ),
    "user": _example("A user who may not vote for a week", UserAnswer(**asdict(_USER))),
    "appointed": _example("A moderator", UserAnswer(**asdict(_MODERATOR)), "appoint"),
    "users": _example("The last page", UserPage(users=(_USER, _MODERATOR), next=None)),
    "moderators": _example(
        "One whom the settings name, who has not signed in yet, and one who was appointed",
        ModeratorList(
            moderators=(
                moderator_view(OWNER, None, "settings"),
                moderator_view(MODERATOR, APPOINTED, "appointed"),
            )
        ),
    ),
    "sessions": _example("One browser", UserSessions(sessions=(session_view(USER_SESSION),))),
    "notices": _example(
        "A decision that the owner has not seen",
        UserNotices(unread=1, notices=(notice_view(_NOTICE),)),
    ),
    "reminders": _example(
        "One that is due",
        UserReminders(reminders=(reminder_view(APPROVED_BOT, _REMINDER, NOW_MS, _DUE),)),
    ),
    "serverCount": _example("Set", ServerCount(server_count=SERVER_COUNT)),
    "limits": _example("One of its own", LimitsAnswer(**asdict(limits_view(APPROVED_BOT)))),
    **{name: _example(summary, view) for name, (summary, view) in DEBUG_ANSWERS.items()},
    **{name: _example(summary, view) for name, (summary, view) in REVIEW_ANSWERS.items()},
}


_ANSWERED = {example.answer for example in _ANSWERS.values()}
ANSWERS: Mapping[str, Example] = {
    **_ANSWERS,
    **{
        _key(route.answer): answer_of_fields(route.answer)
        for route in ALL_ROUTES
        if route.answer is not None and name_of(route.answer) not in _ANSWERED
    },
}


def answers_of(operation: str, answer: str) -> list[str]:
    """Return the names of the examples that an operation shows for the answer of its type."""
    of_type = {name: example for name, example in ANSWERS.items() if example.answer == answer}
    own = [name for name, example in of_type.items() if example.only and operation.startswith(example.only)]
    return own or [name for name, example in of_type.items() if not example.only]


_PROFILE: dict[str, Any] = {
    "owner_id": OWNER,
    "name": "Example bot",
    "short_description": "Counts what happens on your server",
    "description": "A bot that counts what happens on your server, and tells you **once a week**.",
    "categories": ["Utility", "Fun & Games"],
    "support_invite": "https://example.com/support",
}
_SERVER_PROFILE: dict[str, Any] = {
    "owner_id": OWNER,
    "name": "Example server",
    "description": "A place to talk about bots",
    "keywords": ["bots", "talk"],
    "category": "Community",
}

_BODIES: Mapping[str, Mapping[str, Example]] = {
    "Stats": {
        "bothCounts": Example("Both counts", {"server_count": SERVER_COUNT, "command_count": 42}),
        "serverCountAlone": Example("The server count alone", {"server_count": SERVER_COUNT}),
        "commandCountAlone": Example("The command count alone", {"command_count": 42}),
    },
    "BotSubmission": {"botSubmission": Example("A bot", {"id": BOT, **_PROFILE, "extra_owners": [CO_OWNER]})},
    "BotEdit": {"botEdit": Example("A bot, edited", _PROFILE)},
    "ServerSubmission": {"serverSubmission": Example("A server", {"id": SERVER, **_SERVER_PROFILE})},
    "ServerEdit": {"serverEdit": Example("A server, edited", _SERVER_PROFILE)},
    "Heir": {"heir": Example("The new owner", {"heir": CO_OWNER})},
    "Nothing": {"nothing": Example("Nothing to say", {})},
    "Denial": {"denial": Example("A reason", {"reason": _DENIED["reason"]})},
    "ChangeRefusal": {
        "changeRefusal": Example(
            "A reason", {"version": change_version(CHANGED_BOT), "reason": _DENIED["reason"]}
        )
    },
    "ChangeAgreement": {"changeAgreement": Example("The version", {"version": change_version(CHANGED_BOT)})},
    "KeyName": {"keyName": Example("A name", {"name": "production"})},
    "Rotation": {
        "atOnce": Example("The old key stops at once", {}),
        "withOverlap": Example("The old key goes on for an hour", {"overlap_seconds": 3_600}),
    },
    "WebhookSettings": {
        "withToken": Example("With a token", {"url": WEBHOOK.url, "token": WEBHOOK.token}),
        "withoutToken": Example("Without a token", {"url": WEBHOOK.url}),
        "chatPlatform": Example(
            "A message to a channel", {"url": CHAT_WEBHOOK.url, "language": CHAT_WEBHOOK.language}
        ),
    },
    "Overlap": {
        "secretAtOnce": Example("The old secret stops at once", {}),
        "secretOverlap": Example("Both sign for a day", {"overlap_seconds": 86_400}),
    },
    "FailedSince": {"failedSince": Example("Since an hour ago", {"failed_since": NOW_MS - 3_600_000})},
    "Voter": {"voter": Example("A user", {"user": USER})},
    "Voters": {"voters": Example("Two users", {"users": [USER, STRANGER]})},
    "Strike": {
        "struckUsers": Example(
            "Of two users", {"reason": "Accounts of one person.", "users": [USER, STRANGER]}
        ),
        "struckFlags": Example("The flagged ones", {"reason": "Accounts of one person.", "flagged": True}),
        "struckTime": Example(
            "Of one minute, to count them first",
            {
                "reason": "Accounts of one person.",
                "since": 1_750_000_000_000,
                "until": 1_750_000_060_000,
                "dry_run": True,
            },
        ),
    },
    "QuarantineTerms": {
        "untilThen": Example("For a week", {"reason": QUARANTINE.reason, "until": QUARANTINE.until_ms}),
        "untilLifted": Example("Without an end", {"reason": "You sell votes."}),
    },
    "ActualServerCount": {"actualServerCount": Example("The count", {"server_count": SERVER_COUNT})},
    "Limits": {
        "higherStats": Example("More updates", {"stats": {"requests": 10, "window_seconds": 7_200}}),
        "defaultLimits": Example("Back to the defaults", {}),
    },
    "Vote": {
        "botVote": Example("A vote for a bot", {"bot": BOT, "user": USER, "test": False}),
        "serverVote": Example("A vote for a server", {"guild": SERVER, "user": USER, "test": False}),
        "testVote": Example("A test", {"user": USER, "test": True}),
    },
    "ListingEvent": {
        "botApproved": Example("A bot was approved", {"type": "review.approved", "bot": BOT, "at": NOW_MS}),
        "serverDenied": Example(
            "A server was denied",
            {"type": "review.denied", "guild": SERVER, "at": NOW_MS, "reason": "Say what it is about."},
        ),
        "voteStruck": Example(
            "Votes for a bot were struck out",
            {
                "type": "vote.struck",
                "bot": BOT,
                "user": USER,
                "at": NOW_MS,
                "reason": "Accounts of one person.",
            },
        ),
    },
}
BODIES: Mapping[str, Mapping[str, Example]] = {
    **_BODIES,
    **{
        name_of(route.body): {_key(route.body): body_of_fields(route.body)}
        for route in ALL_ROUTES
        if route.body is not None and issubclass(route.body, BaseModel) and name_of(route.body) not in _BODIES
    },
}
"""By the name of the body's schema."""
