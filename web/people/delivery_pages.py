"""The delivery log of a webhook. Law: it shows what was sent and answered, and no secret.

.../webhook/deliveries                  the log, with what sends everything that failed again
.../webhook/deliveries/{delivery_id}    one delivery, each attempt, its request; sends it again
"""

from collections.abc import Callable, Mapping
from typing import Literal
from urllib.parse import urlencode

from actions.listing_kinds import Kind
from core.refusals import Invalid, Refusal
from core.rows import VOTES_ALONE, Delivery, DeliveryState, Listing, Webhook
from handlers.webhook_views import DeliveryPage, Redelivered, delivery_view
from kinds.registry import BY_PLURAL
from languages.said import Fault
from languages.texts import Text
from web.json_answers import JsonAnswers
from web.pages import PageRow, Shown, see_other
from web.people.delivery_words import EVENTS, words_of_error
from web.people.listing_access import Access, ListingAccess
from web.people.listing_tabs import tab_page
from web.people.people_audience import PersonVisit, done
from web.people.questions import NOT_REFUSED, REFUSALS, FormRefusal, refused_by

TAB = "webhook"
ON_A_PAGE = 25
STATES: Mapping[DeliveryState | Literal[""], Text] = {
    "": Text("All"),
    "pending": Text("Pending"),
    "delivered": Text("Delivered"),
    "failed": Text("Failed"),
}
SPANS = (
    ("3600", Text("In the last hour")),
    ("86400", Text("In the last 24 hours")),
    ("604800", Text("In the last 7 days")),
    ("all", Text("At any time")),
)
"""Since when what failed is sent again, in seconds and in words."""

Curl = Callable[[Delivery, Listing, Webhook], str]
"""Returns the request of a delivery as a command, without secrets."""


class DeliveryPages:
    """The pages of one kind of listing."""

    def __init__(self, kind: Kind, access: ListingAccess, answers: JsonAnswers, curl: Curl) -> None:
        self._kind: Kind = kind
        self._form = BY_PLURAL[kind].title
        self._access = access
        self._answers = answers
        self._curl = curl

    async def log(self, visit: PersonVisit) -> Shown:
        return await self._log(visit, self._of(visit))

    async def twin(self, visit: PersonVisit) -> Shown:
        row, asked = self._of(visit).row, visit.request.query
        return await self._answers.reply(f"list{self._form}Deliveries", visit.request, row.id, query=asked)

    def show(self, visit: PersonVisit) -> Shown:
        return self._delivery(visit, self._of(visit))

    async def redeliver(self, visit: PersonVisit) -> Shown:
        """Send a delivery again. The answer waits for the attempt."""
        access, delivery_id = self._of(visit), visit.request.params[1]
        name = f"redeliver{self._form}Delivery"
        try:
            await self._answers.reply(name, visit.request, access.row.id, delivery_id, body={})
        except REFUSALS as error:
            return self._delivery(visit, access, refused_by(error))
        return see_other(f"{_here(access)}/{delivery_id}")

    async def redeliver_failed(self, visit: PersonVisit) -> Shown:
        access, since = self._of(visit), visit.form().text("since")
        name = f"redeliverFailed{self._form}Deliveries"
        try:
            body = {"failed_since": self._since_ms(since)}
            sent = await self._answers.ask(Redelivered, name, visit.request, access.row.id, body=body)
        except REFUSALS as error:
            return await self._log(visit, access, refused_by(error), since)
        notice = "failed-again" if sent.redelivered else "nothing-failed"
        return done(_here(access), notice)

    def _of(self, visit: PersonVisit) -> Access:
        return self._access.of(visit, self._kind, "webhook")

    def _since_ms(self, since: str) -> int:
        if since == "all":
            return 0
        if since not in dict(SPANS):
            raise Invalid({"since": Fault("not_offered")})
        return max(self._access.clock.now_ms() - int(since) * 1_000, 0)

    async def _log(
        self, visit: PersonVisit, access: Access, refused: FormRefusal = NOT_REFUSED, since: str = "86400"
    ) -> Shown:
        query = visit.request.query
        asked = {name: query[name] for name in ("after", "state", "type") if query.get(name)}
        page = await self._answers.ask(
            DeliveryPage,
            f"list{self._form}Deliveries",
            visit.request,
            access.row.id,
            query={**asked, "limit": str(ON_A_PAGE)},
        )
        here = _here(access)

        def shown(state: str, type_: str, after: str = "") -> str:
            """Return the address of the deliveries of that state and type, behind the cursor."""
            chosen = {"after": after, "state": state, "type": type_}
            query = urlencode({name: value for name, value in chosen.items() if value})
            return f"{here}?{query}" if query else here

        values = {
            "page": page,
            "shown": shown,
            "state": asked.get("state", ""),
            "states": STATES,
            "type": asked.get("type", ""),
            "events": EVENTS,
            "has_events": "type" in asked or _takes_more(access.row),
            "is_first": "after" not in asked,
            "has_webhook": access.row.webhook is not None,
            "spans": SPANS,
            "since": since,
            "errors": refused.errors,
            "in_words": words_of_error,
        }
        return tab_page(access, TAB, values, refused.status, template="delivery_log")

    def _delivery(self, visit: PersonVisit, access: Access, refused: FormRefusal = NOT_REFUSED) -> Shown:
        row, state = access.row, self._access.state
        found = state.deliveries.find(row.ref, visit.request.params[1])
        if found is None:
            raise Refusal("no_such_delivery")
        values = {
            "delivery": delivery_view(found, row.webhook),
            "command": self._curl(found, row, row.webhook) if row.webhook is not None else None,
            "events": EVENTS,
            "errors": refused.errors,
            "in_words": words_of_error,
        }
        return tab_page(access, TAB, values, refused.status, template="delivery")


def _takes_more(row: Listing) -> bool:
    """Tell whether the log can hold more than votes and tests."""
    return row.webhook is not None and row.webhook.taken != VOTES_ALONE


def _here(access: Access) -> str:
    return f"/{access.row.ref}/manage/webhook/deliveries"


def _rows(kind: Kind) -> tuple[PageRow, ...]:
    here = f"/{kind}/{{id}}/manage/webhook/deliveries"
    return (
        PageRow("GET", here, lambda to: to.deliveries[kind].log, "signed in"),
        PageRow("GET", f"{here}.json", lambda to: to.deliveries[kind].twin, "signed in"),
        PageRow("POST", here, lambda to: to.deliveries[kind].redeliver_failed, "signed in"),
        PageRow("GET", f"{here}/{{delivery_id}}", lambda to: to.deliveries[kind].show, "signed in"),
        PageRow("POST", f"{here}/{{delivery_id}}", lambda to: to.deliveries[kind].redeliver, "signed in"),
    )


DELIVERY_PAGES = (*_rows("bots"), *_rows("servers"))
