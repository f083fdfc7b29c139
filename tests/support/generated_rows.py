"""Rows of every table that hypothesis generates. They may break rules."""

from hypothesis import strategies as st

from core.rows import (
    Attempt,
    BotCounts,
    BotLimits,
    Delivery,
    Key,
    Listing,
    Policy,
    Reviewed,
    StatsWindow,
    Suspension,
    Webhook,
)
from tests.support.generated_profiles import REF_OF, profiles_of
from tests.support.sample_rows import OTHER_REF

TEXT = st.text(max_size=8)
MS = st.integers(0, (1 << 42) - 1)
REFS = st.sampled_from([*REF_OF.values(), OTHER_REF])
PROFILES = st.one_of([profiles_of(kind, TEXT) for kind in REF_OF])
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
    profile=PROFILES,
    created_ms=MS,
    updated_ms=MS,
    review=st.none()
    | st.builds(
        Reviewed, st.sampled_from(["in_review", "approved", "denied"]), MS, st.none() | MS, st.none() | TEXT
    ),
    counts=st.none() | st.builds(BotCounts, st.none() | st.integers(0, 10_000_000), st.none(), MS),
    window=st.none() | st.builds(StatsWindow, MS, st.integers(0, 2)),
    limits=st.none() | st.builds(BotLimits, POLICIES, POLICIES),
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
