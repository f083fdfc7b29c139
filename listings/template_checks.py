"""Templates of servers. Invariant: a template is hidden only after the chat platform has called it gone.

Other rooms ask the platform; here the answer becomes a change of the listing. A template that is gone keeps
its last numbers and its tree, because it may come back.
"""

from typing import Any

from msgspec.structs import replace

from core.actors import Actor, user_actor
from core.events import Event, SlotsSet
from core.rows import Eligibility, Proof, ServerCheck, TemplateCheck
from core.state import State
from listings import eligibility
from listings.owners import is_proven
from listings.rules import listing_of


def exists(found: TemplateCheck | None, now_ms: int) -> tuple[ServerCheck]:
    """Return the condition that the template exists. None is an answer that never came."""
    if found is None:
        return (ServerCheck("exists", "unknown", None, 1, now_ms),)
    is_there = found.problem is None
    return (ServerCheck("exists", "pass" if is_there else "fail", int(is_there), 1, found.at_ms),)


def checked_at_submission(
    ref: str, owner_id: str, found: TemplateCheck | None, creator_id: str | None, now_ms: int, *, by: Actor
) -> list[Event]:
    """Return the event that follows a submission. If its user made the template, ownership is proven."""
    is_creator = creator_id == owner_id
    slots: dict[str, Any] = {"proof": Proof(now_ms, user_actor(owner_id))} if is_creator else {}
    slots |= {"template": found} if found is not None else {}
    known = Eligibility(now_ms, exists(found, now_ms))
    return [
        SlotsSet(ref, now_ms, "ownership_proven" if is_creator else None, eligibility=known, by=by, **slots)
    ]


def checked(
    state: State,
    ref: str,
    found: TemplateCheck,
    creator_id: str | None,
    now_ms: int,
    grace_ms: int,
    *,
    by: Actor,
) -> list[Event]:
    """Set the answer about a template that is listed. Raises Refusal.

    Args:
        grace_ms: how long an approved template may be gone before it is hidden.
    """
    row, known = listing_of(state, ref), listing_of(state, ref).template
    if found.problem is not None and known is not None:
        found = replace(known, at_ms=found.at_ms, problem=found.problem)
    elif found.tree is None and known is not None:
        found = replace(found, tree=known.tree, channels=known.channels, roles=known.roles)
    events = eligibility.check(state, ref, exists(found, now_ms), now_ms, grace_ms, by=by)
    events.append(SlotsSet(ref, now_ms, template=found, by=by))
    if creator_id == row.owner_id and not is_proven(row):
        proof = Proof(now_ms, user_actor(row.owner_id))
        events.append(SlotsSet(ref, now_ms, "ownership_proven", proof=proof, by=by))
    return events
