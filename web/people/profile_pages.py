"""The profile of a listing, for users who may change it. Invariant: it is changed whole, and its owners stay.

A preview is a POST that saves nothing. Saving a denied listing sends it to the moderators again. An approved
one stays approved, and they look at the change. The form shows the version saved last, whichever the public
sees. It names that version, so that of two owners who edit at once, neither overwrites the other's version
unseen.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from core.refusals import Invalid
from core.rows import Listing
from core.state import State
from forms.posts import posted
from handlers.reply import SPOKEN, Reply, reply_to
from kinds.kind import Kind
from languages.texts import NO_ERRORS, Text, Words
from listings.profile_changes import ChangedField, changed_fields
from listings.rules import EditsShown
from web.error_pages import error_text, field_texts
from web.json_answers import AnswerRefused, JsonAnswers
from web.pages import Page, Shown
from web.people.listing_access import Access, ListingAccess
from web.people.listing_forms import (
    LABELS,
    by_field,
    version_of,
    written,
)
from web.people.listing_tabs import tab_page
from web.people.people_audience import PersonVisit, done
from web.people.previews import Previews

OVERTAKEN = Text(
    "Another version was saved meanwhile, by somebody else or in another window, and nothing of yours is. "
    "Both stand below. If you save now, yours takes the place of the other one."
)


class Draft(NamedTuple):
    """The values of a form, and the version of the profile that it was drawn from."""

    profile: Mapping[str, Any]
    version: str


class ProfilePages:
    def __init__(
        self,
        state: State,
        access: ListingAccess,
        answers: JsonAnswers,
        previews: Previews,
        edits: EditsShown,
    ) -> None:
        self._state = state
        self._access = access
        self._answers = answers
        self._previews = previews
        self._edits = edits

    def show(self, visit: PersonVisit, kind: Kind) -> Shown:
        access = self._access.of(visit, kind, "edit")
        return self._page(access, kind, Draft(written(access.row.latest), version_of(access.row)))

    async def save(self, visit: PersonVisit, kind: Kind) -> Shown:
        """Save the profile, or preview a bot's description."""
        access, form = self._access.of(visit, kind, "edit"), visit.form()
        row, is_sent_again = access.row, access.row.state == "denied"
        draft = Draft(posted(kind.shown, form), form.text("version") or version_of(row))
        try:
            if form.text("act") == "preview":
                html = await self._previews.html(access.person.id, draft.profile["description"])
                return self._page(access, kind, draft, preview=html)
            if draft.version != version_of(row):
                return self._overtaken(access, kind, draft)
            body = {"owner_id": row.owner_id, **draft.profile}
            await self._answers.reply(f"edit{kind.title}", visit.request, row.id, body=body)
        except Invalid as refused:
            return self._page(access, kind, draft, by_field(field_texts(refused)), 400)
        except AnswerRefused as refused:
            return self._again(access, kind, draft, refused.reply)
        except SPOKEN as error:
            return self._again(access, kind, draft, reply_to(error))
        notice = "sent-again" if is_sent_again else _notice_of(self._state.listings.get(row.ref))
        return done(f"/{row.ref}/manage", notice)

    def _again(self, access: Access, kind: Kind, draft: Draft, refused: Reply) -> Page:
        page = self._page(access, kind, draft, {"": error_text(refused)}, refused.status)
        return page._replace(headers=refused.headers, limits=refused.limits)

    def _overtaken(self, access: Access, kind: Kind, draft: Draft) -> Page:
        """Return the form beside the version that was saved meanwhile. Sent once more, it takes its place."""
        row = access.row
        others = changed_fields(written(row.latest), draft.profile)
        draft = Draft(draft.profile, version_of(row))
        return self._page(access, kind, draft, {"": OVERTAKEN}, 409, others=others)

    def _page(
        self,
        access: Access,
        kind: Kind,
        draft: Draft,
        errors: Mapping[str, Words] = NO_ERRORS,
        status: int = 200,
        *,
        preview: object = None,
        others: Sequence[ChangedField] = (),
    ) -> Page:
        shown = {
            "values": draft.profile,
            "version": draft.version,
            "errors": errors,
            "labels": LABELS,
            "its_kind": kind,
            "preview": preview,
            "others": others,
            "edits": self._edits,
        }
        return tab_page(access, "profile", shown, status)


def _notice_of(row: Listing | None) -> str:
    """Return the notice of an edit: it names a moderator if one looks at it."""
    if row is None or row.change is None:
        return "saved"
    return "changed" if row.change.is_public else "proposed"
