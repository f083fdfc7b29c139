"""The conditions of the chat platform for a listing: for servers, and for bots.

A server meets a condition only if the platform says so. Facts come from two sides: from the view of the
signed-in user, and from that of the deployment's bot if it is in the server. The bot sees more, so its answer
counts if both have one. A condition without an answer is unknown.

    condition     the user's answer   the bot's answer   the id alone
    members               x                  x
    age                                                        x
    icon, community       x                  x
    two_factor, nsfw                         x

A bot is refused only if the platform plainly says no. If the platform is away, or no longer states a fact, a
moderator decides.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from chatplatform.answers import (
    Answer,
    InnerServer,
    PlatformApplication,
    PlatformServer,
    ServerChannel,
    created_ms,
)
from core.rows import CheckOutcome, ServerCheck
from kinds.kind import CheckName

MOST_NAMED = 10
"""The channels of a server that a check names."""
DAY_MS = 86_400_000
NsfwRule = Literal["visible", "any", "off"]
"""Which channels fail a server: those that everyone can see, all, or none."""


class ServerConditions(NamedTuple):
    """The conditions of a deployment. A number of 0, or False, asks for nothing."""

    min_members: int = 100
    min_age_days: int = 14
    icon: bool = True
    two_factor: bool = True
    community: bool = True
    nsfw: NsfwRule = "visible"


class ServerFacts(NamedTuple):
    """The facts on a server, and when the platform said them (Unix milliseconds).

    Args:
        seen: the view of a user who is in it.
        inside: the view of the deployment's bot; None if it is not in it.
        channels: None if they could not be read.
    """

    seen: PlatformServer | None = None
    seen_ms: int = 0
    inside: InnerServer | None = None
    channels: Sequence[ServerChannel] | None = None
    inside_ms: int = 0


def server_checks(
    conditions: ServerConditions, server_id: str, facts: ServerFacts, now_ms: int
) -> tuple[ServerCheck, ...]:
    """Return a check for each condition that the deployment has."""
    return tuple(_checks(conditions, server_id, facts, now_ms))


def _checks(
    conditions: ServerConditions, server_id: str, facts: ServerFacts, now_ms: int
) -> Iterator[ServerCheck]:
    # If one side does not see the server, all its answers are unknown.
    seen = facts.seen or PlatformServer(server_id, "")
    inside = facts.inside or InnerServer(server_id, "")
    if conditions.min_members:
        have, at_ms = inside.members, facts.inside_ms
        if have is None:
            have, at_ms = seen.members, facts.seen_ms
        yield _at_least("members", have, conditions.min_members, at_ms or now_ms)
    if conditions.min_age_days:
        days = max(now_ms - created_ms(server_id), 0) // DAY_MS
        yield _at_least("age", days, conditions.min_age_days, now_ms)
    if conditions.icon:
        yield _plain("icon", inside.has_icon, seen.has_icon, facts, now_ms)
    if conditions.two_factor:
        yield _plain("two_factor", inside.needs_two_factor, "unknown", facts, now_ms)
    if conditions.community:
        yield _plain("community", inside.has_community, seen.has_community, facts, now_ms)
    if conditions.nsfw != "off":
        yield _nsfw(conditions.nsfw, facts, now_ms)


def _at_least(name: CheckName, have: int | None, need: int, at_ms: int) -> ServerCheck:
    outcome: CheckOutcome = "unknown" if have is None else "pass" if have >= need else "fail"
    return ServerCheck(name, outcome, have, need, at_ms)


def _plain(name: CheckName, inner: Answer, outer: Answer, facts: ServerFacts, now_ms: int) -> ServerCheck:
    answer, at_ms = (inner, facts.inside_ms) if inner != "unknown" else (outer, facts.seen_ms)
    if answer == "unknown":
        return ServerCheck(name, "unknown", None, 1, now_ms)
    return _at_least(name, int(answer == "yes"), 1, at_ms)


def _nsfw(rule: NsfwRule, facts: ServerFacts, now_ms: int) -> ServerCheck:
    if facts.inside is None:
        return ServerCheck("nsfw", "unknown", None, 0, now_ms)
    channels = facts.channels or ()
    answers = [(each, _counts(rule, each)) for each in channels]
    found = [each.name for each, answer in answers if answer == "yes"]
    if found or facts.inside.is_nsfw == "yes":
        return ServerCheck("nsfw", "fail", len(found), 0, facts.inside_ms, tuple(found[:MOST_NAMED]))
    is_certain = facts.channels is not None and all(answer == "no" for _, answer in answers)
    if not is_certain or facts.inside.is_nsfw != "no":
        return ServerCheck("nsfw", "unknown", None, 0, now_ms)
    return ServerCheck("nsfw", "pass", 0, 0, facts.inside_ms)


def _counts(rule: NsfwRule, channel: ServerChannel) -> Answer:
    """Return "yes" if a channel fails its server."""
    if channel.is_nsfw == "no" or (rule == "visible" and channel.is_open == "no"):
        return "no"
    if channel.is_nsfw == "yes" and (rule == "any" or channel.is_open == "yes"):
        return "yes"
    return "unknown"


# -- bots ----------------------------------------------------------------------------------------------------

Obstacle = Literal["no_application", "not_inviteable", "no_commands"]


def obstacles(application: PlatformApplication | None) -> Sequence[Obstacle]:
    """Return the reasons why an application may not be listed.

    Args:
        application: the answer of the platform; None if it does not exist.
    """
    if application is None:
        return ["no_application"]
    found: list[Obstacle] = []
    if application.is_inviteable == "no":
        found.append("not_inviteable")
    if application.has_commands == "no":
        found.append("no_commands")
    return found
