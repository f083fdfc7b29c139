"""The rows of the table of routes that say who owns a listing."""

from msgspec import Struct

from actions.listing_kinds import KINDS, Kind
from actions.listing_views import BotAnswer, ServerAnswer
from forms.fields import Nothing
from handlers.route import Route
from kinds.bots import MOST_CO_OWNERS
from listings.forms import Heir

_EXTRA_OWNER = "/manage/bots/{id}/extra-owners/{user_id}"

_EXTRA_OWNERS = (
    Route(
        "PUT",
        _EXTRA_OWNER,
        "inviteExtraOwner",
        endpoint=lambda to: to.owners["bots"].invite,
        access="operator",
        tag="Listings",
        summary="Invite a user to manage a bot",
        description=f"""\
The user has no rights before they accept. They find the invitation under `/me`: Votegate sends them no
message. A bot has at most {MOST_CO_OWNERS} co-owners and invitations.""",
        answer=BotAnswer,
        outcome="The bot, with the user among the invited.",
        refuses=(*("no_such_listing", "invalid_id", "owns_already"), *("too_many_owners", "unavailable")),
        body=Nothing,
    ),
    Route(
        "POST",
        f"{_EXTRA_OWNER}/accept",
        "acceptInvitation",
        endpoint=lambda to: to.owners["bots"].accept,
        access="operator",
        tag="Listings",
        summary="Accept an invitation for a user",
        description="Call it when the user has agreed on a page of your own.",
        answer=BotAnswer,
        outcome="The bot, with the user among its co-owners (`extra_owners`).",
        refuses=("no_such_listing", "invalid_id", "no_invitation", "unavailable"),
        body=Nothing,
    ),
    Route(
        "DELETE",
        _EXTRA_OWNER,
        "endExtraOwner",
        endpoint=lambda to: to.owners["bots"].end,
        access="operator",
        tag="Listings",
        summary="Remove a co-owner, or end an invitation",
        description=(
            "Call it when a user leaves or declines, or when the owner removes somebody. Keys that the user "
            "made still work: `made_by` in the list of keys shows which ones."
        ),
        answer=BotAnswer,
        outcome="The bot, without the user.",
        refuses=("no_such_listing", "invalid_id", "no_extra_owner", "unavailable"),
    ),
)


def _hand_over(kind: Kind) -> tuple[Route, ...]:
    thing, one = kind[:-1], f"/manage/{kind}/{{id}}/hand-over"
    form = thing.capitalize()
    answer: type[Struct] = BotAnswer if kind == "bots" else ServerAnswer
    return (
        Route(
            "PUT",
            one,
            f"offer{form}",
            endpoint=lambda to: to.owners[kind].offer,
            access="operator",
            tag="Listings",
            summary=f"Offer a {thing} to another owner",
            description=(
                "Nothing changes until the heir accepts, within 7 days. The offer replaces an earlier one. "
                f"To set an owner without asking, edit the {thing}."
            ),
            answer=answer,
            outcome=f"The {thing}, with the offer.",
            refuses=("no_such_listing", "owns_already", "unavailable"),
            body=Heir,
        ),
        Route(
            "POST",
            f"{one}/accept",
            f"accept{form}Offer",
            endpoint=lambda to: to.owners[kind].accept_offer,
            access="operator",
            tag="Listings",
            summary=f"Accept the offer of a {thing} for the heir",
            description=(
                "Call it when the heir has agreed on a page of your own. All invitations end. It is refused "
                "while the heir or the owner is under a quarantine for `submit`."
                + (" The former owner stays as a co-owner if there is room." if kind == "bots" else "")
            ),
            answer=answer,
            outcome=f"The {thing}, with its new owner.",
            refuses=("no_such_listing", "no_hand_over", "owner_quarantined", "unavailable"),
            body=Heir,
        ),
        Route(
            "DELETE",
            one,
            f"end{form}Offer",
            endpoint=lambda to: to.owners[kind].end_offer,
            access="operator",
            tag="Listings",
            summary=f"Withdraw the offer of a {thing}, or decline it",
            description="The owner stays the same.",
            answer=answer,
            outcome=f"The {thing}, without the offer.",
            refuses=("no_such_listing", "no_hand_over", "unavailable"),
        ),
    )


OWNER_ROUTES = (*_EXTRA_OWNERS, *(route for kind in KINDS for route in _hand_over(kind)))
