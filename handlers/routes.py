"""The one table of routes. Law: a path that is not here does not exist, and one that is here is documented.

A new endpoint is a new row; those under `/debug` are in a file of their own. In a text of a row, `$name` is a
number that an operator can set: the document fills it in.
"""

from collections.abc import Mapping

from actions.deliveries import DELIVERY_ACTIONS
from actions.keys import KEY_ACTIONS
from actions.listings import LISTING_ACTIONS, NUMBER_ACTIONS
from actions.owners import OWNER_ACTIONS
from actions.review import DECISION_ACTIONS, REVIEW_ACTIONS
from actions.table import USER_ACTIONS
from actions.views import Success
from actions.vote_removals import REMOVE_VOTES
from actions.votes import VOTE_ACTIONS
from actions.webhooks import WEBHOOK_ACTIONS
from handlers.action_routes import routes_of
from handlers.route import Route
from handlers.vote_feed import FeedQuery, VotePage
from listings.stats import StatsBody
from votes.queries import VoteStatus

HTML = "text/html"

TAGS: Mapping[str, str] = {
    "Public": "For bot developers: push your bot's counts, and ask whether a user has voted.",
    "Service": "Whether the gateway is well, and what it can do.",
    "Listings": "Bots and servers: submit, review, edit, remove.",
    "Review": "What waits for a decision, who is at it, and what moderators note.",
    "Keys": "API keys of a bot. A key's value is in one answer only, the one that made it.",
    "Webhooks": "Where votes and other events are sent to, and what became of each.",
    "Votes": "Cast a vote, look many up, read all.",
    "Users": "Who moderates, who is signed in, what is forbidden to whom. Forget a user.",
    "Debug": "The inside of the process, for operators.",
}

_PUBLIC = (
    Route(
        "PATCH",
        "/bots/{id}/stats",
        "updateStats",
        endpoint=lambda to: to.public.push,
        access="bot key",
        tag="Public",
        summary="Update a bot's counts",
        description="""\
Tells the platform how many servers your bot is in and how many commands it has. Send one count or
both; nothing changes unless all that you send is right.

The limit is $stats_limit, and only requests that succeed count. Your server count is compared with the actual
one: it must not be off by more than the larger of $max_difference and 10%.

The checks come in this order: key missing (401), bot unknown (404), key wrong (401), limit reached (429),
neither count (400), server count out of range (400), command count out of range (400), actual count unknown
(500), server count too far off (400).""",
        answer=Success,
        outcome="The counts are saved.",
        refuses=(
            *("no_count_given", "server_count_out_of_range", "command_count_out_of_range"),
            *("server_count_too_far_off", "count_unknown", "count_asked_for"),
            "unavailable",
        ),
        body=StatsBody,
    ),
    Route(
        "GET",
        "/bots/{id}/voters/{user_id}",
        "checkVote",
        endpoint=lambda to: to.public.check,
        access="bot key",
        tag="Public",
        summary="Ask whether a user has voted",
        description="""\
Tells whether the user voted for your bot in the last $vote_window, how often over all time, and
when last. A well-formed id that nobody knows has never voted.

The limit is $voters_limit, and only requests that succeed count. This body alone has no `success`.""",
        answer=VoteStatus,
        outcome="How the user stands with the bot.",
        refuses=("malformed_user",),
    ),
)

_SERVICE = (
    Route(
        "GET",
        "/openapi.json",
        "describe",
        endpoint=lambda to: to.service.describe,
        access="anyone",
        tag="Service",
        summary="This description",
        description="The API in the form of OpenAPI 3.1, with the limits that are in force here.",
        answer=None,
        outcome="The document.",
    ),
    Route(
        "GET",
        "/docs",
        "describeToPeople",
        endpoint=lambda to: to.service.show,
        access="anyone",
        tag="Service",
        summary="This description, to be read",
        description="The same document as one HTML page that needs nothing else.",
        answer=None,
        outcome="The page.",
        content_type=HTML,
    ),
    Route(
        "GET",
        "/healthz",
        "isAlive",
        endpoint=lambda to: to.service.is_alive,
        access="anyone",
        tag="Service",
        summary="Ask whether the process is alive",
        description="Succeeds as long as the process answers at all.",
        answer=Success,
        outcome="It is alive.",
    ),
    Route(
        "GET",
        "/readyz",
        "isReady",
        endpoint=lambda to: to.service.is_ready,
        access="anyone",
        tag="Service",
        summary="Ask whether the gateway takes requests",
        description=(
            "Succeeds when everything is recovered, the journal takes writes, and the process is not "
            "stopping."
        ),
        answer=Success,
        outcome="It is ready.",
        refuses=("not_ready",),
    ),
)


_FEED = Route(
    "GET",
    "/manage/votes",
    "listVotes",
    endpoint=lambda to: to.feed.page,
    access="operator",
    tag="Votes",
    summary="Read all votes in the order of the log",
    description="""\
For a site of your own. Without a cursor, a reader gets how every user stands with every listing, and every
vote from then on; `next` is a cursor that outlives restarts. Ask again with it for what is new.

With `Accept: text/event-stream` the same lines come as server-sent events as they become durable, each with
its cursor as its id. Such a stream begins behind `Last-Event-ID`, or `after`.

A cursor belongs to one node. It is refused with 410 once the journal no longer reaches back to it
(`journal.kept_bytes`): begin again without one, and forget what you know.""",
    answer=VotePage,
    outcome="A page of votes.",
    refuses=("place_lost", "not_ready", "unavailable"),
    query=FeedQuery,
    has_events=True,
)


ROUTES: tuple[Route, ...] = (
    *_PUBLIC,
    *_SERVICE,
    *routes_of((*LISTING_ACTIONS, *DECISION_ACTIONS)),
    *routes_of(NUMBER_ACTIONS),
    *routes_of(OWNER_ACTIONS),
    *routes_of(REVIEW_ACTIONS),
    *routes_of(KEY_ACTIONS),
    *routes_of((*WEBHOOK_ACTIONS, *DELIVERY_ACTIONS)),
    *routes_of((*VOTE_ACTIONS, REMOVE_VOTES)),
    _FEED,
    *routes_of(USER_ACTIONS),
)
