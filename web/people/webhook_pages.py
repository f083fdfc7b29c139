"""The webhook of a listing: settings, health, signing secret, test, removal. Law: a token is never shown.

    .../webhook             where votes go, and how that goes
    .../webhook/settings    the form
    .../webhook/secret      asks when the old signing secret stops, and shows the new one
    .../webhook/remove      asks before everything is gone
    .../webhook/probe, resume, test    do what their buttons say

The API replaces address, token, language and events together. So that an empty field can keep what nobody
may see, the form sends it again: the token only to the server that has it already, or whoever may change the
address could read the token at another one.
"""

from typing import Any

from msgspec.structs import asdict

from actions.listing_kinds import Kind
from core.refusals import Invalid, Refusal
from core.rows import VOTES_ALONE, Webhook
from forms.reading import read
from handlers.webhook_views import DeliveryAnswer, RotatedSecret, SavedWebhook, WebhookAnswer
from kinds.registry import BY_PLURAL
from languages.language_names import OWN_NAMES
from languages.said import Fault
from languages.texts import Text, Words
from listings.forms import WebhookSettings
from web.form_posts import FormPost
from web.json_answers import JsonAnswers
from web.pages import PageRow, Shown, see_other
from web.people.delivery_words import EVENTS, words_of_error
from web.people.listing_access import Access, ListingAccess
from web.people.listing_tabs import tab_page
from web.people.people_audience import PersonVisit, done, origin
from web.people.questions import NOT_REFUSED, REFUSALS, FormRefusal, Question, asked, refused_by
from web.people.shown_once import ShownOnce, shown_once

TAB = "webhook"
LANGUAGES: tuple[tuple[Words, ...], ...] = (
    ("", Text("None, or English for a chat platform")),
    *((language, name, language) for language, name in OWN_NAMES.items()),
)
CHECK_IT = Text(
    "Save it now where your receiver keeps its secrets, and let it check the signature of every request: "
    "so it knows that a vote comes from here."
)

OVERTAKEN = Text(
    "The webhook was changed meanwhile, by somebody else or in another window, and nothing of yours is "
    "saved. If you save now, yours takes the place of the other settings."
)


