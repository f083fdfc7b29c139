"""The schemas of the OpenAPI document. Law: an answer has the fields named here, all of them but a hint.

What requests hold comes from the forms that read them. Times are Unix milliseconds.
"""

from collections.abc import Mapping
from typing import Any, get_args

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from core.rows import Review
from listings import forms
from listings.fields import MAX_SERVER_COUNT, BotCategory, ServerCategory
from listings.stats import MAX_COMMAND_COUNT
from listings.stats_problems import FIELDS_PER_BOT, NAME_CHARACTERS, JsonType, Problem
from openapi.webhooks import VOTES, WEBHOOK_ANSWERS
from openapi.words import (
    AMOUNT,
    COUNT,
    FLAG,
    MOMENT,
    NO_MORE,
    OUR_ID,
    SNOWFLAKE,
    TEXT,
    Node,
    closed,
    cursor,
    many,
    one_of_ours,
    or_null,
    said,
    sometimes,
    success,
)

FORMS: tuple[type[forms.Form], ...] = (
    forms.BotSubmission,
    forms.BotEdit,
    forms.ServerSubmission,
    forms.ServerEdit,
    forms.Nothing,
    forms.Denial,
    forms.KeyName,
    forms.Rotation,
    forms.WebhookSettings,
    forms.Overlap,
    forms.FailedSince,
    forms.User,
    forms.Users,
    forms.ActualServerCount,
    forms.Limits,
)
KEY_PATTERN = "^vg_[A-Za-z0-9_-]{43}$"


