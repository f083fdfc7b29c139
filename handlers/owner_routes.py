"""The rows of the table of routes that say who owns a listing."""

from msgspec import Struct

from actions.listing_kinds import KINDS, Kind
from core.refusals import Conflict, NotFound, Quarantined
from handlers.listing_views import BotAnswer, ServerAnswer
from handlers.route import BAD_ID, NO_LISTING, NO_WRITES, RefusalKind, Route
from listings.forms import MOST_CO_OWNERS, Heir, Nothing

_NO_INVITATION, _NO_EXTRA_OWNER = RefusalKind(NotFound, "invitation"), RefusalKind(NotFound, "extra_owner")
_NO_HAND_OVER, _OWNS_ALREADY = RefusalKind(NotFound, "hand_over"), RefusalKind(Conflict, "owns_already")
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
        refuses=(
            *(NO_LISTING, BAD_ID, _OWNS_ALREADY),
            *(RefusalKind(Conflict, "too_many_owners"), NO_WRITES),
        ),
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
        refuses=(NO_LISTING, BAD_ID, _NO_INVITATION, NO_WRITES),
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
        refuses=(NO_LISTING, BAD_ID, _NO_EXTRA_OWNER, NO_WRITES),
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
            refuses=(NO_LISTING, _OWNS_ALREADY, NO_WRITES),
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
            refuses=(NO_LISTING, _NO_HAND_OVER, RefusalKind(Quarantined, "submit"), NO_WRITES),
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
            refuses=(NO_LISTING, _NO_HAND_OVER, NO_WRITES),
        ),
    )


OWNER_ROUTES = (*_EXTRA_OWNERS, *(route for kind in KINDS for route in _hand_over(kind)))
