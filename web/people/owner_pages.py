"""Who the owners of a bot are. Law: its owner alone says so, newly signed in.

Two forms: one names the extra owners, the other hands the bot over to one of them. Whoever hands it over
stays as an extra owner.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from core.clock import Clock
from core.state import State
from people.quarantine import refuse_quarantined
from web.json_answers import JsonAnswers
from web.pages import Page, Shown, see_other
from web.people.listing_access import Access, ListingAccess
from web.people.listing_forms import LABELS, by_field, edit_name, owners_of, written
from web.people.listing_tabs import tab_page
from web.people.people_audience import PersonVisit
from web.people.questions import REFUSALS, refused_by
from web.people.user_names import names_of
from web.texts import NO_ERRORS, Text, Words

NOBODY = Text("must be one of the extra owners")


class OwnerPages:
    def __init__(self, state: State, clock: Clock, access: ListingAccess, answers: JsonAnswers) -> None:
        self._state = state
        self._clock = clock
        self._access = access
        self._answers = answers

    def show(self, visit: PersonVisit) -> Shown:
        access = self._access.fresh(visit, "bots", "own")
        return self._page(access, access.row.extra_owners)

    async def save(self, visit: PersonVisit) -> Shown:
        """Name the extra owners, or hand the bot over."""
        access, form = self._access.fresh(visit, "bots", "own"), visit.form()
        if form.text("act") != "hand_over":
            return await self._saved(visit, access, {"extra_owners": form.lines("extra_owners")}, "saved")
        heir, extra = form.text("heir"), access.row.extra_owners
        if heir not in extra:
            return self._page(access, extra, {"heir": NOBODY}, 400)
        others = [access.row.owner_id, *(each for each in extra if each != heir)]
        return await self._saved(visit, access, {"owner_id": heir, "extra_owners": others}, "handed-over")

    async def _saved(
        self, visit: PersonVisit, access: Access, change: Mapping[str, Any], notice: str
    ) -> Shown:
        row = access.row
        body = {**owners_of(row), **written(row.profile), **change}
        try:
            if row.review == "denied":  # to change it is to send it again
                refuse_quarantined(self._state, access.person.id, "submit", self._clock.now_ms())
            await self._answers.reply(edit_name("bots"), visit.request, row.id, body=body)
        except REFUSALS as error:
            refused, typed = (
                refused_by(error),
                row.extra_owners if "owner_id" in change else change["extra_owners"],
            )
            return self._page(access, typed, by_field(refused.errors), refused.status)
        return see_other(f"/{row.ref}/manage?notice={notice}")

    def _page(
        self,
        access: Access,
        typed: Sequence[str],
        errors: Mapping[str, Words] = NO_ERRORS,
        status: int = 200,
    ) -> Page:
        extra = access.row.extra_owners
        values = {
            "typed": typed,
            "extra": extra,
            "names": names_of(self._state, (access.row.owner_id, *extra)),
            "errors": errors,
            "labels": {**LABELS, "heir": Text("New owner")},
        }
        return tab_page(access, "owners", values, status)
