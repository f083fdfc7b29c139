"""Rows, events and strategies that tests of the state's readers share."""

from hypothesis import strategies as st

from core.events import Event, ListingReviewed, ListingSaved, VoteCast, WebhookSaved
from core.rows import (
    Attempt,
    BotProfile,
    Delivery,
    Key,
    Listing,
    Policy,
    ServerProfile,
    StatsWindow,
    Suspension,
    Webhook,
)

BOT_REF = "bots/111111111111111111"
OTHER_REF = "bots/222222222222222222"
SERVER_REF = "servers/333333333333333333"
OWNER = "444444444444444444"
NOW_MS = 1_750_000_000_000
PROFILE = BotProfile("Test bot", "A bot for the tests", "A longer description", ("Utility",))


def listed(ref: str = BOT_REF, url: str | None = None, token: str | None = None) -> list[Event]:
    """An approved listing, with a webhook when a URL is given."""
    events: list[Event] = [
        ListingSaved(ref, OWNER, PROFILE, "in_review", NOW_MS),
        ListingReviewed(ref, "approved", None, NOW_MS),
    ]
    return events if url is None else [*events, WebhookSaved(ref, Webhook(url, NOW_MS, token))]


def voted(user: int, count: int = 1, at_ms: int = NOW_MS, ref: str = BOT_REF) -> VoteCast:
    return VoteCast(ref, str(user), count, at_ms)


TEXT = st.text(max_size=8)
MS = st.integers(0, (1 << 42) - 1)
REFS = st.sampled_from([BOT_REF, OTHER_REF, SERVER_REF])
BOT_PROFILES = st.builds(BotProfile, TEXT, TEXT, TEXT, st.tuples(TEXT), st.just(()), st.none() | TEXT)
SERVER_PROFILES = st.builds(ServerProfile, TEXT, TEXT, st.tuples(TEXT), TEXT)
KEYS = st.builds(Key, TEXT, TEXT, TEXT, TEXT, MS, st.none() | MS, st.none() | TEXT, MS)
SUSPENSIONS = st.none() | st.builds(Suspension, MS, TEXT, st.integers(1, 9), MS)
WEBHOOKS = st.builds(
    Webhook,
    url=TEXT,
    saved_ms=MS,
    token=st.none() | TEXT,
    language=st.sampled_from([None, "en", "pt-BR"]),
    secret=st.none() | TEXT,
    old_secret=st.none() | TEXT,
    old_secret_until_ms=MS,
    failed=st.integers(0, 10),
    suspension=SUSPENSIONS,
)
POLICIES = st.none() | st.builds(Policy, st.integers(1, 99), st.integers(1, 99))
LISTINGS = st.builds(
    Listing,
    ref=REFS,
    owner_id=TEXT,
    profile=BOT_PROFILES | SERVER_PROFILES,
    review=st.sampled_from(["in_review", "approved", "denied"]),
    created_ms=MS,
    updated_ms=MS,
    reason=st.none() | TEXT,
    server_count=st.none() | st.integers(0, 10_000_000),
    stats_window=st.none() | st.builds(StatsWindow, MS, st.integers(0, 2)),
    stats_limit=POLICIES,
    webhook=st.none() | WEBHOOKS,
    keys=st.lists(KEYS, max_size=2).map(tuple),
)
ATTEMPTS = st.builds(Attempt, MS, MS, st.none() | st.integers(100, 599), st.none() | TEXT, TEXT)
DELIVERIES = st.builds(
    Delivery,
    id=TEXT,
    ref=REFS,
    user=TEXT,
    test=st.booleans(),
    queued_ms=MS,
    next_attempt_ms=st.none() | MS,
    made=st.integers(0, 9),
    tries=st.integers(0, 4),
    delivered=st.booleans(),
    attempts=st.lists(ATTEMPTS, max_size=2).map(tuple),
    round_ms=st.none() | MS,
    dropped=st.sampled_from([None, "expired", "overflow"]),
)
