"""Concerns: everything that is wrong with the gateway now, for its operator.

The banner of `/debug`, `admin doctor` and `/metrics` show this one list. Each concern says what is wrong,
what that means, and what to do next. The most urgent one comes first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct

Topic = (
    Literal["ready", "workers", "journal", "disk", "snapshots", "redis", "fleet", "proxy"]
    | Literal["endpoints", "addresses", "observers"]
)
TOPICS: tuple[Topic, ...] = tuple(name for part in get_args(Topic) for name in get_args(part))
MB = 1_000_000
NAMED = 3
"""The most addresses that a concern names."""


class Concern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is wrong now."""

    topic: Annotated[Topic, Meta(examples=["endpoints"])]
    text: Annotated[
        str,
        Meta(
            description="The problem and its meaning.",
            examples=["1 endpoint is suspended because it keeps failing. Its webhooks wait."],
        ),
    ]
    action: Annotated[str, Meta(description="The next step.", examples=["/debug/webhooks has the reasons."])]


@dataclass(frozen=True)
class ConcernSources:
    """Calls that ask the parts of the process what is wrong with them."""

    not_ready: Callable[[], str | None]
    """The reason why the gateway takes no requests, if it is not the journal."""
    journal_refuses: Callable[[], str | None]
    """The reason why the journal takes no writes."""
    disk_is_behind: Callable[[], bool]
    disk_is_slow: Callable[[], bool]
    free_bytes: Callable[[], int | None]
    """The free space of the data folder's disk; None while that is unknown."""
    needed_bytes: Callable[[], int]
    snapshot_failure: Callable[[], str | None]
    """The reason why the newest snapshot could not be taken."""
    fleet: Callable[[], Mapping[str, Any] | None]
    fleet_warnings: Callable[[], Sequence[str]]
    proxy_down: Callable[[], bool]
    endpoints_suspended: Callable[[], int]
    addresses_refused: Callable[[], int]
    some_refused: Callable[[int], Sequence[str]]
    """Returns the refused addresses, up to the given number."""
    failing_observers: Callable[[], Mapping[str, str]]
    missing_workers: Callable[[], Sequence[str]] = tuple
    """Returns the reasons why workers of this machine take no requests."""


def all_concerns(sources: ConcernSources) -> tuple[Concern, ...]:
    """Return all concerns, the most urgent first; none if all is well."""
    parts = (
        *(_of_readiness, _of_workers, _of_the_disk, _of_the_fleet),
        *(_of_webhooks, _of_addresses, _of_observers),
    )
    return tuple(concern for part in parts for concern in part(sources))


def _of_readiness(sources: ConcernSources) -> Iterator[Concern]:
    if (reason := sources.not_ready()) is not None:
        yield Concern(
            topic="ready",
            text=f"This gateway takes no requests: {reason}.",
            action="Send requests to another node meanwhile. docs/operations.md has the reasons under "
            "VotegateNotReady.",
        )


def _of_workers(sources: ConcernSources) -> Iterator[Concern]:
    for reason in sources.missing_workers():
        yield Concern(
            topic="workers",
            text=f"{reason[:1].upper()}{reason[1:]}. The other workers answer all requests.",
            action="The supervisor restarts a worker that ends. If this lasts, see its lines in the log.",
        )


