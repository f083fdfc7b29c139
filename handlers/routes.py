"""The one table of routes. Law: a path that is not here does not exist, and one that is here is documented.

A new endpoint is a new row; those of the review, of users and under `/debug` stand in files of their own. In
a text of a row, `$name` stands for a number that an operator can set: the document fills it in.
"""

from collections.abc import Callable, Mapping

from actions.deliveries import DELIVERY_ACTIONS
from actions.keys import KEY_ACTIONS
from actions.listing_views import ANSWERS, VIEWS
from actions.listings import LISTING_ACTIONS, NUMBER_ACTIONS
from actions.owners import OWNER_ACTIONS
from actions.views import Success
from actions.votes import VOTE_ACTIONS
from actions.webhooks import WEBHOOK_ACTIONS
from forms.fields import Nothing
from handlers.action_routes import routes_of
from handlers.manage_strikes import StruckVotes
from handlers.review_routes import REVIEW_ROUTES
from handlers.route import Route
from handlers.user_routes import USER_ROUTES
from handlers.vote_feed import FeedQuery, VotePage
from kinds.kind import Kind
from kinds.registry import KINDS
from listings import forms
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


def _listings(kind: Kind) -> tuple[Route, ...]:
    """Submit, list, show, edit, remove and review: the same for bots and servers."""
    thing, one = kind.singular, f"/manage/{kind}/{{id}}"
    form = kind.title
    answer = ANSWERS[str(kind)]
    return (
        *routes_of(LISTING_ACTIONS, kind),
        Route(
            "POST",
            f"{one}/approve",
            f"approve{form}",
            endpoint=lambda to: to.listings[kind].approve,
            access="operator",
            tag="Listings",
            summary=f"Approve a {thing} in review",
            description="From then on it can be voted for, and a bot can have API keys.",
            answer=VIEWS[str(kind)].approved,
            outcome=f"The {thing}.",
            refuses=("no_such_listing", "not_in_review", "unavailable"),
            body=Nothing,
        ),
        Route(
            "POST",
            f"{one}/deny",
            f"deny{form}",
            endpoint=lambda to: to.listings[kind].deny,
            access="operator",
            tag="Listings",
            summary=f"Deny a {thing} in review",
            description="It goes back to review when its owner edits it.",
            answer=answer,
            outcome=f"The {thing}, denied.",
            refuses=("no_such_listing", "not_in_review", "is_approved", "unavailable"),
            body=forms.Denial,
        ),
        Route(
            "POST",
            f"{one}/withdraw",
            f"withdraw{form}",
            endpoint=lambda to: to.listings[kind].withdraw,
            access="operator",
            tag="Listings",
            summary=f"Withdraw the approval of a {thing}",
            description=(
                "It is denied from then on: nobody sees it or votes for it"
                + (", and its API keys answer 401 until it is approved again." if kind.keys else ".")
                + " It goes back to review when its owner edits it."
            ),
            answer=answer,
            outcome=f"The {thing}, denied.",
            refuses=("no_such_listing", "not_approved", "unavailable"),
            body=forms.Denial,
        ),
        Route(
            "POST",
            f"{one}/change/agree",
            f"agreeTo{form}Change",
            endpoint=lambda to: to.listings[kind].agree,
            access="operator",
            tag="Listings",
            summary=f"Agree to the change of a {thing}",
            description="Everybody sees the proposed version from then on.",
            answer=answer,
            outcome=f"The {thing}.",
            refuses=("no_such_listing", "no_change", "other_version", "unavailable"),
            body=forms.ChangeAgreement,
        ),
        Route(
            "POST",
            f"{one}/change/refuse",
            f"refuse{form}Change",
            endpoint=lambda to: to.listings[kind].refuse,
            access="operator",
            tag="Listings",
            summary=f"Refuse the change of a {thing}",
            description=(
                "Everybody sees the version agreed to last. The proposed one is gone; its owner reads the "
                "reason."
            ),
            answer=answer,
            outcome=f"The {thing}.",
            refuses=("no_such_listing", "no_change", "other_version", "unavailable"),
            body=forms.ChangeRefusal,
        ),
    )


def _votes(kind: Kind) -> tuple[Route, ...]:
    thing, one = kind.singular, f"/manage/{kind}/{{id}}/votes"
    form = kind.title
    return (
        *(route for route in routes_of(VOTE_ACTIONS) if route.path.startswith(f"/manage/{kind}/")),
        Route(
            "POST",
            f"{one}/strike",
            f"strike{form}Votes",
            endpoint=lambda to: to.strikes[kind].strike,
            access="operator",
            tag="Votes",
            summary=f"Strike votes for a {thing} out",
            description=f"""\
All votes of the users for the {thing} go, and its counts follow. The owner is told why, by a notice and by
the webhook event `vote.struck`. The users cannot vote again before they could have anyway.

Choose users, the flagged votes, or those whose last vote came within a time: {forms.MOST_STRUCK:,} users in
one call. What is struck out stays so at all nodes of a fleet. Of a user's earlier votes nobody knows the
days: the numbers of days and months lose each user's last vote alone.""",
            answer=StruckVotes,
            outcome="How much is struck out.",
            refuses=("no_such_listing", "unavailable"),
            body=forms.Strike,
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


def _of_kinds(routes: Callable[[Kind], tuple[Route, ...]]) -> tuple[Route, ...]:
    return tuple(route for kind in KINDS for route in routes(kind))


ROUTES: tuple[Route, ...] = (
    *_PUBLIC,
    *_SERVICE,
    *_of_kinds(_listings),
    *routes_of(NUMBER_ACTIONS),
    *routes_of(OWNER_ACTIONS),
    *REVIEW_ROUTES,
    *routes_of(KEY_ACTIONS),
    *routes_of((*WEBHOOK_ACTIONS, *DELIVERY_ACTIONS)),
    *_of_kinds(_votes),
    _FEED,
    *USER_ROUTES,
)
