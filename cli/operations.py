"""The calls of the management and debug API, and the command of each. Law: they are the operator's routes.

The rows repeat `handlers/routes.py`, because that takes a third of a second to import. A test compares them,
and fails for a row without a command.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Operation(NamedTuple):
    """A call: `name` is that of the API's description, `command` the words behind `admin`."""

    command: str
    name: str
    method: str
    path: str
    summary: str
    has_body: bool = False
    query: tuple[str, ...] = ()
    is_file: bool = False
    """The answer is a file, and no JSON."""


def _of_kind(kind: str) -> Iterator[Operation]:
    thing, root, one = kind[:-1], f"/manage/{kind}", f"/manage/{kind}/{{id}}"
    form, webhook, deliveries = thing.capitalize(), f"{one}/webhook", f"{one}/webhook/deliveries"
    for row in (
        (f"{kind} submit", f"submit{form}", "POST", root, f"Submit a {thing}", True),
        (f"{kind} list", f"list{form}s", "GET", root, f"List {kind}", False, ("after", "limit", "state")),
        (f"{kind} show", f"show{form}", "GET", one, f"Show a {thing}"),
        (
            *(f"{kind} history", f"show{form}History", "GET", f"{one}/history"),
            f"Show who did what with a {thing}",
        ),
        (f"{kind} edit", f"edit{form}", "PUT", one, f"Edit a {thing}", True),
        (f"{kind} remove", f"remove{form}", "DELETE", one, f"Remove a {thing}"),
        (f"{kind} approve", f"approve{form}", "POST", f"{one}/approve", f"Approve a {thing} in review", True),
        (f"{kind} deny", f"deny{form}", "POST", f"{one}/deny", f"Deny a {thing} in review", True),
        (
            *(f"{kind} withdraw", f"withdraw{form}", "POST", f"{one}/withdraw"),
            *(f"Withdraw the approval of a {thing}", True),
        ),
        (
            *("review agree", f"agreeTo{form}Change", "POST", f"{one}/change/agree"),
            *(f"Agree to the change of a {thing}", True),
        ),
        (
            *("review refuse", f"refuse{form}Change", "POST", f"{one}/change/refuse"),
            *(f"Refuse the change of a {thing}", True),
        ),
        ("webhook set", f"save{form}Webhook", "PUT", webhook, f"Set a {thing}'s webhook", True),
        ("webhook show", f"show{form}Webhook", "GET", webhook, f"Show a {thing}'s webhook"),
        ("webhook remove", f"remove{form}Webhook", "DELETE", webhook, f"Remove a {thing}'s webhook"),
        (
            *("webhook rotate-secret", f"rotate{form}WebhookSecret", "POST", f"{webhook}/secret/rotate"),
            *("Change what requests are signed with", True),
        ),
        (
            *("webhook test", f"test{form}Webhook", "POST", f"{webhook}/test"),
            *(f"Send a test to a {thing}'s webhook", True),
        ),
        (
            *("webhook deliveries", f"list{form}Deliveries", "GET", deliveries),
            *(f"List a {thing}'s deliveries", False, ("after", "limit", "state", "type")),
        ),
        (
            *("webhook redeliver", f"redeliver{form}Delivery", "POST"),
            *(f"{deliveries}/{{delivery_id}}/redeliver", "Send a finished delivery again", True),
        ),
        (
            *("webhook redeliver", f"redeliverFailed{form}Deliveries", "POST"),
            *(f"{deliveries}/redeliver", "Send again what has failed", True),
        ),
        (
            *("webhook resume", f"resume{form}Webhook", "POST", f"{webhook}/resume"),
            *("Lift a suspension", True),
        ),
        (
            *("webhook probe", f"probe{form}Webhook", "POST", f"{webhook}/probe"),
            *("Probe a suspended endpoint now", True),
        ),
        (
            *(f"{kind} inspect", f"show{form}Whole", "GET", f"/debug/listings/{kind}/{{id}}.json"),
            f"Show all about a {thing} and its newest votes",
        ),
        ("votes cast", f"voteFor{form}", "POST", f"{one}/votes", f"Cast a vote for a {thing}", True),
        (
            *("votes check", f"check{form}Votes", "POST", f"{one}/votes/check"),
            *(f"Look many users' votes for a {thing} up", True),
        ),
        (
            *("votes strike", f"strike{form}Votes", "POST", f"{one}/votes/strike"),
            *(f"Strike votes for a {thing} out", True),
        ),
        (
            *("votes count", f"count{form}Votes", "GET", f"{one}/numbers"),
            f"Count a {thing}'s votes by day and month",
        ),
        (
            *(f"{kind} offer", f"offer{form}", "PUT", f"{one}/hand-over"),
            *(f"Offer a {thing} to another owner", True),
        ),
        (
            *(f"{kind} accept-offer", f"accept{form}Offer", "POST", f"{one}/hand-over/accept"),
            *(f"Accept the offer of a {thing} for the heir", True),
        ),
        (
            *(f"{kind} end-offer", f"end{form}Offer", "DELETE", f"{one}/hand-over"),
            f"Withdraw the offer of a {thing}, or decline it",
        ),
        ("review claim", f"claim{form}", "POST", f"{one}/claim", f"Take the review of a {thing} on", True),
        ("review release", f"release{form}", "DELETE", f"{one}/claim", f"Give the review of a {thing} back"),
        ("review notes", f"show{form}Notes", "GET", f"{one}/notes", f"Show the notes on a {thing}"),
        ("review note", f"note{form}", "POST", f"{one}/notes", f"Note something on a {thing}", True),
    ):
        yield Operation(*row)


