"""The pages of a listing, of a user, and of a search. Law: each shows the answer of its JSON twin."""

from typing import Literal

from msgspec.structs import asdict

from core.refusals import Refusal
from handlers.request import Request
from operators.finding_subjects import FoundListings
from operators.listing_inside import BotInside, ServerInside
from operators.operator_audience import OperatorVisit
from operators.user_inside import UserInside
from web.json_answers import JsonAnswers
from web.markdown import Markdown
from web.pages import Page, Shown

Inside = BotInside | ServerInside


class ListingPages:
    def __init__(self, answers: JsonAnswers, markdown: Markdown) -> None:
        self._answers = answers
        self._markdown = markdown

    async def find(self, visit: OperatorVisit) -> Shown:
        text = visit.request.query.get("q", "").strip()
        found = await self._answers.ask(FoundListings, "find", visit.request, query={"q": text})
        return Page("debug/find.html", "Find", {"q": text, "found": found})

    async def listing(self, visit: OperatorVisit) -> Shown:
        kind, listing_id = kind_of(visit.request), visit.request.params[1]
        inside = await inside_of(self._answers, visit.request, kind, listing_id)
        values = {"kind": kind, "inside": inside, "description": await self._description(inside)}
        return Page("debug/listing.html", name_of(inside), values)

    async def user(self, visit: OperatorVisit) -> Shown:
        user_id = visit.request.params[0]
        user = await self._answers.ask(UserInside, "showUserInside", visit.request, user_id)
        return Page("debug/user.html", f"User {user_id}", {"user": user})

    async def _description(self, inside: Inside) -> str | None:
        """Return the description as HTML. That of a server is no Markdown."""
        if isinstance(inside, ServerInside):
            return None
        return await self._markdown.html(asdict(inside.listing)["description"])


def kind_of(request: Request) -> Literal["bots", "servers"]:
    """Return the kind of listing in a path. Raises Refusal."""
    kind = request.params[0]
    if kind == "bots":
        return "bots"
    if kind == "servers":
        return "servers"
    raise Refusal("no_such_listing")


def name_of(inside: Inside) -> str:
    return str(asdict(inside.listing)["name"])


async def inside_of(answers: JsonAnswers, visitor: Request, kind: str, listing_id: str) -> Inside:
    if kind == "bots":
        return await answers.ask(BotInside, "showBotWhole", visitor, listing_id)
    return await answers.ask(ServerInside, "showServerWhole", visitor, listing_id)
