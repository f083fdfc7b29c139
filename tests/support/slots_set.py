"""Events that set slots of listings and users, as the rules make them."""

from core.actors import OPERATOR, Actor
from core.events import SlotsSet, UserSlotsSet
from core.rows import BotLimits, Claim, Eligibility, Policy, Proof, ServerCheck, Webhook
from core.user_rows import Naming, Role


def webhook_saved(
    ref: str, webhook: Webhook, *, at_ms: int = 0, by: Actor = OPERATOR, stamp_ms: int = 0
) -> SlotsSet:
    return SlotsSet(ref, at_ms, "webhook_saved", webhook.host, webhook=webhook, by=by, stamp_ms=stamp_ms)


def webhook_removed(ref: str, at_ms: int = 0, *, by: Actor = OPERATOR, stamp_ms: int = 0) -> SlotsSet:
    return SlotsSet(ref, at_ms, "webhook_removed", webhook=None, by=by, stamp_ms=stamp_ms)


def actual_count_set(
    ref: str, actual: int, *, at_ms: int = 0, by: Actor = OPERATOR, stamp_ms: int = 0
) -> SlotsSet:
    return SlotsSet(ref, at_ms, "actual_count_set", str(actual), actual=actual, by=by, stamp_ms=stamp_ms)


def limits_set(
    ref: str,
    stats: Policy | None,
    voters: Policy | None,
    *,
    at_ms: int = 0,
    by: Actor = OPERATOR,
    stamp_ms: int = 0,
) -> SlotsSet:
    own = BotLimits(stats, voters) if stats is not None or voters is not None else None
    return SlotsSet(ref, at_ms, "limits_set", limits=own, by=by, stamp_ms=stamp_ms)


def listing_claimed(
    ref: str, is_claimed: bool, at_ms: int, *, by: Actor = OPERATOR, stamp_ms: int = 0
) -> SlotsSet:
    return SlotsSet(ref, at_ms, claim=Claim(at_ms, by) if is_claimed else None, by=by, stamp_ms=stamp_ms)


def ownership_proven(ref: str, at_ms: int, *, by: Actor = OPERATOR, stamp_ms: int = 0) -> SlotsSet:
    return SlotsSet(ref, at_ms, "ownership_proven", proof=Proof(at_ms, by), by=by, stamp_ms=stamp_ms)


def eligibility_checked(
    ref: str,
    checks: tuple[ServerCheck, ...],
    at_ms: int,
    failing_ms: int | None = None,
    hidden_ms: int | None = None,
    *,
    by: Actor = OPERATOR,
) -> SlotsSet:
    return SlotsSet(ref, at_ms, eligibility=Eligibility(at_ms, checks, failing_ms, hidden_ms), by=by)


def role_set(
    ref: str, role: Role | None, at_ms: int, *, by: Actor = OPERATOR, stamp_ms: int = 0
) -> UserSlotsSet:
    return UserSlotsSet(ref, at_ms, role=role, by=by, stamp_ms=stamp_ms)


def naming_set(
    ref: str, is_allowed: bool, at_ms: int, *, by: Actor = OPERATOR, stamp_ms: int = 0
) -> UserSlotsSet:
    return UserSlotsSet(ref, at_ms, naming=Naming(at_ms, is_allowed), by=by, stamp_ms=stamp_ms)


def notices_read(ref: str, until_ms: int, *, stamp_ms: int = 0) -> UserSlotsSet:
    return UserSlotsSet(ref, until_ms, read_ms=until_ms, stamp_ms=stamp_ms)
