"""The page on which a moderator strikes votes of a listing out. Law: it says how much will go before it goes.

The form is posted twice: the first time it is counted what it means, and asked; the second time it is done.
Nobody strikes out votes of a listing of their own.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Meta

from actions.views import Count, Success
from core.audit_log import FLAGS_KEPT
from core.rows import Listing
from handlers.manage_strikes import StruckVotes
from handlers.reply import Reply, success
from kinds.registry import kind_of
from languages.texts import Text
from web.form_posts import FormPost
from web.pages import Page, Shown
from web.people.flag_pages import RULES, FlagView, flag_view
from web.people.listing_access import Access
from web.people.people_audience import PersonVisit, done
from web.people.questions import NOT_REFUSED, REFUSALS, FormRefusal, refused_by
from web.people.review_desk import OWN, ReviewDesk

NOBODY = Text("No vote is meant by that. Nothing is struck out.")
NO_TIME = Text("Write a time such as 2026-01-31T18:00.")


class ListingVotes(Success):
    """The votes of a listing as moderators see them."""

    voters: Count
    votes: Count
    struck: Annotated[Count, Meta(description="Votes that were struck out, of all time.")]
    flags: Annotated[tuple[FlagView, ...], Meta(description=f"The newest first, {FLAGS_KEPT} at most.")]


class StrikePages:
    def __init__(self, desk: ReviewDesk) -> None:
        self._desk = desk

    def show(self, visit: PersonVisit) -> Shown:
        return self._page(visit, self._desk.listing(visit))

    def twin(self, visit: PersonVisit) -> Reply:
        return success(self._votes(self._desk.listing(visit).row))

    async def strike(self, visit: PersonVisit) -> Shown:
        """Count the votes and ask, or strike them out if the form is sure."""
        desk, form, access = self._desk, visit.form(), self._desk.listing(visit)
        if "decide" not in access.rights:
            return self._page(visit, access, FormRefusal({"": OWN}, 403), form)
        row, is_sure = access.row, form.text("sure") == "yes"
        name = f"strike{kind_of(row.ref).title}Votes"
        times = {name: _time_ms(text) for name in ("since", "until") if (text := form.text(name))}
        no_times = {name: NO_TIME for name, at_ms in times.items() if at_ms is None}
        if no_times:
            return self._page(visit, access, FormRefusal(no_times, 400), form)
        body = {"reason": form.text("reason"), "users": _ids(form), **times, "dry_run": not is_sure}
        try:
            found = await desk.answers.ask(StruckVotes, name, visit.request, row.id, body=body)
        except REFUSALS as error:
            return self._page(visit, access, _by_field(refused_by(error)), form)
        if is_sure:
            notice = "struck-some" if found.more else "struck"
            return done(_here(row), notice)
        if not found.users:
            return self._page(visit, access, FormRefusal({"": NOBODY}, 400), form)
        values = {"row": row, "here": _here(row), "found": found, "values": _kept(form)}
        return Page("people/review_strike_question.html", Text("Strike these votes out?"), values)

    def _page(
        self,
        visit: PersonVisit,
        access: Access,
        refused: FormRefusal = NOT_REFUSED,
        form: FormPost | None = None,
    ) -> Page:
        row = access.row
        values: dict[str, Any] = {
            "shown": self._votes(row),
            "row": row,
            "here": _here(row),
            "me": visit.request.by,
            "rules": RULES,
            "most": FLAGS_KEPT,
            "may_decide": "decide" in access.rights,
            "values": form or {},
            "ticked": frozenset(form.texts("users")) if form is not None else frozenset(),
            "errors": refused.errors,
        }
        title = Text("{listing} - votes", listing=row.profile.name)
        return Page("people/review_strike.html", title, values, refused.status)

    def _votes(self, row: Listing) -> ListingVotes:
        state, flags = self._desk.state, row.flags
        return ListingVotes(
            voters=state.votes.voters(row.ref),
            votes=state.votes.total(row.ref),
            struck=state.vote_counts.summed(row.ref).struck,
            flags=tuple(flag_view(state, row, flag) for flag in reversed(flags)),
        )


def _here(row: Listing) -> str:
    return f"/review/{row.ref}/votes"


def _kept(form: FormPost) -> Mapping[str, str]:
    """Return the fields of the form as the question sends them again: few fields, however many users."""
    return {
        "ids": " ".join(_ids(form)),
        **{name: form.text(name) for name in ("since", "until", "reason")},
    }


def _ids(form: FormPost) -> list[str]:
    return [*dict.fromkeys([*form.texts("users"), *form.text("ids").replace(",", " ").split()])]


def _time_ms(text: str) -> int | None:
    """Return the time of a field in UTC; None if it is none."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(int((at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp() * 1_000), 0)


def _by_field(refused: FormRefusal) -> FormRefusal:
    """Return the refusal by the fields of the form: the body counts its users."""
    errors = {"ids" if name.startswith("users") else name: words for name, words in refused.errors.items()}
    return refused._replace(errors=errors)
