"""The forms of management calls about a listing. Its kind declares the form of the profile."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, get_args

from core.rows import WebhookEvent
from forms.fields import ABOUT_PROSE, Form, Name, OverlapSeconds, Reason, Snowflake, Time, Url
from forms.rules import IN_PROSE, IS_HEADER_VALUE, UNIQUE, About, Beside, Between, Size, matching
from grammars.patterns import CHAT_URL, CHAT_WEBHOOK_URL
from kinds.registry import PUSHED
from languages.language_names import Language
from languages.said import Fault

MOST_USERS_REMOVED = 1_000
"""Users whose votes one call strikes out."""
ChangeVersion = Annotated[
    str,
    matching(r"^[0-9a-f]{16}$"),
    About(
        "The `version` of the change that you have seen. If the change has another version by now, "
        "the answer is 409.",
        "5f1e9c02a7d46b83",
    ),
]


class Heir(Form, frozen=True):
    """The user to whom a listing is handed over."""

    heir: Snowflake


class Denial(Form, frozen=True):
    """The reason for denying a listing."""

    reason: Reason


class ChangeAgreement(Form, frozen=True):
    """The version of a change to agree to."""

    version: ChangeVersion


class ChangeRefusal(Form, frozen=True):
    """The version of a change to refuse, and the reason."""

    reason: Reason
    version: ChangeVersion


class KeyName(Form, frozen=True):
    """A name for a key."""

    name: Name


class Rotation(Form, frozen=True):
    """The time for which the old key works beside the new one."""

    overlap_seconds: OverlapSeconds = 0


class WebhookSettings(Form, frozen=True):
    """The endpoint for votes and other events. Saving replaces url, token, language and events together."""

    of_the_whole: ClassVar[Mapping[str, Any]] = {
        # Each part names every field: some validators refuse those that a part does not know.
        "if": {"properties": {"url": {"pattern": CHAT_URL}, "token": {}, "language": {}, "events": {}}},
        "then": {
            "properties": {
                "url": {"pattern": CHAT_WEBHOOK_URL},
                "token": {"type": "null"},
                "language": {},
                "events": {},
            }
        },
        "else": {"properties": {"url": {}, "token": {}, "language": {"type": "null"}, "events": {}}},
    }

    url: Annotated[
        Url,
        About(
            "A URL that the deployment may send to: https, a public address that is not its own, "
            "and no port of mail, databases and the like, unless its settings say otherwise. Or a chat "
            "platform's webhook URL."
        ),
    ]
    token: Annotated[
        Annotated[str, Size(1, 512), IS_HEADER_VALUE] | None,
        About(
            "The value of the `Authorization` header of every request. If it is left out, no such "
            "header is sent. It is not allowed for a chat platform's webhook URL."
        ),
    ] = None
    language: Annotated[
        Language | None,
        About(
            "The language of messages to a chat platform's webhook URL, and not allowed for any other "
            "URL; en if left out."
        ),
    ] = None
    events: Annotated[
        Annotated[tuple[WebhookEvent, ...], Size(1, len(get_args(WebhookEvent))), UNIQUE] | None,
        About("The events that the endpoint gets; only votes if left out."),
    ] = None


class Overlap(Form, frozen=True):
    """The time for which the old secret signs beside the new one."""

    overlap_seconds: OverlapSeconds = 0


class FailedSince(Form, frozen=True):
    """The deliveries to send again."""

    failed_since: Annotated[
        Time, About("Send deliveries again that failed then or later, in Unix milliseconds.")
    ]


class Voter(Form, frozen=True):
    """The user who votes."""

    user: Snowflake


class NewTest(Form, frozen=True):
    """A test of a webhook."""

    user: Annotated[
        Snowflake | None,
        About("The user whom the test names as the voter. If left out, it names the owner of the listing."),
    ] = None


class Voters(Form, frozen=True):
    """The users whose votes to look up."""

    users: Annotated[tuple[Snowflake, ...], Size(0, 1_000)]


def _choice(**fields: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of some fields of a strike."""
    # Each part names every field: some validators refuse those that a part does not know.
    every = ("reason", "flagged", "since", "until", "users", "dry_run")
    return {"properties": {**{name: {} for name in every}, **fields}}


_NO_TIME: dict[str, dict[str, Any]] = {"since": {"type": "null"}, "until": {"type": "null"}}
_NOBODY = {"maxItems": 0}


def _one_way(users: tuple[str, ...], before: Mapping[str, Any]) -> Fault | None:
    """Refuse a body that chooses votes in no way, or in two."""
    if {"flagged", "since", "until"} <= before.keys():
        ways = [bool(users), before["flagged"], before["since"] is not None]
        if sum(ways) != 1:
            return Fault("not_one_way")
        if before["until"] is not None and before["since"] is None:
            return Fault("end_alone")
    return None


class Strike(Form, frozen=True):
    """The votes to remove: those of users, the flagged ones, or those within a time."""

    of_the_whole: ClassVar[Mapping[str, Any]] = {
        "if": {**_choice(flagged={"const": True}), "required": ["flagged"]},
        "then": _choice(users=_NOBODY, **_NO_TIME),
        "else": {
            "if": {**_choice(since={"type": "integer"}), "required": ["since"]},
            "then": _choice(users=_NOBODY),
            "else": {**_choice(users={"minItems": 1}, until={"type": "null"}), "required": ["users"]},
        },
    }

    reason: Annotated[str, Size(1, 512), About(f"Shown to the owner. {ABOUT_PROSE}"), IN_PROSE]
    flagged: Annotated[
        bool, About("True for the users of all votes for the listing that a rule has flagged.")
    ] = False
    since: Annotated[
        Time | None, About("Choose the users whose last vote came then or later, in Unix milliseconds.")
    ] = None
    until: Annotated[
        Time | None,
        About("With `since`: choose no users whose last vote came later. If left out, the time is now."),
    ] = None
    users: Annotated[tuple[Snowflake, ...], Size(0, MOST_USERS_REMOVED), Beside(_one_way)] = ()
    dry_run: Annotated[bool, About("True to count the votes without removing them.")] = False


class ActualServerCount(Form, frozen=True):
    """The number of servers that a bot is really in."""

    server_count: Annotated[int, Between(0, PUSHED["server_count"])]


class Limit(Form, frozen=True):
    """Requests per window."""

    requests: Annotated[int, Between(1, 1_000_000)]
    window_seconds: Annotated[int, Between(1, 2_592_000)]


class Limits(Form, frozen=True):
    """A limit left out, or null, is the deployment's default."""

    stats: Limit | None = None
    voters: Limit | None = None
