"""Every refusal has one status and one text."""

import json
from collections.abc import Iterator, Mapping
from typing import get_args

import pytest

from core.refusals import Conflict, ConflictReason, NotFound, Refusal, Thing
from handlers.reply import SPOKEN, reply_to

Facts = Mapping[str, str | int]
CONFLICTS: Mapping[ConflictReason, tuple[Facts, str]] = {
    "listing_exists": ({}, "A listing with this id exists."),
    "not_in_review": ({"review": "denied"}, "The listing is denied, not in review."),
    "is_approved": ({}, "The listing is approved, not in review. Withdraw its approval instead."),
    "not_approved": ({}, "The listing is not approved."),
    "no_change": ({}, "The listing has no change that waits for a decision."),
    "other_version": ({}, "The change is not the one that you saw. Look at it again, then decide."),
    "keys_need_approval": ({}, "Keys are for approved listings only."),
    "too_many_reminders": ({"most": 100}, "A user has 100 reminders at most; turn one off first."),
    "too_many_keys": ({"most": 25}, "A listing has 25 keys at most; delete one first."),
    "votes_need_approval": ({}, "Only an approved listing can be voted for."),
    "not_signed": ({}, "Messages to a chat platform are not signed."),
    "too_many_tests": ({}, "Too many tests wait for this endpoint."),
    "delivery_pending": ({}, "The delivery is still pending."),
    "too_many_pending": ({}, "Too many deliveries wait for this endpoint."),
    "not_suspended": ({}, "The endpoint is not suspended."),
    "moderator_by_settings": (
        {},
        "The settings name this moderator; take the id out of web.moderators.",
    ),
    "is_moderator": ({}, "The user moderates, too: only the operator can do that."),
    "owner_proves": ({}, "Only its owner can prove to own the listing."),
    "no_code": ({}, "The description at the chat platform does not hold the code."),
    "owner_proven": (
        {},
        "The present owner has proven that they own the bot. If that is wrong, ask the people who run "
        "this site.",
    ),
    "owner_proven_server": (
        {},
        "The present owner has proven that they manage the server. Only the owner of the server at the "
        "chat platform can take the listing over.",
    ),
    "own_listing": ({}, "The listing is yours already."),
    "own_quarantine": ({}, "Nobody imposes or lifts a quarantine of their own."),
    "owner_quarantined": (
        {},
        "The owner of the listing may not submit listings now. Meanwhile nobody can edit or inherit it.",
    ),
    "owns_already": ({}, "The user owns the listing already."),
    "too_many_owners": (
        {"most": 4},
        "A listing has at most 4 co-owners and invitations. Remove one first.",
    ),
    "nothing_to_probe": ({}, "No delivery waits that could probe the endpoint; send a test."),
}
NOT_FOUND: Mapping[Thing, str] = {
    "listing": "There is no such listing.",
    "key": "The listing has no such key.",
    "webhook": "The listing has no webhook.",
    "delivery": "The listing has no such delivery.",
    "user": "There is no such user.",
    "session": "The user has no such session.",
    "quarantine": "The user is under no such quarantine.",
    "invitation": "The user has no invitation.",
    "extra_owner": "The user is neither a co-owner nor invited.",
    "hand_over": "The listing is not offered to this user, or the offer has lapsed.",
}


def kinds_of(kind: type[Refusal]) -> Iterator[type[Refusal]]:
    """The refusals that are raised: the leaves of the tree."""
    below = kind.__subclasses__()
    for each in below:
        yield from kinds_of(each)
    if not below:
        yield kind


def test_every_refusal_has_an_answer() -> None:
    assert set(kinds_of(Refusal)) <= set(SPOKEN)


@pytest.mark.parametrize("reason", get_args(ConflictReason))
def test_every_reason_of_a_conflict_has_a_text(reason: ConflictReason) -> None:
    facts, text = CONFLICTS[reason]
    reply = reply_to(Conflict(reason, **facts))
    assert reply.status == 409
    assert json.loads(reply.body) == {"success": False, "error": text, "status": 409}


@pytest.mark.parametrize("thing", get_args(Thing))
def test_everything_that_may_be_missing_has_a_text(thing: Thing) -> None:
    reply = reply_to(NotFound(thing))
    assert reply.status == 404
    assert json.loads(reply.body) == {"success": False, "error": NOT_FOUND[thing], "status": 404}
