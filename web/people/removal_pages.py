"""The removal of a listing. Law: its owner alone, newly signed in, who types its name."""

from kinds.kind import Kind
from languages.texts import Text
from web.json_answers import JsonAnswers
from web.pages import Page, Shown
from web.people.listing_access import Access, ListingAccess
from web.people.listing_tabs import tab_page
from web.people.people_audience import PersonVisit, done
from web.people.questions import NOT_REFUSED, REFUSALS, FormRefusal, refused_by

OTHER_NAME = Text("This is another name. Nothing has been removed.")


class RemovalPages:
    def __init__(self, access: ListingAccess, answers: JsonAnswers) -> None:
        self._access = access
        self._answers = answers

    def show(self, visit: PersonVisit, kind: Kind) -> Shown:
        return _page(self._access.fresh(visit, kind, "remove"))

    async def remove(self, visit: PersonVisit, kind: Kind) -> Shown:
        """Remove the listing with all that belongs to it."""
        access, typed = self._access.fresh(visit, kind, "remove"), visit.form().text("name")
        if _as_shown(typed) != _as_shown(access.row.profile.name):
            return _page(access, FormRefusal({"name": OTHER_NAME}, 400), typed)
        name = f"remove{kind.title}"
        try:
            await self._answers.reply(name, visit.request, access.row.id)
        except REFUSALS as error:
            return _page(access, refused_by(error), typed)
        return done("/me", "removed")


def _as_shown(name: str) -> str:
    """Return a name as a browser shows it: white space is one space there."""
    return " ".join(name.split())


def _page(access: Access, refused: FormRefusal = NOT_REFUSED, typed: str = "") -> Page:
    values = {"errors": refused.errors, "labels": {"name": Text("Name")}, "typed": typed}
    return tab_page(access, "danger", values, refused.status)
