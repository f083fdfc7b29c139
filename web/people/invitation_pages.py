"""The page on which a person is asked to become an owner. Nothing changes before that person says yes.

An owner sends its address to whom they have invited, or the person finds it under `/me`.
"""

from functools import partial

from actions.listing_kinds import KINDS, Kind
from core.actors import user_actor
from core.clock import Clock
from core.refusals import Refusal
from core.rows import Listing
from core.state import State
from kinds.registry import kind_of
from languages.texts import Text
from listings.hand_over import standing
from web.json_answers import JsonAnswers
from web.pages import Done, Page, PageRow, Shown
from web.people.listing_access import Access, ListingAccess
from web.people.people_audience import PersonVisit, done
from web.people.questions import NOT_REFUSED, REFUSALS, FormRefusal, refused_by
from web.people.user_names import names_of


class InvitationPages:
    def __init__(self, state: State, clock: Clock, access: ListingAccess, answers: JsonAnswers) -> None:
        self._state = state
        self._clock = clock
        self._access = access
        self._answers = answers

    def show(self, visit: PersonVisit, kind: Kind) -> Shown:
        return self._page(self._access.of(visit, kind, "answer"))

    async def answer(self, visit: PersonVisit, kind: Kind) -> Shown:
        """Accept or decline the invitation, or the hand-over."""
        access = self._access.of(visit, kind, "answer")
        try:
            return await self._answered(visit, access, visit.form().text("act"))
        except REFUSALS as error:
            return self._page(access, refused_by(error))

    async def _answered(self, visit: PersonVisit, access: Access, act: str) -> Done:
        """Return the way to the page to go on to. Raises the refusals of the endpoints."""
        row, user, answers = access.row, access.person.id, self._answers
        form = kind_of(row.ref).title
        match act:
            case "join":
                await answers.reply("acceptInvitation", visit.request, row.id, user, body={})
                return done(f"/{row.ref}/manage", "joined")
            case "take":
                await answers.reply(f"accept{form}Offer", visit.request, row.id, body={"heir": user})
                return done(f"/{row.ref}/manage", "inherited")
            case "decline_offer" if _is_heir(row, user):
                await answers.reply(f"end{form}Offer", visit.request, row.id)
            case "decline" if user in row.invited:
                await answers.reply("endExtraOwner", visit.request, row.id, user)
            case _:
                raise Refusal("no_invitation")
        return done("/me", "declined")

    def _page(self, access: Access, refused: FormRefusal = NOT_REFUSED) -> Page:
        row, user = access.row, access.person.id
        values = {
            "row": row,
            "is_invited": user in row.invited,
            "offered": row.hand_over if _is_heir(row, user) else None,
            "is_standing": standing(row, self._clock.now_ms()) is not None,
            "names": names_of(self._state, (row.owner_id,)),
            "errors": refused.errors,
        }
        return Page("people/invitation.html", Text("Invitation"), values, refused.status)


def is_asked(row: Listing, user: str, now_ms: int) -> bool:
    """Return true if the listing asks the user to become an owner, and the user may say yes now."""
    return user in row.invited or (_is_heir(row, user) and standing(row, now_ms) is not None)


def _is_heir(row: Listing, user: str) -> bool:
    return row.hand_over is not None and row.hand_over.successor == user_actor(user)


def _rows(kind: Kind) -> tuple[PageRow, ...]:
    path = f"/{kind}/{{id}}/invitation"
    return (
        PageRow("GET", path, lambda to: partial(to.invitations.show, kind=kind), "signed in"),
        PageRow("POST", path, lambda to: partial(to.invitations.answer, kind=kind), "signed in"),
    )


INVITATION_PAGES = tuple(row for kind in KINDS for row in _rows(kind))
