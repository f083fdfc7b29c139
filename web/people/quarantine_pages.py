"""Quarantines by moderators, from the page of a listing under review.

Invariant: moderators have no power over each other, nor over themselves.
"""

from collections.abc import Mapping
from typing import Any

from languages.texts import Text
from people.permissions import Moderators
from web.pages import Shown
from web.people.people_audience import PersonVisit, done
from web.people.questions import REFUSALS, SHOWN_AGAIN, refused_by
from web.people.review_desk import LENGTHS, OWN, ReviewDesk

OTHER_OWNER = Text(
    "The listing has another owner than the one that you saw. Look at it again. Nothing has changed for "
    "either."
)
_FIELDS = {"reason": "quarantine"}
"""The fields of the form whose names differ from those of the endpoint's body: another form has a reason."""


class QuarantinePages:
    def __init__(self, moderators: Moderators, desk: ReviewDesk) -> None:
        self._moderators = moderators
        self._desk = desk

    async def impose(self, visit: PersonVisit) -> Shown:
        form = visit.form()
        length = LENGTHS.get(form.text("length"))
        if length is None:
            errors = {"length": Text("Choose how long it lasts.")}
            return await self._desk.page(visit, self._desk.listing(visit), form, errors, 400)
        until_ms = self._desk.clock.now_ms() + length.ms if length.ms is not None else None
        body = {"reason": form.text("quarantine"), "until": until_ms}
        return await self._asked(visit, "quarantineUser", body, "quarantined")

    async def lift(self, visit: PersonVisit) -> Shown:
        return await self._asked(visit, "liftQuarantine", None, "lifted")

    async def _asked(
        self, visit: PersonVisit, operation: str, body: Mapping[str, Any] | None, notice: str
    ) -> Shown:
        """Ask for it on behalf of the moderator, or show the form again."""
        desk, form, access = self._desk, visit.form(), self._desk.listing(visit)
        if "decide" not in access.rights:
            return await desk.page(visit, access, form, {"": OWN}, 403)
        owner, act = access.row.owner_id, form.text("act")
        if form.text("owner") not in {"", owner}:
            return await desk.page(visit, access, form, {"": OTHER_OWNER}, 409)
        try:
            self._moderators.refuse_moderator(owner)
            await desk.answers.reply(operation, visit.request, owner, act, body=body)
        except REFUSALS as error:
            refused = refused_by(error, {*SHOWN_AGAIN, 404})
            errors = {_FIELDS.get(name, name): reason for name, reason in refused.errors.items()}
            return await desk.page(visit, access, form, errors, refused.status)
        return done(f"/review/{access.row.ref}", notice)
