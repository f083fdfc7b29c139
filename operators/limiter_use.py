"""The rate limiter, for the operator: the bots that use most of a limit, and the addresses that fail most."""

from collections.abc import Callable
from typing import Annotated, NamedTuple

from msgspec import Meta

from actions.listing_views import LimitView
from actions.views import Count, ListingName, Positive, Snowflake, Success, View, example
from core.rows import BotLimits, Listing
from handlers.slices import first_of
from operators.gateway_parts import GatewayParts
from ratelimit.address import shown_address
from ratelimit.bucket import Decision, Policy

SHOWN = 50
SLICE = 64
"""Buckets that are looked at in one piece: about 0.1 ms."""


class BotUse(View):
    """A bot's use of a limit in its open window."""

    id: Snowflake
    name: ListingName
    used: Annotated[Count, example(87)]
    limit: Annotated[Positive, example(100)]
    own_limit: Annotated[bool, Meta(description="True if the operator gave the bot this limit.")]
    window_seconds: Annotated[Positive, example(300)]
    reset_seconds: Annotated[Count, example(41)]


class LimitUse(View):
    """One limit and those who use it."""

    default: Annotated[LimitView, Meta(description="The limit of bots that have no limit of their own.")]
    counted: Annotated[Count, Meta(description="The number of bots that are counted.")]
    hottest: Annotated[
        tuple[BotUse, ...], Meta(description=f"The {SHOWN} that have used the greatest part of their limit.")
    ]


class AddressFailures(View):
    """The failures of one address in its open window."""

    address: Annotated[
        str, Meta(description="An IPv4 address, the /56 of an IPv6 address, or `unix`."), example("192.0.2.1")
    ]
    failures: Positive
    refused: Annotated[
        bool, Meta(description="True if requests from the address are answered 429 until the reset.")
    ]
    reset_seconds: Annotated[Count, example(41)]


class FailureUse(View):
    """The limit of failing requests per address, and the addresses that fail."""

    limit: LimitView
    counted: Annotated[Count, Meta(description="The number of addresses that are counted.")]
    worst: Annotated[tuple[AddressFailures, ...], Meta(description=f"The {SHOWN} with the most failures.")]


class LimiterInside(Success):
    """The rate limiter."""

    stats: LimitUse
    voters: LimitUse
    failures: FailureUse


async def limiter_use(parts: GatewayParts) -> LimiterInside:
    limits, bots, now_ns = parts.public.limits, parts.state.listings, parts.tools.clock.monotonic_ns

    def of_bots(decide: Callable[[Listing, int], Decision]) -> Callable[[str], Decision | None]:
        """Return a function from a bot's ref to its decision; None for a bot that has gone."""
        return lambda ref: decide(bot, now_ns()) if (bot := bots.get(ref)) is not None else None

    stats = await _hottest(limits.stats.keys(), of_bots(limits.stats_of))
    voters = await _hottest(limits.voters.keys(), of_bots(limits.voters_of))
    failing = await _hottest(limits.guard.keys(), lambda key: limits.guard.check(key, now_ns()))
    return LimiterInside(
        stats=LimitUse(
            default=_limit(limits.stats_policy),
            counted=len(limits.stats),
            hottest=tuple(_use(bots.get(use.key), use, lambda limits: limits.stats) for use in stats),
        ),
        voters=LimitUse(
            default=_limit(limits.voters_policy),
            counted=len(limits.voters),
            hottest=tuple(_use(bots.get(use.key), use, lambda limits: limits.voters) for use in voters),
        ),
        failures=FailureUse(
            limit=_limit(limits.guard.policy),
            counted=len(limits.guard),
            worst=tuple(map(_address, failing)),
        ),
    )


def _use(bot: Listing | None, use: "_Use", own: Callable[[BotLimits], Policy | None]) -> BotUse:
    decision = use.decision
    return BotUse(
        id=use.key.partition("/")[2],
        name=bot.profile.name if bot is not None else "",
        used=decision.limit - decision.remaining,
        limit=decision.limit,
        own_limit=bot is not None and bot.limits is not None and own(bot.limits) is not None,
        window_seconds=decision.window_seconds,
        reset_seconds=decision.reset_seconds,
    )


class _Use(NamedTuple):
    key: str
    decision: Decision

    @property
    def share(self) -> float:
        """The part of the limit that is used."""
        return 1 - self.decision.remaining / self.decision.limit


async def _hottest(keys: list[str], decide: Callable[[str], Decision | None]) -> list[_Use]:
    """Return the keys that have used the greatest part of their limit."""

    def use(key: str) -> _Use | None:
        decision = decide(key)
        return _Use(key, decision) if decision and decision.remaining < decision.limit else None

    return await first_of(keys, use, lambda use: -use.share, most=SHOWN, at_once=SLICE)


def _limit(policy: Policy) -> LimitView:
    return LimitView(requests=policy.requests, window_seconds=policy.window_seconds)


def _address(use: _Use) -> AddressFailures:
    decision = use.decision
    return AddressFailures(
        address=shown_address(use.key),
        failures=decision.limit - decision.remaining,
        refused=not decision.allowed,
        reset_seconds=decision.reset_seconds,
    )
