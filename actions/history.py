"""The history of a listing, and the message to its owner about the last decision."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from actions.action import Access, Action, Call, Command
from actions.views import ActorName, Count, Moment, NoMore, Success, UserId, View, described, example
from core.actors import Actor, user_of
from core.audit_log import APART, KEPT
from core.rows import AuditAction, AuditEntry, Decision, DeliveryState, Listing
from languages.texts import Text, in_english
from listings.rules import listing_of
from people.permissions import ACTIONS_OF_MODERATORS, unnamed

ACTION_NAMES: Mapping[AuditAction, Text] = {
    "submitted": Text("submitted"),
    "edited": Text("edited"),
    "approved": Text("approved"),
    "denied": Text("denied"),
    "withdrawn": Text("approval withdrawn"),
    "change_agreed": Text("change approved"),
    "change_refused": Text("change refused"),
    "key_issued": Text("key issued"),
    "key_rotated": Text("key rotated"),
    "key_deleted": Text("key deleted"),
    "webhook_saved": Text("webhook saved"),
    "secret_rotated": Text("secret rotated"),
    "webhook_removed": Text("webhook removed"),
    "suspension_lifted": Text("suspension lifted"),
    "endpoint_probed": Text("endpoint probed"),
    "limits_set": Text("limits set"),
    "actual_count_set": Text("actual count set"),
    "ownership_proven": Text("ownership verified"),
    "co_owner_invited": Text("co-owner invited"),
    "invitation_withdrawn": Text("invitation withdrawn"),
    "invitation_declined": Text("invitation declined"),
    "co_owner_joined": Text("co-owner joined"),
    "co_owner_left": Text("co-owner left"),
    "co_owner_removed": Text("co-owner removed"),
    "hand_over_offered": Text("hand-over offered"),
    "hand_over_withdrawn": Text("hand-over withdrawn"),
    "hand_over_declined": Text("hand-over declined"),
    "handed_over": Text("handed over"),
    "votes_struck": Text("votes removed"),
    "rating_removed": Text("a review removed"),
    "reports_settled": Text("reports settled"),
    "found_failing": Text("found failing"),
    "invite_broken": Text("invite found broken"),
    "values_lost": Text("values lost to another listing"),
    "hidden": Text("hidden"),
    "shown_again": Text("shown again"),
    "taken_over": Text("taken over"),
}
"""The texts of the actions in the audit log."""


class ActView(View):
    """An action on a listing."""

    at: Moment
    by: ActorName
    deed: Annotated[AuditAction, example("key_issued")]
    about: Annotated[
        str,
        described(
            "The object of the action, such as the name of a key, or the reason; empty if there is none.",
            "production",
        ),
    ]


Acts = Annotated[
    tuple[ActView, ...],
    described(
        f"The last {KEPT} actions. Of reviews, decisions about changes, vote removals, hand-overs "
        f"and actions on keys, the last {APART} each are kept in addition. The newest comes first. "
        "Votes and pushes of counts are not listed."
    ),
]


MESSAGE_ERRORS: Mapping[str, Text] = {
    "cannot_message": Text("the owner takes no messages from the bot, or shares no server with it"),
    "http_401": Text("the chat platform refuses the bot token"),
    "http_404": Text("the chat platform does not know the owner"),
    "limited": Text("the chat platform asks for a wait"),
    "timeout": Text("the chat platform did not answer in time"),
    "unreachable": Text("the chat platform cannot be reached"),
    "unreadable": Text("the answer of the chat platform cannot be read"),
    "internal": Text("something failed on our side"),
}
"""The reasons why a message did not reach an owner. Any other error is a status of the chat platform."""
MessageError = Annotated[str, Meta(pattern=f"^(?:http_[0-9]{{3}}|{'|'.join(MESSAGE_ERRORS)})$")]


class OwnerMessageView(View):
    """The direct message that tells the owner of a listing of the last decision."""

    to: Annotated[UserId, described("The owner at the time of the decision.")]
    decision: Decision
    decided_at: Moment
    state: Annotated[DeliveryState, example("delivered")]
    attempts: Count
    told_at: Moment | None
    next_attempt_at: Annotated[
        Count | None, described("Unix time in milliseconds; null once the message is finished.", None)
    ]
    error: Annotated[MessageError | None, described("The class of the last attempt's failure.", None)]
    why: Annotated[str | None, described("The same failure in words.", None)]


OwnerMessageOrNone = Annotated[
    OwnerMessageView | None, described("Null if owners get no messages, or if nothing is decided yet.")
]


class ListingHistory(Success):
    """The audit log of a listing, and the message to its owner about the last decision."""

    history: Acts
    message: OwnerMessageOrNone
    next: NoMore = None


def act_views(listing: Listing, *, names_moderators: bool = True) -> tuple[ActView, ...]:
    """Show the audit log of a listing. Owners read it without the names of moderators."""

    def by(act: AuditEntry) -> Actor:
        is_hidden = not names_moderators and act.action in ACTIONS_OF_MODERATORS
        return unnamed(act.by) if is_hidden else act.by

    return tuple(
        ActView(at=act.at_ms, by=by(act), deed=act.action, about=act.about)
        for act in reversed(listing.audit_log)
    )


def owner_message_view(listing: Listing) -> OwnerMessageView | None:
    message = listing.message
    if message is None:
        return None
    last = message.last
    error = last.error if last is not None else None
    pending = message.next_attempt_ms is not None
    return OwnerMessageView(
        to=user_of(message.to) or "",
        decision=message.decision,
        decided_at=message.decided_ms,
        state="pending" if pending else "delivered" if message.delivered else "failed",
        attempts=message.made,
        told_at=last.at_ms + last.duration_ms if last is not None and message.delivered else None,
        next_attempt_at=message.next_attempt_ms,
        error=error,
        why=in_english(message_error(error)) if error is not None else None,
    )


def message_error(error: str) -> Text:
    """Return the text of an error of a direct message."""
    status = error.removeprefix("http_")
    return MESSAGE_ERRORS.get(error) or Text("the chat platform answered with status {status}", status=status)


def show_history(call: Call, _: None) -> ListingHistory:
    """Show who did what with the listing, the newest first."""
    listing = listing_of(call.state, call.ref)
    return ListingHistory(history=act_views(listing), message=owner_message_view(listing))


SHOW_HISTORY = Action(
    name="show{Thing}History",
    run=show_history,
    access=Access("review"),
    route="GET /manage/{kind}/{id}/history",
    summary="Show a {thing}'s history",
    about=(
        "The history lists submissions, edits, decisions, vote removals, changes of keys, limits "
        "and the webhook, and when it stopped meeting its conditions. It does not name erased users."
    ),
    outcome="The newest actions on the {thing}.",
    command=Command("{kind} history"),
)
