"""The pages on which its owner alone, freshly signed in, says who owns a listing.

One page has a form for each act: invite a co-owner or take one out, offer the listing to another owner, and
revoke keys that somebody made who is no owner any more. A server has a hand-over alone.
"""

from collections.abc import Mapping

from actions.listing_kinds import Kind
from core.clock import Clock
from core.refusals import Refusal
from core.state import State
from kinds.registry import kind_of
from languages.texts import Text
from listings.co_owners import keys_of_others, most_co_owners
from listings.hand_over import standing
from web.json_answers import JsonAnswers
from web.pages import Page, PageRow, Shown, see_other
from web.people.listing_access import Access, ListingAccess
from web.people.listing_forms import by_field
from web.people.listing_tabs import tab_page
from web.people.people_audience import FIELD_LABELS, PersonVisit, done
from web.people.questions import NOT_REFUSED, REFUSALS, FormRefusal, Question, asked, refused_by
from web.people.user_names import names_of

NOTHING_TYPED: Mapping[str, str] = {"user": "", "heir": ""}
"""The fields that somebody fills in."""
LEAVING = Text(
    "You lose your rights on this listing at once. API keys that you made still work: the owner sees them, "
    "and can revoke them. To come back, you need a new invitation."
)


class OwnerPages:
    def __init__(self, state: State, clock: Clock, access: ListingAccess, answers: JsonAnswers) -> None:
        self._state = state
        self._clock = clock
        self._access = access
        self._answers = answers

    def show(self, visit: PersonVisit, kind: Kind) -> Shown:
        return self._page(self._access.fresh(visit, kind, "own"))

    async def save(self, visit: PersonVisit, kind: Kind) -> Shown:
        """Do what one of the forms asks for."""
        access, form = self._access.fresh(visit, kind, "own"), visit.form()
        here = f"/{access.row.ref}/manage/owners"
        act, typed = form.text("act"), {name: form.text(name) for name in NOTHING_TYPED}
        try:
            notice = await self._done(visit, access, act, typed, form.text("key"))
        except REFUSALS as error:
            if isinstance(error, Refusal) and error.status == 404:
                return see_other(here)  # done before, in another window: the page shows how it stands now
            refused = refused_by(error)
            errors = by_field(refused.errors)
            if "id" in errors:  # the API has the user's id in the path
                errors["user"] = errors.pop("id")
            return self._page(access, FormRefusal(errors, refused.status), typed)
        return done(here, notice)

    async def _done(
        self, visit: PersonVisit, access: Access, act: str, typed: Mapping[str, str], key_id: str
    ) -> str:
        """Return the name of the notice. Raises the refusals of the endpoints."""
        row, answers = access.row, self._answers
        form = kind_of(row.ref).title
        match act:
            case "invite" if form == "Bot":
                await answers.reply("inviteExtraOwner", visit.request, row.id, typed["user"], body={})
                return "invited"
            case "remove" if form == "Bot":
                await answers.reply("endExtraOwner", visit.request, row.id, typed["user"])
                return "co-owner-removed"
            case "offer":
                await answers.reply(f"offer{form}", visit.request, row.id, body={"heir": typed["heir"]})
                return "offered"
            case "withdraw":
                await answers.reply(f"end{form}Offer", visit.request, row.id)
                return "offer-withdrawn"
            case "revoke":
                for key in keys_of_others(row):
                    if key_id in {"all", key.id}:
                        await answers.reply("deleteKey", visit.request, row.id, key.id)
                return "keys-revoked"
            case _:
                raise Refusal("no_such_listing")

    def ask_to_leave(self, visit: PersonVisit) -> Shown:
        return _leaving(self._access.of(visit, "bots", "leave"))

    async def leave(self, visit: PersonVisit) -> Shown:
        access = self._access.of(visit, "bots", "leave")
        try:
            await self._answers.reply("endExtraOwner", visit.request, access.row.id, access.person.id)
        except REFUSALS as error:
            return _leaving(access, refused_by(error))
        return done("/me", "left")

    def _page(
        self, access: Access, refused: FormRefusal = NOT_REFUSED, typed: Mapping[str, str] = NOTHING_TYPED
    ) -> Page:
        row = access.row
        offered = standing(row, self._clock.now_ms())
        keys = keys_of_others(row)
        makers = {maker for key in keys for maker in key.makers}
        users = {*row.extra_owners, *row.asked, *(maker.removeprefix("users/") for maker in makers)}
        most = most_co_owners(row.ref)
        values = {
            "co_owners": row.extra_owners,
            "invited": row.invited,
            "offered": offered,
            "keys": keys,
            "has_room": len(row.extra_owners) + len(row.invited) < most,
            "most": most,
            "names": names_of(self._state, users),
            "typed": typed,
            "errors": refused.errors,
            "labels": FIELD_LABELS,
        }
        return tab_page(access, "owners", values, refused.status)


def _leaving(access: Access, refused: FormRefusal = NOT_REFUSED) -> Page:
    question = Question(
        Text("Leave {listing}", listing=access.row.profile.name),
        LEAVING,
        Text("Leave"),
        f"/{access.row.ref}/manage",
        is_grave=True,
    )
    return asked(access, "leave", question, refused)


_LEAVE = "/bots/{id}/manage/leave"
LEAVE_PAGES = (
    PageRow("GET", _LEAVE, lambda to: to.owners.ask_to_leave, "signed in"),
    PageRow("POST", _LEAVE, lambda to: to.owners.leave, "signed in"),
)