class WebhookPages:
    """The pages of one kind of listing."""

    def __init__(self, kind: Kind, access: ListingAccess, answers: JsonAnswers) -> None:
        self._kind: Kind = kind
        self._form = BY_PLURAL[kind].title
        self._access = access
        self._answers = answers

    async def show(self, visit: PersonVisit) -> Shown:
        return await self._page(visit, self._of(visit))

    async def twin(self, visit: PersonVisit) -> Shown:
        return await self._answers.reply(f"show{self._form}Webhook", visit.request, self._of(visit).row.id)

    def edit(self, visit: PersonVisit) -> Shown:
        access = self._fresh(visit)
        return _settings(access)

    async def save(self, visit: PersonVisit) -> Shown:
        access, form = self._fresh(visit), visit.form()
        name, before = f"save{self._form}Webhook", access.row.webhook
        if form.text("version") not in {"", _version(before)}:
            refused = FormRefusal({"": OVERTAKEN}, 409)
            return _settings(access, _with_token(refused, form), form, is_overtaken=True)
        try:
            body = _body(form, before)
            saved = await self._answers.ask(SavedWebhook, name, visit.request, access.row.id, body=body)
        except REFUSALS as error:
            return _settings(access, _with_token(refused_by(error), form), form)
        if saved.secret is None:
            return done(_here(access), "webhook-saved")
        title = Text("The webhook is saved, and its requests are signed")
        return _shown(access, title, saved.secret)

    def ask_rotation(self, visit: PersonVisit) -> Shown:
        access = self._with_webhook(visit)
        return asked(access, TAB, _rotation(access))

    async def rotate(self, visit: PersonVisit) -> Shown:
        access = self._with_webhook(visit)
        name, overlap = f"rotate{self._form}WebhookSecret", visit.form().number("overlap_seconds")
        try:
            rotated = await self._answers.ask(
                RotatedSecret, name, visit.request, access.row.id, body={"overlap_seconds": overlap}
            )
        except REFUSALS as error:
            return asked(access, TAB, _rotation(access), refused_by(error), overlap)
        return _shown(access, Text("Requests are signed with a new secret"), rotated.secret)

    def ask_removal(self, visit: PersonVisit) -> Shown:
        access = self._with_webhook(visit)
        return asked(access, TAB, _removal(access))

    async def remove(self, visit: PersonVisit) -> Shown:
        access = self._with_webhook(visit)
        try:
            await self._answers.reply(f"remove{self._form}Webhook", visit.request, access.row.id)
        except REFUSALS as error:
            return asked(access, TAB, _removal(access), refused_by(error))
        return done(_here(access), "webhook-removed")

    async def probe(self, visit: PersonVisit) -> Shown:
        access, name = self._of(visit), f"probe{self._form}Webhook"
        try:
            probed = await self._answers.ask(WebhookAnswer, name, visit.request, access.row.id, body={})
        except REFUSALS as error:
            return await self._page(visit, access, refused_by(error))
        notice = "probe-arrived" if asdict(probed)["suspension"] is None else "probe-failed"
        return done(_here(access), notice)

    async def resume(self, visit: PersonVisit) -> Shown:
        access, name = self._of(visit), f"resume{self._form}Webhook"
        try:
            await self._answers.reply(name, visit.request, access.row.id, body={})
        except REFUSALS as error:
            return await self._page(visit, access, refused_by(error))
        return done(_here(access), "resumed")

    async def test(self, visit: PersonVisit) -> Shown:
        """Send a test that names the visitor, and lead to what became of it."""
        access, name = self._of(visit), f"test{self._form}Webhook"
        body = {"user": access.person.id}
        try:
            sent = await self._answers.ask(DeliveryAnswer, name, visit.request, access.row.id, body=body)
        except REFUSALS as error:
            return await self._page(visit, access, refused_by(error))
        return see_other(f"{_here(access)}/deliveries/{asdict(sent)['id']}")

    def _of(self, visit: PersonVisit) -> Access:
        return self._access.of(visit, self._kind, "webhook")

    def _fresh(self, visit: PersonVisit) -> Access:
        return self._access.fresh(visit, self._kind, "webhook")

    def _with_webhook(self, visit: PersonVisit) -> Access:
        """Return a listing that has a webhook, after a fresh sign-in. Raises Refusal, too."""
        access = self._fresh(visit)
        if access.row.webhook is None:
            raise Refusal("no_such_webhook")
        return access

    async def _page(self, visit: PersonVisit, access: Access, refused: FormRefusal = NOT_REFUSED) -> Shown:
        webhook = None
        if access.row.webhook is not None:
            name = f"show{self._form}Webhook"
            webhook = await self._answers.ask(WebhookAnswer, name, visit.request, access.row.id)
        values = {
            "webhook": webhook,
            "languages": OWN_NAMES,
            "events": EVENTS,
            "errors": refused.errors,
            "in_words": words_of_error,
        }
        return tab_page(access, TAB, values, refused.status)


def _here(access: Access) -> str:
    return f"/{access.row.ref}/manage/webhook"


def _settings(
    access: Access,
    refused: FormRefusal = NOT_REFUSED,
    form: FormPost | None = None,
    *,
    is_overtaken: bool = False,
) -> Shown:
    """Return the form: as it was sent, but for the token, or with what is set.

    One that was overtaken by other settings takes their place when it is sent once more.

    The address of a chat platform's webhook is a password, so the form does not show the one that is set.
    """
    webhook = access.row.webhook
    is_chat = webhook is not None and webhook.language is not None
    given: dict[str, Any] = {"url": "", "chosen": "", "no_token": False, "taken": VOTES_ALONE}
    if form is not None:
        given = {
            "url": form.text("url"),
            "chosen": form.text("language"),
            "no_token": bool(form.text("no_token")),
            "taken": form.texts("events"),
        }
    elif webhook is not None:
        given["taken"] = webhook.taken
        given["url"] = "" if is_chat else webhook.url
        given["chosen"] = webhook.language or ""
    values = {
        **given,
        "is_set": webhook is not None,
        "kept_url": webhook.shown_url if webhook is not None and is_chat else None,
        "has_token": webhook is not None and webhook.token is not None,
        "languages": LANGUAGES,
        "events": EVENTS,
        "version": form.text("version") if form is not None and not is_overtaken else _version(webhook),
        "saved": webhook.shown_url if webhook is not None and is_overtaken else None,
        "errors": refused.errors,
    }
    return tab_page(access, TAB, values, refused.status, template="webhook_settings")