class _Untitled(GenerateJsonSchema):
    """A title that only repeats a name in capitals says nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 (the base class's signature)
        return False


def schema_components() -> Node:
    """Every schema of the document, by name: the forms, then the answers."""
    _, generated = models_json_schema(
        [(form, "validation") for form in FORMS],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Untitled,
    )
    from_forms = {
        name: {key: value for key, value in schema.items() if key != "title"}
        for name, schema in generated["$defs"].items()
    }
    vote: Node = {"oneOf": [one_of_ours(name) for name in VOTES]}
    return {"Stats": STATS, **from_forms, **ANSWERS, **VOTES, "Vote": vote}


KEY_VALUE = said("Shown in this answer alone.", {"type": "string", "pattern": KEY_PATTERN})
REVIEW: Node = {"type": "string", "enum": [*get_args(Review)]}
DIGEST: Node = {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "Equal for equal states."}

STATS: Node = {
    "type": "object",
    "description": "At least one of the two counts. Other fields are ignored, and shown to the bot's owner.",
    "properties": {
        "server_count": {
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_SERVER_COUNT,
            "description": "How many servers the bot is in. It must not differ from the actual count by "
            "more than the larger of 50 and 10% of the actual count.",
        },
        "command_count": {
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_COMMAND_COUNT,
            "description": "How many commands the bot has.",
        },
    },
    "anyOf": [{"required": ["server_count"]}, {"required": ["command_count"]}],
}


def _error(**more: Node) -> Node:
    return closed(
        success={"type": "boolean", "const": False},
        error=said("What is wrong, in a sentence.", TEXT),
        status=said("The HTTP status.", {"type": "integer", "minimum": 400, "maximum": 599}),
        **more,
    )


VOTE_STATUS: Mapping[str, Node] = {
    "voted": said("Whether the user voted in the last 24 hours.", FLAG),
    "vote": said("How often the user has voted, over all time.", COUNT),
    "lastVote": said("The user's latest vote in Unix milliseconds; null for never.", or_null(COUNT)),
}
_REVIEW: Mapping[str, Node] = {
    "state": REVIEW,
    "reason": said("Why the listing was denied.", or_null(TEXT)),
    "created_at": MOMENT,
    "updated_at": MOMENT,
    "reviewed_at": or_null(MOMENT),
    "has_webhook": FLAG,
}
_OWN_LIMITS: Mapping[str, Node] = {
    endpoint: said("The bot's own; null for the deployment's default.", or_null(one_of_ours("Limit")))
    for endpoint in ("stats", "voters")
}
_BOT: Mapping[str, Node] = {
    "id": SNOWFLAKE,
    "owner_id": SNOWFLAKE,
    "name": TEXT,
    "short_description": TEXT,
    "description": said("Markdown.", TEXT),
    "categories": many({"type": "string", "enum": [*get_args(BotCategory)]}),
    "extra_owners": many(SNOWFLAKE),
    "support_invite": or_null(TEXT),
    **_REVIEW,
    "server_count": said("The last that the bot has told.", or_null(COUNT)),
    "command_count": said("The last that the bot has told.", or_null(COUNT)),
    "counts_updated_at": or_null(MOMENT),
    "actual_server_count": said("What the operator has set.", or_null(COUNT)),
    "limits": one_of_ours("OwnLimits"),
}
_HINT: Mapping[str, Node] = {
    "hint": said(
        "Why the bot's first push of `server_count` would be answered 500, and what to do. Missing where "
        "nothing is.",
        TEXT,
    )
}
_STATS_PROBLEMS: Mapping[str, Node] = {
    "stats_problems": said(
        f"Fields of the bot's pushes that were not taken since this process began: the last "
        f"{FIELDS_PER_BOT}, the newest first. Only pushes with a valid key are read, and no value is kept.",
        many(one_of_ours("StatsProblem")),
    )
}
_SERVER: Mapping[str, Node] = {
    "id": SNOWFLAKE,
    "owner_id": SNOWFLAKE,
    "name": TEXT,
    "description": TEXT,
    "keywords": many(TEXT),
    "category": {"type": "string", "enum": [*get_args(ServerCategory)]},
    **_REVIEW,
}
_REASONS: Node = {"type": "object", "additionalProperties": TEXT}
_REPLICATION = closed(
    node=said("Its name and its epoch.", TEXT),
    holds_name=said("Whether Redis has been reached, and no other process bears the name.", FLAG),
    failing=said("What fails, and why; nothing, if all is well.", _REASONS),
    claims_votes=said("Whether Redis answers in time when votes are claimed.", FLAG),
    stream_position=or_null(COUNT),
    unsent=said("How many positions the stream is behind the journal.", COUNT),
    copying_from=said("Whose state is being taken.", or_null(TEXT)),
    digest=said("Equal at all nodes that know the same.", DIGEST),
    refused=said("Why nothing is taken from a node.", _REASONS),
    concerns=said("What is not as it should be, in words.", many(TEXT)),
    nodes={
        "type": "object",
        "additionalProperties": closed(
            node=TEXT,
            state=said(
                "Whether it has been heard of lately; unknown while Redis is away.",
                {"type": "string", "enum": ["there", "silent", "unknown"]},
            ),
            silent_ms=said("Since it was heard of; null while that is unknown.", or_null(COUNT)),
            read_to=COUNT,
            behind=said("How many of its positions are not merged here yet.", COUNT),
        ),
    },
)
_DEBUG_STATE: Mapping[str, Node] = {
    "version": said("The program's.", TEXT),
    "uptime_seconds": COUNT,
    "ready": FLAG,
    "not_ready_because": or_null(TEXT),
    "positions": said(
        "Records of the journal: the newest, the newest on disk, the newest in a snapshot.",
        closed(head=COUNT, durable=COUNT, snapshot=COUNT),
    ),
    "counts": closed(
        bots=COUNT,
        servers=COUNT,
        keys=COUNT,
        votes=COUNT,
        webhooks_pending=COUNT,
        webhooks_in_flight=COUNT,
        endpoints_suspended=COUNT,
    ),
    "limiter": said(
        "How many are being counted.",
        closed(stats_buckets=COUNT, voters_buckets=COUNT, failing_addresses=COUNT),
    ),
    "webhook_proxy_down": said("Whether the webhooks' proxy fails, so that none leaves.", FLAG),
    "digest": DIGEST,
    "replication": said("Of a node of a fleet; null outside of one.", or_null(_REPLICATION)),
    "connections": said(
        "Of clients: open now; refused as they came; closed while they were idle, to make room for others.",
        closed(open=COUNT, refused=COUNT, closed_for_others=COUNT),
    ),
    "memory": closed(resident_bytes=COUNT),
    "loop_lag_ms": said("Of the last minute.", closed(last=AMOUNT, max=AMOUNT)),
}
_NEXT_REQUEST = said(
    "What the next request would meet.",
    closed(limit=COUNT, remaining=COUNT, reset_seconds=COUNT, window_seconds=COUNT),
)

ANSWERS: Mapping[str, Node] = {
    "Success": success(),
    "Error": _error(),
    "InvalidFields": _error(
        fields=said(
            "What is wrong with each field.",
            {"type": "object", "minProperties": 1, "additionalProperties": TEXT},
        )
    ),
    "VotedTooSoon": _error(nextVoteAt=MOMENT),
    "VoteStatus": closed(**VOTE_STATUS),
    "Bot": closed(**_BOT),
    "BotAnswer": success(**_BOT),
    "ShownBot": success(**_BOT, **_STATS_PROBLEMS),
    "ApprovedBot": sometimes(success(**_BOT), **_HINT),
    "StatsProblem": closed(
        field=said(f"Its name, cut after {NAME_CHARACTERS} characters.", TEXT),
        problem={"type": "string", "enum": [*get_args(Problem)]},
        given=said("The type of what it held.", {"type": "string", "enum": [*get_args(JsonType)]}),
        reason=TEXT,
        times={"type": "integer", "minimum": 1},
        last_at=MOMENT,
    ),
    "BotPage": success(bots=many(one_of_ours("Bot")), next=cursor(SNOWFLAKE)),
    "Server": closed(**_SERVER),
    "ServerAnswer": success(**_SERVER),
    "ServerPage": success(servers=many(one_of_ours("Server")), next=cursor(SNOWFLAKE)),
    "OwnLimits": closed(**_OWN_LIMITS),
    "LimitsAnswer": success(**_OWN_LIMITS),
    "ServerCount": success(server_count=COUNT),
    "IssuedKey": sometimes(success(id=OUR_ID, name=TEXT, key=KEY_VALUE), **_HINT),
    "RotatedKey": success(id=OUR_ID, key=KEY_VALUE),
    "Key": closed(
        id=OUR_ID,
        name=TEXT,
        fingerprint=said("Tells keys apart.", {"type": "string", "pattern": "^[0-9a-f]{8}$"}),
        created_at=MOMENT,
        rotated_at=or_null(MOMENT),
        old_key_until=said("When the key before the rotation stops, if it still goes on.", or_null(COUNT)),
    ),
    "KeyList": success(keys=many(one_of_ours("Key")), next=NO_MORE),
    **WEBHOOK_ANSWERS,
    "CastVote": success(vote={"type": "integer", "minimum": 1}, lastVote=MOMENT, nextVoteAt=MOMENT),
    "UserVote": closed(user=SNOWFLAKE, **VOTE_STATUS),
    "UserVotes": success(votes=many(one_of_ours("UserVote")), next=NO_MORE),
    "DebugState": success(**_DEBUG_STATE),
    "DebugBot": success(
        listing=one_of_ours("Bot"),
        keys=many(one_of_ours("Key")),
        webhook=or_null(one_of_ours("Webhook")),
        **_STATS_PROBLEMS,
        voters=said("How many users have voted for the bot.", COUNT),
        limits=closed(stats=_NEXT_REQUEST, voters=_NEXT_REQUEST),
        deliveries=said("The newest.", many(one_of_ours("Delivery"))),
        deliveries_pending=COUNT,
    ),
    "SnapshotTaken": success(position=COUNT, bytes=COUNT, seconds=AMOUNT),
    "Verified": success(
        position=COUNT,
        digest=said("Of the state in memory.", DIGEST),
        folded_digest=said("Of what the disk gives back; null when it gives nothing back.", or_null(DIGEST)),
        equal=FLAG,
        problem=said("Why the disk gives nothing back.", or_null(TEXT)),
    ),
    "Document": {"type": "object", "required": ["openapi", "info", "paths"]},
    "Page": TEXT,
    "Backup": {"type": "string", "format": "binary"},
}