def _of_the_disk(sources: ConcernSources) -> Iterator[Concern]:
    free, needed = sources.free_bytes(), sources.needed_bytes()
    if (reason := sources.journal_refuses()) is not None:
        yield Concern(
            topic="journal",
            text=f"The journal takes no writes: {reason}. Votes and changes are answered 503. Vote "
            "checks go on.",
            action=(
                "Fix the problem that the reason names. Writes begin again within a second. "
                "docs/operations.md has more under VotegateJournalNotWritable."
            ),
        )
    if free == 0:
        yield Concern(
            topic="disk",
            text="The disk of the data folder is full: the next vote or change may be answered 503.",
            action="Free some space, or move data_dir to a larger disk.",
        )
    elif free is not None and free < needed:
        yield Concern(
            topic="disk",
            text=f"The disk of the data folder is nearly full: {free / MB:,.0f} MB are free, and the "
            f"next snapshot and the journal need about {needed / MB:,.0f} MB.",
            action="Free some space, or move data_dir to a larger disk, before writes are answered 503.",
        )
    if sources.disk_is_behind() or sources.disk_is_slow():
        is_behind = sources.disk_is_behind()
        effect = "so many wait that some are refused" if is_behind else "nothing is refused yet"
        yield Concern(
            topic="disk",
            text=f"The disk is slow: votes and changes wait for it, and {effect}.",
            action="Check what else writes to it (iostat -x), or move data_dir to a quicker disk.",
        )
    if (reason := sources.snapshot_failure()) is not None:
        yield Concern(
            topic="snapshots",
            text=f"No snapshot could be taken: {reason}. The journal grows, and a restart takes longer.",
            action="Most often the disk has no room for a second file. Free some, then run "
            "`votegate admin snapshot`.",
        )


def _of_the_fleet(sources: ConcernSources) -> Iterator[Concern]:
    fleet = sources.fleet()
    if fleet is None:
        return
    failing: Mapping[str, str] = fleet["failing"]
    if failing:
        reason = next(iter(failing.values()))
        yield Concern(
            topic="redis",
            text=f"Redis fails ({', '.join(failing)}): {reason}. Votes "
            "of this node do not reach the others, or theirs do not reach it.",
            action=(
                "Check that Redis runs, has memory left, and answers at redis.url. Nothing is lost: the "
                "node catches up afterwards."
            ),
        )
    elif not fleet["holds_name"]:
        yield Concern(
            topic="fleet",
            text="This node does not hold its name: another process has it, or had it a moment ago.",
            action="Give each node a redis.node of its own. After a start, wait for redis.lease_seconds.",
        )
    for text in sources.fleet_warnings():
        yield Concern(
            topic="fleet",
            text=text,
            action="docs/replication.md says what each warning means and what to do.",
        )
    for name, reason in fleet["refused"].items():
        yield Concern(
            topic="fleet",
            text=f"Nothing is taken from node {name}: {reason}.",
            action="docs/replication.md says what the nodes of a fleet must share.",
        )


def _of_webhooks(sources: ConcernSources) -> Iterator[Concern]:
    if sources.proxy_down():
        yield Concern(
            topic="proxy",
            text="The proxy for webhooks fails, so no webhook leaves. They wait, and none is lost.",
            action="Check that the proxy runs and answers at webhooks.proxy.",
        )
    if count := sources.endpoints_suspended():
        one = "1 endpoint is suspended because it keeps failing. Its webhooks wait."
        many = f"{count:,} endpoints are suspended because they keep failing. Their webhooks wait."
        yield Concern(
            topic="endpoints",
            text=one if count == 1 else many,
            action=(
                "/debug/webhooks has the reasons. If there are many, check that this machine reaches the "
                "internet and its name servers."
            ),
        )


def _of_addresses(sources: ConcernSources) -> Iterator[Concern]:
    if count := sources.addresses_refused():
        named = sources.some_refused(NAMED)
        more = f" and {count - len(named):,} more" if count > len(named) else ""
        yield Concern(
            topic="addresses",
            text=f"Too many requests from {', '.join(named)}{more} have failed: somebody guesses keys or "
            "the operator token, or a client is broken. Further failures are answered 429.",
            action="/debug/limiter has the addresses. If one is your proxy, name it in "
            "server.trusted_proxies; if one is a stranger, block it in front.",
        )


def _of_observers(sources: ConcernSources) -> Iterator[Concern]:
    failing = sources.failing_observers()
    if failing:
        named = "; ".join(f"{name} ({error})" for name, error in failing.items())
        yield Concern(
            topic="observers",
            text=f"Observers fail: {named}. Some numbers, logs or pages are wrong. Votes go on.",
            action="/debug/errors has the traceback. Most often no file descriptor is left.",
        )
