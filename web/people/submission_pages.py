"""The page on which a bot is submitted. Law: a plain no of the platform refuses; what is unknown does not.

    GET /bots/new -> (application id) -> GET /bots/new?id= -> (profile) -> POST /bots/new -> its overview

A preview is a POST that saves nothing. A submission that is refused comes back with all that was typed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chatplatform.listing_checks import Obstacle, obstacles
from chatplatform.platform_client import PlatformAway
from core.clock import Clock
from core.refusals import Invalid, Refusal
from core.state import State
from forms.posts import posted
from forms.reading import read
from grammars.snowflake import is_snowflake
from handlers.reply import SPOKEN, Reply, reply_to
from handlers.request import Request
from kinds.bots import BOTS
from languages.said import plainly
from languages.texts import NO_ERRORS, Text, Words
from listings.ownership import Ownership
from people.quarantine import refuse_quarantined
from web.error_pages import error_text, field_texts
from web.json_answers import AnswerRefused, JsonAnswers
from web.pages import Page, Shown
from web.people.applications import Applications
from web.people.listing_forms import LABELS, by_field
from web.people.people_audience import PersonVisit, done, signed_in
from web.people.previews import Previews
from web.people.visitors import Person

TITLE = Text("Submit a bot")
WORDS: Mapping[Obstacle, Text] = {
    "no_application": Text(
        "The chat platform knows no application with this id. Copy the application id from its developer "
        "portal; the id of a user or a server is another one."
    ),
    "not_inviteable": Text(
        "Not everybody may add this bot to a server. Make it public at the platform, without a code grant, "
        "and look it up again."
    ),
    "no_commands": Text(
        "The bot has no slash commands that work on every server. Register one, and look it up again."
    ),
}
EMPTY: Mapping[str, Any] = {**BOTS.empty, "extra_owners": ()}


class SubmissionPages:
    """The pages.

    Args:
        known: returns who sends a request, as far as one is signed in now.
    """

    def __init__(
        self,
        state: State,
        clock: Clock,
        applications: Applications,
        answers: JsonAnswers,
        previews: Previews,
        ownership: Ownership,
        known: Callable[[Request], Person | None],
    ) -> None:
        self._state = state
        self._clock = clock
        self._applications = applications
        self._answers = answers
        self._previews = previews
        self._ownership = ownership
        self._known = known

    async def show(self, visit: PersonVisit) -> Shown:
        """Ask for the application id, or show what the platform says of it with the form."""
        self._refuse_quarantined(visit)
        bot_id = visit.request.query.get("id", "").strip()
        if not bot_id:
            return self._first(bot_id, {})
        if not is_snowflake(bot_id):
            return self._first(bot_id, {"id": plainly("no_snowflake")}, 400)
        if BOTS.ref(bot_id) in self._state.listings:
            return self._listed(visit, bot_id)
        found = await self._obstacles(visit, bot_id)
        if found:
            return self._first(bot_id, _in_words(found), 409)
        card = self._applications.card(bot_id)
        name = card.application.name if card is not None else ""
        return self._form(bot_id, {**EMPTY, "name": name})

    async def submit(self, visit: PersonVisit) -> Shown:
        """Submit the bot, or preview its description."""
        form = visit.form()
        bot_id, extra_owners = form.text("id"), form.lines("extra_owners")
        profile = {**posted(BOTS.shown, form), "extra_owners": extra_owners}
        user_id = signed_in(visit).id
        body = {"id": bot_id, "owner_id": user_id, **profile}
        try:
            if form.text("act") == "preview":
                html = await self._previews.html(user_id, profile["description"])
                return self._form(bot_id, profile, preview=html)
            read(BOTS.submission, body)  # before the platform is asked, which may take seconds
            found = await self._obstacles(visit, bot_id)
            if found:
                return self._form(bot_id, profile, _in_words(found), 409)
            if self._known(visit.request) is None:  # signed out, or forgotten, while the platform was asked
                raise Refusal("sign_in_required")
            self._refuse_quarantined(visit)
            await self._answers.reply("submitBot", visit.request, body=body)
        except Invalid as refused:
            return self._form(bot_id, profile, by_field(field_texts(refused)), 400)
        except AnswerRefused as refused:
            return self._again(bot_id, profile, refused.reply)
        except SPOKEN as error:
            if not (isinstance(error, Refusal) and error.code == "listing_exists"):
                return self._again(bot_id, profile, reply_to(error))
            listed = self._listed(visit, bot_id)
            # Whoever sends a form twice is led on. To anybody else the text is still of use.
            is_own = listed.values["own_id"] is not None
            return listed if is_own else self._form(bot_id, profile, listed.values["errors"], 409)
        return done(f"/bots/{bot_id}/manage", "submitted")

    def _refuse_quarantined(self, visit: PersonVisit) -> None:
        refuse_quarantined(self._state, signed_in(visit).id, "submit", self._clock.now_ms())

    async def _obstacles(self, visit: PersonVisit, bot_id: str) -> Sequence[Obstacle]:
        """Return what the platform says against the bot; nothing while it gives no answer."""
        try:
            told = await self._applications.ask(signed_in(visit).id, bot_id)
        except PlatformAway:
            return ()
        return obstacles(told.application)

    def _listed(self, visit: PersonVisit, bot_id: str) -> Page:
        """Say that the bot is there already, and to whom it belongs if that is the visitor."""
        row = self._state.listings.get(BOTS.ref(bot_id))
        is_own = row is not None and row.owner_id == signed_in(visit).id
        why = (
            Text("You have submitted this bot already.")
            if is_own
            else Text("A bot with this id is listed already.")
        )
        return self._first(bot_id, {"id": why}, 409, own_id=bot_id if is_own else None)

    def _first(
        self, bot_id: str, errors: Mapping[str, Words], status: int = 200, own_id: str | None = None
    ) -> Page:
        values = {
            "id": bot_id,
            "errors": errors,
            "labels": LABELS,
            "card": self._applications.card(bot_id),
            "own_id": own_id,
            "taken_id": bot_id if own_id is None and BOTS.ref(bot_id) in self._state.listings else None,
        }
        return Page("people/submit_id.html", TITLE, values, status)

    def _form(
        self,
        bot_id: str,
        values: Mapping[str, Any],
        errors: Mapping[str, Words] = NO_ERRORS,
        status: int = 200,
        *,
        preview: object = None,
    ) -> Page:
        shown = {
            "id": bot_id,
            "values": values,
            "errors": errors,
            "labels": LABELS,
            "its_kind": BOTS,
            "card": self._applications.card(bot_id),
            "preview": preview,
            "usual_wait_ms": self._ownership.usual_wait_ms,
            "is_listed": BOTS.ref(bot_id) in self._state.listings,
        }
        return Page("people/submit.html", TITLE, shown, status)

    def _again(self, bot_id: str, values: Mapping[str, Any], refused: Reply) -> Page:
        page = self._form(bot_id, values, {"": error_text(refused)}, refused.status)
        return page._replace(headers=refused.headers, limits=refused.limits)


def _in_words(found: Sequence[Obstacle]) -> dict[str, Words]:
    """Return the words for one obstacle or two: an application that is not known has no others."""
    first, *others = (WORDS[each] for each in found)
    return {"id": Text("{first} {second}", first=first, second=others[0]) if others else first}
