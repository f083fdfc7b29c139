"""The delivery log of a webhook. Invariant: it shows what was sent and answered, and no secret.

.../webhook/deliveries                  the log, with a form that sends what failed again
.../webhook/deliveries/{delivery_id}    one delivery with each attempt and its request; sends it again
"""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlencode

from actions.deliveries import (
    LIST_DELIVERIES,
    REDELIVER,
    REDELIVER_FAILED,
    DeliveryPage,
    DeliveryView,
    Redelivered,
    delivery_view,
    index,
    resend_failed,
    text_of_error,
)
from actions.query_forms import DeliveriesQuery
from core.rows import VOTES_ALONE, DeliveryState, WebhookEvent
from forms.reading import read_query
from languages.refusals import Invalid
from languages.said import Fault
from languages.texts import Text
from listings.forms import FailedSince
from listings.webhooks import delivery_of
from pages.page import Answer, Page, PageCall, Post, Shown
from pages.shared_texts import done
from web.pages import see_other

ON_A_PAGE = 25
EVENTS: Mapping[WebhookEvent, Text] = {
    "vote": Text("Votes"),
    "review.approved": Text("Approvals"),
    "review.denied": Text("Denials"),
    "vote.struck": Text("Removed votes"),
    "rating.posted": Text("Reviews by users"),
}
STATES: Mapping[DeliveryState | Literal[""], Text] = {
    "": Text("All"),
    "pending": Text("Waiting"),
    "delivered": Text("Arrived"),
    "failed": Text("Failed"),
}
SPANS = (
    ("3600", Text("In the last hour")),
    ("86400", Text("In the last 24 hours")),
    ("604800", Text("In the last 7 days")),
    ("all", Text("At any time")),
)
"""The age of failed deliveries that are sent again, in seconds and in words."""


def show_log(page: PageCall) -> Shown[DeliveryPage]:
    """Show a page of the log. The JSON takes the query of the API, a browser may leave parts of it empty."""
    query, webhook = page.visit.request.query, page.row.webhook
    asked = {name: query[name] for name in ("after", "state", "type") if query.get(name)}
    here, state, event = _log(page), asked.get("state", ""), asked.get("type", "")

    def shown(state: str, event: str, after: str = "") -> str:
        """Return the address of the deliveries of that state and event, behind the cursor."""
        chosen = {"after": after, "state": state, "type": event}
        query = urlencode({name: value for name, value in chosen.items() if value})
        return f"{here}?{query}" if query else here

    html = {
        "shown": shown,
        "state": state,
        "states": STATES,
        "type": event,
        "events": EVENTS,
        "has_events": "type" in asked or (webhook is not None and webhook.taken != VOTES_ALONE),
        "is_first": "after" not in asked,
        "has_webhook": webhook is not None,
        "spans": SPANS,
        "since": page.typed("since", "86400"),
        "why": text_of_error,
    }
    form = read_query(DeliveriesQuery, query if page.is_json else {**asked, "limit": str(ON_A_PAGE)})
    return Shown(index(page.call, form), html=html)


async def send_failed(page: PageCall, _: object) -> Redelivered:
    """Send the deliveries again that failed within one of the spans. Raises Invalid."""
    since, since_ms = page.visit.form().text("since"), 0
    if since not in dict(SPANS):
        raise Invalid({"since": Fault("not_offered")})
    if since != "all":
        since_ms = max(page.call.now_ms - int(since) * 1_000, 0)
    return await resend_failed(page.call, FailedSince(failed_since=since_ms))


def show_sent(page: PageCall, sent: Redelivered) -> Answer:
    return done(_log(page), "failed-again" if sent.redelivered else "nothing-failed")


def show(page: PageCall) -> Shown[DeliveryView]:
    webhook, delivery = page.row.webhook, delivery_of(page.call.state, page.call.ref, page.call.ids[1])
    command = page.site.curl(delivery, page.row, webhook) if webhook is not None else None
    html = {"command": command, "events": EVENTS, "why": text_of_error}
    return Shown(delivery_view(delivery, webhook), html=html)


def _log(page: PageCall) -> str:
    return f"{page.here}/webhook/deliveries"


_DELIVERIES = "/{kind}/{id}/manage/webhook/deliveries"
DELIVERY_PAGES = (
    Page(
        path=_DELIVERIES,
        tab="webhook",
        template="delivery_log",
        access=LIST_DELIVERIES.access,
        show=show_log,
        posts=(
            Post(
                access=REDELIVER_FAILED.access,
                reads=lambda _, form: {"since": form.text("since")},
                run=send_failed,
                then=show_sent,
            ),
        ),
    ),
    Page(
        path=f"{_DELIVERIES}/{{delivery_id}}",
        tab="webhook",
        template="delivery",
        access=LIST_DELIVERIES.access,
        show=show,
        has_json=False,
        posts=(Post(action=REDELIVER, then=lambda page, _: see_other(f"{_log(page)}/{page.call.ids[1]}")),),
    ),
)
