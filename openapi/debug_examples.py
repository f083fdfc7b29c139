"""The example answers of the debug endpoints, by their names in the document."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import asdict

from actions.keys import key_view
from core.version import VERSION
from handlers.history_views import act_views, owner_message_view
from handlers.listing_views import LimitView, bot_view, server_view, stats_problem_views
from handlers.user_views import user_view
from handlers.webhook_views import delivery_view, suspension_view, webhook_view
from listings.stats_problems import StatsProblem
from openapi.cast import (
    APPROVED_BOT,
    APPROVED_SERVER,
    BOT,
    DELIVERED,
    DIGEST,
    NOW_MS,
    PRODUCTION_KEY,
    SERVER,
    SIGNED_IN,
    SUSPENDED,
    USER,
    WEBHOOK,
)
from operators.all_webhooks import EndpointInside, WebhooksInside
from operators.data_folder import SnapshotTaken, Verified
from operators.finding_subjects import FoundListings, ListingHit
from operators.journal_pages import EventView, JournalPage
from operators.limiter_use import AddressFailures, BotUse, FailureUse, LimiterInside, LimitUse
from operators.listing_inside import (
    BotInside,
    NextRequest,
    NextRequests,
    RecentVoteView,
    ServerInside,
)
from operators.logged_errors import ErrorLines, ErrorLineView
from operators.overview import Ages, EndpointUseView, LagOfMinute, Overview, SeriesView
from operators.process import (
    ConcernsNow,
    Connections,
    Counts,
    FleetNodeView,
    LimiterCounts,
    Memory,
    NodeHeard,
    Positions,
    StoredData,
)
from operators.user_inside import UserInside, VoteOfUser
from watchers.concerns import Concern

_PROBLEMS = [
    StatsProblem("commands_count", "ignored", "number", "The field is named command_count.", 12, NOW_MS)
]


def _limit(limit: int, window_seconds: int) -> NextRequest:
    return NextRequest(
        limit=limit, remaining=limit, reset_seconds=window_seconds, window_seconds=window_seconds
    )


PROBLEM_VIEWS = stats_problem_views(_PROBLEMS)
_NODE = FleetNodeView(
    node="paris.1795265000000",
    holds_name=True,
    failing={},
    claims_votes=True,
    stream_position=6_204,
    unsent=0,
    copying_from=None,
    refused={},
    nodes={
        "tokyo": NodeHeard(node="tokyo.1795265000321", state="there", silent_ms=612, read_to=871, behind=0)
    },
)
_CONCERNS = (
    Concern(
        topic="endpoints",
        text="1 endpoint is suspended because it keeps failing. Its webhooks wait.",
        action="/debug/webhooks has the reasons.",
    ),
)
_OVERVIEW = Overview(
    version=VERSION,
    uptime_seconds=86_400,
    ready=True,
    not_ready_because=None,
    concerns=_CONCERNS,
    positions=Positions(head=1_024, durable=1_024, snapshot=1_000),
    counts=Counts(
        bots=12,
        servers=3,
        keys=14,
        votes=5_120,
        webhooks_pending=1,
        webhooks_in_flight=0,
        endpoints_suspended=1,
    ),
    limiter=LimiterCounts(stats_buckets=4, voters_buckets=9, failing_addresses=1),
    webhook_proxy_down=False,
    connections=Connections(open=214, refused=0, closed_for_others=0),
    memory=Memory(resident_bytes=67_108_864),
    ages_seconds=Ages(head=1.2, durable=1.2, snapshot=412.0),
    replication=_NODE,
    loop_lag_ms=LagOfMinute(last=0.112, max=1.904, samples=(1.904, 0.112)),
    endpoints=(
        EndpointUseView(
            endpoint="checkVote",
            status_class="2xx",
            requests=72_000,
            per_second=1_200.0,
            p50_ms=0.02,
            p99_ms=0.09,
        ),
    ),
    series=SeriesView(
        at=(NOW_MS - 2_000, NOW_MS),
        requests_per_second=(1_180.5, 1_200.0),
        votes_per_second=(3.5, 4.0),
        p50_ms=(0.02, 0.02),
        p99_ms=(0.08, 0.09),
        loop_lag_ms=(1.904, 0.112),
        resident_bytes=(67_108_864, 67_108_864),
    ),
)
_RECENT_VOTES = (RecentVoteView(user=USER, votes=3, last_at=NOW_MS),)
_BOT_INSIDE = BotInside(
    listing=bot_view(APPROVED_BOT),
    keys=(key_view(PRODUCTION_KEY, NOW_MS),),
    webhook=webhook_view(WEBHOOK, 0, NOW_MS),
    stats_problems=PROBLEM_VIEWS,
    limits=NextRequests(stats=_limit(10, 7_200), voters=_limit(100, 300)),
    voters=321,
    recent_votes=_RECENT_VOTES,
    deliveries=(delivery_view(DELIVERED, WEBHOOK),),
    deliveries_pending=0,
    history=act_views(APPROVED_BOT),
    message=owner_message_view(APPROVED_BOT),
)
_SERVER_INSIDE = ServerInside(
    listing=server_view(APPROVED_SERVER),
    webhook=webhook_view(WEBHOOK, 0, NOW_MS),
    voters=12,
    recent_votes=_RECENT_VOTES,
    deliveries=(),
    deliveries_pending=0,
    history=act_views(APPROVED_SERVER),
    message=None,
)
_FAILING = EndpointInside(
    kind="bots",
    id=BOT,
    name="Example bot",
    host="example.com",
    pending=3,
    in_flight=0,
    slow=False,
    wait_ms=0,
    failed_in_a_row=10,
    last_error="http_500",
    suspension=suspension_view(SUSPENDED),
)
_WEBHOOKS = WebhooksInside(
    pending=3,
    in_flight=0,
    proxy_down=False,
    waiting_endpoints=1,
    suspended_endpoints=1,
    failing_endpoints=1,
    failing=(_FAILING,),
    loaded=(_FAILING,),
    messages_pending=1,
)
_LIMITER = LimiterInside(
    stats=LimitUse(default=LimitView(requests=1, window_seconds=7_200), counted=0, hottest=()),
    voters=LimitUse(
        default=LimitView(requests=100, window_seconds=300),
        counted=1,
        hottest=(
            BotUse(
                id=BOT,
                name="Example bot",
                used=87,
                limit=100,
                own_limit=False,
                window_seconds=300,
                reset_seconds=41,
            ),
        ),
    ),
    failures=FailureUse(
        limit=LimitView(requests=300, window_seconds=300),
        counted=1,
        worst=(AddressFailures(address="192.0.2.1", failures=300, refused=True, reset_seconds=120),),
    ),
)
_ERROR = ErrorLineView(
    at=NOW_MS,
    level="WARNING",
    logger="webhook.suspension_log",
    text=f"the endpoint of bots/{BOT} is suspended: http_500; its webhooks wait, and one probes it in 60 s",
    traceback=None,
    request_id=None,
)
_EVENT = EventView(
    position=1_024, at=NOW_MS, type="vote_cast.1", ref=f"bots/{BOT}", text=f"user {USER}, count 3"
)
_HIT = ListingHit(kind="bots", id=BOT, name="Example bot", state="approved")
_USER = UserInside(
    **asdict(user_view(USER, SIGNED_IN, None, sessions=1, now_ms=NOW_MS)),
    listings=(),
    listings_count=0,
    votes=(
        VoteOfUser(kind="servers", id=SERVER, name="Example server", voted=True, votes=3, last_at=NOW_MS),
    ),
    votes_count=1,
)

DEBUG_ANSWERS: Mapping[str, tuple[str, Struct]] = {
    "data": ("A gateway alone", StoredData(positions=_OVERVIEW.positions, digest=DIGEST, fleet_digest=None)),
    "snapshotTaken": ("Taken", SnapshotTaken(position=1_024, bytes=183_220, seconds=0.021)),
    "verified": (
        "Equal",
        Verified(position=1_024, digest=DIGEST, folded_digest=DIGEST, problem=None, equal=True),
    ),
    "overview": ("A busy gateway", _OVERVIEW),
    "webhooksInside": ("One endpoint is suspended", _WEBHOOKS),
    "limiterInside": ("A busy bot, and an address that is refused", _LIMITER),
    "concernsNow": ("A suspended endpoint", ConcernsNow(concerns=_CONCERNS)),
    "errorLines": ("A suspension", ErrorLines(errors=(_ERROR,))),
    "journalPage": ("A vote", JournalPage(events=(_EVENT,), next=None)),
    "foundListings": ("One bot", FoundListings(listings=(_HIT,), more=False, user=None)),
    "botWhole": ("A bot with its newest votes", _BOT_INSIDE),
    "serverWhole": ("A server with its newest votes", _SERVER_INSIDE),
    "userInside": ("Somebody who votes", _USER),
}