_EXTRA_OWNER = "/manage/bots/{id}/extra-owners/{user_id}"
_BOT, _USER = "/manage/bots/{id}", "/manage/users/{id}"
OPERATIONS: tuple[Operation, ...] = (
    *_of_kind("bots"),
    *_of_kind("servers"),
    Operation(
        *("review queue", "showQueue", "GET", "/manage/queue", "Show what waits for a decision"),
        query=("after", "limit"),
    ),
    Operation(
        *("counts", "setActualServerCount", "PUT", f"{_BOT}/actual-server-count"),
        *("Set how many servers a bot is really in", True),
    ),
    Operation(
        *("owners invite", "inviteExtraOwner", "PUT", _EXTRA_OWNER),
        *("Invite a user to manage a bot", True),
    ),
    Operation(
        *("owners accept", "acceptInvitation", "POST", f"{_EXTRA_OWNER}/accept"),
        *("Accept an invitation for a user", True),
    ),
    Operation(
        *("owners remove", "endExtraOwner", "DELETE", _EXTRA_OWNER),
        "Remove a co-owner, or end an invitation",
    ),
    Operation("limits", "setLimits", "PUT", f"{_BOT}/limits", "Give a bot limits of its own", True),
    Operation("keys issue", "issueKey", "POST", f"{_BOT}/keys", "Issue an API key", True),
    Operation("keys list", "listKeys", "GET", f"{_BOT}/keys", "List a bot's API keys"),
    Operation(
        *("keys rotate", "rotateKey", "POST", f"{_BOT}/keys/{{key_id}}/rotate"),
        *("Give an API key a new value", True),
    ),
    Operation("keys revoke", "deleteKey", "DELETE", f"{_BOT}/keys/{{key_id}}", "Delete an API key"),
    Operation(
        *("votes list", "listVotes", "GET", "/manage/votes", "Read all votes in the order of the log"),
        query=("after", "limit"),
    ),
    Operation("users list", "listUsers", "GET", "/manage/users", "List users", query=("after", "limit")),
    Operation("users show", "showUser", "GET", _USER, "Show a user"),
    Operation("users erase", "forgetUser", "DELETE", _USER, "Forget a user"),
    Operation("users notices", "listNotices", "GET", f"{_USER}/notices", "List a user's notices"),
    Operation("users reminders", "listReminders", "GET", f"{_USER}/reminders", "List a user's reminders"),
    Operation(
        *("users clear-reminders", "clearReminders", "DELETE", f"{_USER}/reminders"),
        "Turn all reminders of a user off",
    ),
    Operation("users sessions", "listSessions", "GET", f"{_USER}/sessions", "List a user's sessions"),
    Operation(
        *("users end-sessions", "endSessions", "DELETE", f"{_USER}/sessions"),
        "End all sessions of a user",
    ),
    Operation(
        *("users end-all-sessions", "endAllSessions", "DELETE", "/manage/sessions"),
        "End the sessions of all users",
    ),
    Operation(
        *("users end-session", "endSession", "DELETE", f"{_USER}/sessions/{{session_id}}"),
        "End a session of a user",
    ),
    Operation(
        *("users quarantine", "quarantineUser", "PUT", f"{_USER}/quarantines/{{act}}"),
        *("Forbid an act to a user", True),
    ),
    Operation(
        *("users lift", "liftQuarantine", "DELETE", f"{_USER}/quarantines/{{act}}"), "Lift a quarantine"
    ),
    Operation("moderators list", "listModerators", "GET", "/manage/moderators", "List moderators"),
    Operation(
        *("moderators add", "appointModerator", "PUT", f"{_USER}/moderator", "Make a user a moderator", True),
    ),
    Operation(
        *("moderators remove", "dismissModerator", "DELETE", f"{_USER}/moderator"),
        "Take the role of a moderator away",
    ),
    Operation("doctor", "showConcerns", "GET", "/debug/concerns", "Say what is wrong now"),
    Operation("find", "find", "GET", "/debug/find.json", "Find a listing or a user", query=("q",)),
    Operation(
        *("users inspect", "showUserInside", "GET", "/debug/users/{id}.json"),
        "Show all that is known of a user",
    ),
    Operation(
        *("debug overview", "showOverview", "GET", "/debug/overview.json"),
        "Show the process at a glance",
    ),
    Operation("debug webhooks", "showWebhooksInside", "GET", "/debug/webhooks.json", "Show all webhooks"),
    Operation("debug limiter", "showLimiter", "GET", "/debug/limiter.json", "Show the rate limiter"),
    Operation(
        *("debug errors", "showErrors", "GET", "/debug/errors.json"), "Show the last warnings and errors"
    ),
    Operation(
        *("debug journal", "showJournal", "GET", "/debug/journal.json"),
        "Show the newest events of the journal",
        query=("before",),
    ),
    Operation("debug data", "showData", "GET", "/debug/data.json", "Show what is on disk, with digests"),
    Operation(
        *("metrics", "readMetrics", "GET", "/metrics", "The numbers of the process, for Prometheus"),
        is_file=True,
    ),
    Operation("snapshot", "takeSnapshot", "POST", "/debug/snapshot", "Take a snapshot now"),
    Operation("backup", "backUp", "GET", "/debug/snapshot", "Download a backup", is_file=True),
    Operation("verify", "verifyState", "POST", "/debug/verify", "Compare memory with disk"),
)
BY_NAME = {operation.name: operation for operation in OPERATIONS}
