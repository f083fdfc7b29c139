"""Every operation of the management API. Law: bots and servers have the same ones, told once.

What the platform's web site and its operators call. All of it needs the operator token.
"""

from openapi.operations import READ, SENT, WRITE, Answer, Body, Operation
from openapi.webhooks import webhook_operations


def _listings(kind: str, thing: str) -> tuple[Operation, ...]:
    """Submit, list, show, edit, remove and review, for `kind` "bots" or "servers"."""
    root, one, form = f"/manage/{kind}", f"/manage/{kind}/{{id}}", thing.capitalize()
    answer = f"{form}Answer"
    shown = Answer(answer, (f"approved{form}",), f"The {thing}.")
    alone = approved = shown
    if kind == "bots":
        alone = Answer("ShownBot", ("shownBot",), "The bot, and what its pushes did wrong lately.")
        approved = Answer("ApprovedBot", ("approvedBot", "approvedBotWithoutCount"), "The bot.")
    return (
        Operation(
            "POST",
            root,
            f"submit{form}",
            "Listings",
            f"Submit a {thing}",
            f"The {thing} is in review until it is approved or denied.",
            Answer(answer, (f"new{form}",), f"The {thing}, in review.", 201),
            (*WRITE, *SENT, "ListingExists"),
            Body(f"{form}Submission"),
        ),
        Operation(
            "GET",
            root,
            f"list{form}s",
            "Listings",
            f"List {kind}",
            "In the order of their ids as text, in pages.",
            Answer(f"{form}Page", (kind,), f"A page of {kind}."),
            (*READ, "QueryRefused"),
            query=("after", "limit", "state"),
        ),
        Operation(
            "GET",
            one,
            f"show{form}",
            "Listings",
            f"Show a {thing}",
            f"All that is known of the {thing} but its keys, votes and deliveries.",
            alone,
            (*READ, "NoSuchListing"),
        ),
        Operation(
            "PUT",
            one,
            f"edit{form}",
            "Listings",
            f"Edit a {thing}",
            "Replaces what its owner wrote. An approved one stays approved; a denied one is in review again.",
            shown,
            (*WRITE, *SENT, "NoSuchListing"),
            Body(f"{form}Edit"),
        ),
        Operation(
            "DELETE",
            one,
            f"remove{form}",
            "Listings",
            f"Remove a {thing}",
            "Its keys, its webhook, its votes and its deliveries go with it.",
            Answer("Success", ("done",), "It is gone."),
            (*WRITE, "NoSuchListing"),
        ),
        Operation(
            "POST",
            f"{one}/approve",
            f"approve{form}",
            "Listings",
            f"Approve a {thing} in review",
            "From then on it can be voted for, and a bot can have API keys.",
            approved,
            (*WRITE, *SENT, "NoSuchListing", "NotInReview"),
            Body("Nothing", required=False),
        ),
        Operation(
            "POST",
            f"{one}/deny",
            f"deny{form}",
            "Listings",
            f"Deny a {thing} in review",
            "It goes back to review when its owner edits it.",
            Answer(answer, (f"denied{form}",), f"The {thing}, denied."),
            (*WRITE, *SENT, "NoSuchListing", "NotInReview"),
            Body("Denial"),
        ),
    )


def _votes(kind: str, thing: str) -> tuple[Operation, ...]:
    one, form = f"/manage/{kind}/{{id}}/votes", thing.capitalize()
    return (
        Operation(
            "POST",
            one,
            f"voteFor{form}",
            "Votes",
            f"Cast a vote for a {thing}",
            "A user can vote for it again after 24 hours. With a webhook set, its owner is told.",
            Answer("CastVote", ("voteCast",), "The vote is cast.", 201),
            (*WRITE, *SENT, "NoSuchListing", "VoteRefused"),
            Body("User"),
        ),
        Operation(
            "POST",
            f"{one}/check",
            f"check{form}Votes",
            "Votes",
            f"Look many users' votes for a {thing} up",
            "Up to 1,000 users at once, answered in the order they are given in.",
            Answer("UserVotes", ("votes",), "How each user stands with it."),
            (*READ, *SENT, "NoSuchListing"),
            Body("Users"),
        ),
    )


_KEYS = (
    Operation(
        "POST",
        "/manage/bots/{id}/keys",
        "issueKey",
        "Keys",
        "Issue an API key",
        "For an approved bot. Keep the value: it is shown in this answer alone.",
        Answer("IssuedKey", ("issuedKey", "issuedKeyWithoutCount"), "The key with its value.", 201),
        (*WRITE, *SENT, "NoSuchListing", "KeyRefused"),
        Body("KeyName"),
    ),
    Operation(
        "GET",
        "/manage/bots/{id}/keys",
        "listKeys",
        "Keys",
        "List a bot's API keys",
        "Without their values, which nobody keeps.",
        Answer("KeyList", ("keys",), "The keys."),
        (*READ, "NoSuchListing"),
    ),
    Operation(
        "POST",
        "/manage/bots/{id}/keys/{key_id}/rotate",
        "rotateKey",
        "Keys",
        "Give an API key a new value",
        "The old value stops at once, or after an overlap that you choose.",
        Answer("RotatedKey", ("rotatedKey",), "The key with its new value."),
        (*WRITE, *SENT, "NoSuchKey"),
        Body("Rotation", required=False),
    ),
    Operation(
        "DELETE",
        "/manage/bots/{id}/keys/{key_id}",
        "deleteKey",
        "Keys",
        "Delete an API key",
        "It stops at once.",
        Answer("Success", ("done",), "It is gone."),
        (*WRITE, "NoSuchKey"),
    ),
)
_OF_BOTS = (
    Operation(
        "PUT",
        "/manage/bots/{id}/actual-server-count",
        "setActualServerCount",
        "Listings",
        "Set how many servers a bot is really in",
        "What the bot tells is compared with it, unless the deployment looks the number up elsewhere.",
        Answer("ServerCount", ("serverCount",), "The number."),
        (*WRITE, *SENT, "NoSuchListing"),
        Body("ActualServerCount"),
    ),
    Operation(
        "PUT",
        "/manage/bots/{id}/limits",
        "setLimits",
        "Listings",
        "Give a bot limits of its own",
        "Replaces both: a limit left out is the deployment's default again.",
        Answer("LimitsAnswer", ("limits",), "The bot's own limits."),
        (*WRITE, *SENT, "NoSuchListing"),
        Body("Limits", required=False),
    ),
)
_USERS = (
    Operation(
        "DELETE",
        "/manage/users/{id}",
        "forgetUser",
        "Votes",
        "Forget a user",
        "Removes the user's votes, and every delivery that names the user, everywhere. Succeeds for a user "
        "that nobody knows, too.",
        Answer("Success", ("done",), "The user's votes, and the deliveries that name the user, are gone."),
        (*WRITE, "IdRefused"),
    ),
)

MANAGE: tuple[Operation, ...] = (
    *_listings("bots", "bot"),
    *_OF_BOTS,
    *_listings("servers", "server"),
    *_KEYS,
    *webhook_operations("bots", "bot"),
    *webhook_operations("servers", "server"),
    *_votes("bots", "bot"),
    *_votes("servers", "server"),
    *_USERS,
)
