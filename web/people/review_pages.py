"""The page on which a moderator decides. Invariant: one submission is decided once, by somebody who has seen
it.

Decisions go through the same endpoints as the operator's. The page sends the version that it showed, or the
time of it, so nobody decides on a version that they have not seen: an owner may edit meanwhile, and another
moderator may be faster. Nobody decides on a listing of their own.
"""

from collections.abc import Mapping
from typing import Any

from core.refusals import Refusal
from core.rows import Listing
from handlers.reply import Reply, reply_to, success
from kinds.registry import kind_of
from languages.texts import Text
from listings.owners import is_proven
from listings.review import denial_text, review_of
from web.form_posts import FormPost
from web.pages import Page, Shown
from web.people.listing_access import Access
from web.people.people_audience import PersonVisit, done
from web.people.questions import REFUSALS, FormError, refused_by
from web.people.review_desk import OWN, ReviewDesk

NO_REASON = Text("Choose a reason, or write one.")
UNCONFIRMED = Text("Confirm the owner: nobody has proven to control this listing.")


class ReviewPages:
    def __init__(self, desk: ReviewDesk) -> None:
        self._desk = desk
        self._answers = desk.answers

    async def show(self, visit: PersonVisit) -> Shown:
        return await self._desk.page(visit, self._desk.listing(visit))

    async def twin(self, visit: PersonVisit) -> Reply:
        desk, row = self._desk, self._desk.listing(visit).row
        platform = await desk.views.platform(kind_of(row.ref), row.id)
        return success(desk.views.review(row, platform, desk.clock.now_ms()))

    async def claim(self, visit: PersonVisit) -> Shown:
        return await self._asked(visit, "claim", "claimed")

    async def release(self, visit: PersonVisit) -> Shown:
        return await self._asked(visit, "release", "released")

    async def note(self, visit: PersonVisit) -> Shown:
        """Keep a note. The field is named apart from those of other forms of the page."""
        access, form = self._desk.listing(visit), visit.form()
        body = {"text": form.text("note")}
        try:
            await self._answers.reply(_operation("note", access.row), visit.request, access.row.id, body=body)
        except REFUSALS as error:
            return await self._again(visit, access, form, error, {"text": "note"})
        return done(f"/review/{access.row.ref}", "noted")

    async def approve(self, visit: PersonVisit) -> Shown:
        access, form = self._desk.listing(visit), visit.form()
        if "decide" not in access.rights:
            return await self._desk.page(visit, access, form, {"": OWN}, 403)
        if not _is_as_seen(access.row, form):
            return self._overtaken(visit, access.row, form)
        if not is_proven(access.row) and not form.text("confirmed"):
            return await self._desk.page(visit, access, form, {"confirmed": UNCONFIRMED}, 400)
        return await self._decided(visit, access, "approve", {}, form)

    async def deny(self, visit: PersonVisit) -> Shown:
        access, form = self._desk.listing(visit), visit.form()
        if "decide" not in access.rights:
            return await self._desk.page(visit, access, form, {"": OWN}, 403)
        if not _is_as_seen(access.row, form):
            return self._overtaken(visit, access.row, form)
        reason = self._reason(access, form)
        if not reason:
            return await self._desk.page(visit, access, form, {"reason": NO_REASON}, 400)
        return await self._decided(visit, access, "deny", {"reason": reason}, form)

    async def withdraw(self, visit: PersonVisit) -> Shown:
        """Withdraw the approval of a listing."""
        access, prefix = self._desk.listing(visit), "withdraw_"
        body = {"reason": self._reason(access, visit.form(), prefix)}
        operation = _operation("withdraw", access.row)
        return await self._on_approved(visit, access, operation, body, "withdrawn", prefix)

    async def agree(self, visit: PersonVisit) -> Shown:
        """Agree to the change of an approved listing."""
        access, body = self._desk.listing(visit), {"version": visit.form().get("seen", "")}
        operation = f"{_operation('agreeTo', access.row)}Change"
        return await self._on_approved(visit, access, operation, body, "agreed")

    async def refuse(self, visit: PersonVisit) -> Shown:
        """Refuse the change of an approved listing."""
        access, form = self._desk.listing(visit), visit.form()
        body = {"version": form.get("seen", ""), "reason": self._reason(access, form)}
        operation = f"{_operation('refuse', access.row)}Change"
        return await self._on_approved(visit, access, operation, body, "refused")

    def _reason(self, access: Access, form: FormPost, prefix: str = "") -> str:
        """Return the reason that a form gives: a chosen one, own words, or both. Empty if it gives none."""
        reasons = self._desk.reasons_for(kind_of(access.row.ref))
        preset = next((each for each in reasons if each.key == form.text(f"{prefix}reason")), None)
        words = form.text(f"{prefix}words")
        return denial_text(preset.title, preset.text, words) if preset is not None else denial_text(words)

    async def _on_approved(
        self,
        visit: PersonVisit,
        access: Access,
        operation: str,
        body: Mapping[str, str],
        notice: str,
        prefix: str = "",
    ) -> Shown:
        """Decide about an approved listing. If it is not as the moderator has seen it, the page shows it as
        it is now, with the words that were typed.

        Args:
            operation: the name of the endpoint.
            prefix: the beginning of the names of the form's fields.
        """
        row, form = access.row, visit.form()
        if "decide" not in access.rights:
            return await self._desk.page(visit, access, form, {"": OWN}, 403)
        if body.get("reason") == "":
            return await self._desk.page(visit, access, form, {f"{prefix}reason": NO_REASON}, 400)
        try:
            await self._answers.reply(operation, visit.request, row.id, body=body)
        except REFUSALS as error:
            fields = {"reason": f"{prefix}words", "version": ""}
            return await self._again(visit, access, form, error, fields)
        return done("/review", notice)

    async def _decided(
        self, visit: PersonVisit, access: Access, verb: str, body: Mapping[str, Any], form: Mapping[str, str]
    ) -> Shown:
        row = access.row
        try:
            await self._answers.reply(_operation(verb, row), visit.request, row.id, body=body)
        except REFUSALS as error:
            if reply_to(error).status == 409:  # somebody was faster by a moment
                return self._overtaken(visit, self._desk.listing(visit).row, form)
            return await self._again(visit, access, form, error, {"reason": "words"})
        return done("/review", "approved" if verb == "approve" else "denied")

    async def _again(
        self,
        visit: PersonVisit,
        access: Access,
        form: Mapping[str, str],
        error: FormError,
        fields: Mapping[str, str],
    ) -> Page:
        """Show the page again with what was typed.

        Args:
            fields: the fields of the form by their names in the body of the endpoint, where these differ.
        """
        refused = refused_by(error)
        errors = {fields.get(name, name): reason for name, reason in refused.errors.items()}
        return await self._desk.page(visit, access, form, errors, refused.status)

    async def _asked(self, visit: PersonVisit, verb: str, notice: str) -> Shown:
        row = self._desk.listing(visit).row
        try:
            await self._answers.reply(_operation(verb, row), visit.request, row.id)
        except Refusal as refused:
            if refused.status != 409:
                raise
            return self._overtaken(visit, row, visit.form())
        return done(f"/review/{row.ref}", notice)

    def _overtaken(self, visit: PersonVisit, row: Listing, form: Mapping[str, str]) -> Page:
        """Return the page that says who was faster, another moderator or the owner, with the words that were
        typed."""
        values = {
            "row": row,
            "here": f"/review/{row.ref}",
            "decision": review_of(row) if row.state != "in_review" else None,
            "me": visit.request.by,
            "words": form.get("words", "").strip(),
        }
        title = (
            Text("The owner has changed it") if row.state == "in_review" else Text("It is decided already")
        )
        return Page("people/review_overtaken.html", title, values, 409)


def _operation(verb: str, row: Listing) -> str:
    return f"{verb}{kind_of(row.ref).title}"


def _is_as_seen(row: Listing, form: Mapping[str, str]) -> bool:
    """Tell whether the listing is in review as the moderator has seen it."""
    return row.state == "in_review" and form.get("seen", "") == str(row.updated_ms)
