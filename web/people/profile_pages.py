"""The profile of a listing, for those who may change it. Law: it is changed whole, and its owners stay.

A preview is a POST that saves nothing. Saving a denied listing sends it to the moderators again.
"""

from collections.abc import Mapping
from typing import Any

from core.clock import Clock
from core.refusals import Invalid
from core.state import State
from handlers.manage_listings import Kind
from handlers.reply import NO_HEADERS, SPOKEN, Reply, reply_to
from people.quarantine import refuse_quarantined
from web.error_pages import error_text
from web.json_answers import AnswerRefused, JsonAnswers
from web.pages import Page, Shown, see_other
from web.people.listing_access import Access, ListingAccess
from web.people.listing_forms import CHOICES, LABELS, PROFILES, by_field, edit_name, owners_of, written
from web.people.listing_tabs import tab_page
from web.people.people_audience import PersonVisit
from web.people.previews import Previews


class ProfilePages:
    def __init__(
        self, state: State, clock: Clock, access: ListingAccess, answers: JsonAnswers, previews: Previews
    ) -> None:
        self._state = state
        self._clock = clock
        self._access = access
        self._answers = answers
        self._previews = previews

    def show(self, visit: PersonVisit, kind: Kind) -> Shown:
        access = self._access.of(visit, kind, "edit")
        return _page(access, kind, written(access.row.profile))

    async def save(self, visit: PersonVisit, kind: Kind) -> Shown:
        """Save the profile, or preview a bot's description."""
        access, form = self._access.of(visit, kind, "edit"), visit.form()
        profile = PROFILES[kind](form)
        row, is_sent_again = access.row, access.row.review == "denied"
        body = {**owners_of(row), **profile}
        try:
            if form.text("act") == "preview":
                html = await self._previews.html(access.person.id, profile["description"])
                return _page(access, kind, profile, preview=html)
            if is_sent_again:
                refuse_quarantined(self._state, access.person.id, "submit", self._clock.now_ms())
            await self._answers.reply(edit_name(kind), visit.request, row.id, body=body)
        except Invalid as refused:
            return _page(access, kind, profile, by_field(refused.fields), 400)
        except AnswerRefused as refused:
            return _again(access, kind, profile, refused.reply)
        except SPOKEN as error:
            return _again(access, kind, profile, reply_to(error))
        notice = "sent-again" if is_sent_again else "saved"
        return see_other(f"/{row.ref}/manage?notice={notice}")


def _again(access: Access, kind: Kind, values: Mapping[str, Any], refused: Reply) -> Page:
    page = _page(access, kind, values, {"": error_text(refused)}, refused.status)
    return page._replace(headers=refused.headers, limits=refused.limits)


def _page(
    access: Access,
    kind: Kind,
    values: Mapping[str, Any],
    errors: Mapping[str, str] = NO_HEADERS,
    status: int = 200,
    *,
    preview: object = None,
) -> Page:
    shown = {
        "values": values,
        "errors": errors,
        "labels": LABELS,
        "choices": CHOICES[kind],
        "preview": preview,
    }
    return tab_page(access, "profile", shown, status)