def _with_token(refused: FormRefusal, form: FormPost) -> FormRefusal:
    """Return the refusal with a word on the token that was typed: the form does not show it again."""
    if not form.text("token"):
        return refused
    return refused._replace(errors={"token": Text("is not shown again: type it once more"), **refused.errors})


def _version(webhook: Webhook | None) -> str:
    """Return what tells the settings from others, for a form that is drawn from them."""
    return str(webhook.saved_ms) if webhook is not None else "none"


def _body(form: FormPost, before: Webhook | None) -> dict[str, Any]:
    """Return the settings that a form asks for. Raises Invalid."""
    url, token = form.text("url"), form.text("token") or None
    language = form.text("language") or None
    if not url and before is not None and before.language is not None:
        url = before.url
    read(WebhookSettings, {"url": url})
    if token is None and before is not None and before.token is not None and not form.text("no_token"):
        if origin(url) != origin(before.url):
            raise Invalid({"token": Fault("token_elsewhere")})
        token = before.token
    # A browser sends no box that is not ticked, but the empty field beside them: then none is.
    events = form.texts("events") if "events" in form else None
    return {"url": url, "token": token, "language": language, "events": events}


def _shown(access: Access, title: Text, secret: str) -> Shown:
    return shown_once(access, TAB, ShownOnce(title, Text("Signing secret"), secret, CHECK_IT, _here(access)))


def _rotation(access: Access) -> Question:
    return Question(
        Text("Rotate the signing secret"),
        Text(
            "Requests are signed with a new secret, which the next page shows once. The old one can go on "
            "signing beside it for a while, so that your receiver can change over. Choose “At once” if "
            "somebody else may know it."
        ),
        Text("Make a new secret"),
        _here(access),
        asks_overlap=True,
    )


def _removal(access: Access) -> Question:
    return Question(
        Text("Remove the webhook"),
        Text(
            "Nobody is told of votes any more. What waits is not delivered, and the log and the signing "
            "secret go, too. Votes are counted as before. It cannot be undone."
        ),
        Text("Remove the webhook"),
        _here(access),
        is_grave=True,
    )


def _rows(kind: Kind) -> tuple[PageRow, ...]:
    here = f"/{kind}/{{id}}/manage/webhook"
    return (
        PageRow("GET", here, lambda to: to.webhooks[kind].show, "signed in"),
        PageRow("GET", f"{here}.json", lambda to: to.webhooks[kind].twin, "signed in"),
        PageRow("GET", f"{here}/settings", lambda to: to.webhooks[kind].edit, "signed in"),
        PageRow("POST", f"{here}/settings", lambda to: to.webhooks[kind].save, "signed in"),
        PageRow("GET", f"{here}/secret", lambda to: to.webhooks[kind].ask_rotation, "signed in"),
        PageRow("POST", f"{here}/secret", lambda to: to.webhooks[kind].rotate, "signed in"),
        PageRow("GET", f"{here}/remove", lambda to: to.webhooks[kind].ask_removal, "signed in"),
        PageRow("POST", f"{here}/remove", lambda to: to.webhooks[kind].remove, "signed in"),
        PageRow("POST", f"{here}/probe", lambda to: to.webhooks[kind].probe, "signed in"),
        PageRow("POST", f"{here}/resume", lambda to: to.webhooks[kind].resume, "signed in"),
        PageRow("POST", f"{here}/test", lambda to: to.webhooks[kind].test, "signed in"),
    )


WEBHOOK_PAGES = (*_rows("bots"), *_rows("servers"))
