"""The pages of a webhook: settings, health, signing secret, test, removal. Invariant: no token is on a page.

    .../webhook             where votes go and how that goes, with the form of the settings. Its other button
                            sends a test as soon as they are saved
    .../webhook/secret      asks when the old signing secret stops, and shows the new one
    .../webhook/remove      asks before everything is gone
    .../webhook/probe, resume, test    do what their buttons say

The API replaces address, token, language and events together. So that an empty field can keep a secret that
the form does not show, the post fills it in. It fills the token in only for the server that has it already:
otherwise anybody who may change the address could read the token at another one.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict, replace

from actions.deliveries import TEST_WEBHOOK, DeliveryAnswer, delivery_view, test, text_of_error
from actions.webhooks import (
    PROBE_WEBHOOK,
    REMOVE_WEBHOOK,
    RESUME_WEBHOOK,
    ROTATE_SECRET,
    SAVE_WEBHOOK,
    SHOW_WEBHOOK,
    RotatedSecret,
    SavedWebhook,
    WebhookAnswer,
    offered_events,
    save,
)
from actions.webhooks import show as shown_webhook
from core.failures import Unavailable
from core.rows import VOTES_ALONE, Webhook
from forms.reading import read
from languages.language_names import OWN_NAMES
from languages.refusals import Invalid, Refusal
from languages.said import Fault
from languages.texts import Text, Words
from listings.forms import NewTest, WebhookSettings
from listings.queries import deliveries_page
from listings.rules import listing_of
from pages.dialogs import Question, Secret, question_page
from pages.owner.deliveries import EVENTS
from pages.page import Again, Answer, Page, PageCall, Post, Shown
from pages.shared_texts import done
from pages.visitors import origin
from web.form_posts import FormPost
from web.pages import see_other

LANGUAGES: tuple[tuple[Words, ...], ...] = (
    ("", Text("None, or English for a chat platform")),
    *((language, name, language) for language, name in OWN_NAMES.items()),
)
CHECK_IT = Text(
    "We sign each message with it, and show it only now. Let your server check the signature of every "
    "message: then it knows that a vote comes from here."
)
LATEST = 8
"""The newest deliveries on the page of the webhook. The log has all."""
OVERTAKEN = Text(
    "The webhook was changed meanwhile, by somebody else or in another window. Your settings "
    "are not saved. If you save now, they replace the other ones."
)


class Overtaken(Exception):
    """The webhook was changed after the form was drawn."""


def show(page: PageCall, secret: Secret | None = None) -> Shown[WebhookAnswer | None]:
    row = page.row
    webhook = shown_webhook(page.call, None) if row.webhook is not None else None
    latest = deliveries_page(page.call.state, page.call.ref, after=None, limit=LATEST).rows
    finished = page.call.state.deliveries.finished.get(row.ref, ())
    html = {
        "settings": _form(page),
        "secret": secret,
        "own_names": OWN_NAMES,
        "languages": LANGUAGES,
        "events": EVENTS,
        "offered": offered_events(page.call),
        "why": text_of_error,
        "latest": [delivery_view(each, row.webhook) for each in latest],
        "last": delivery_view(finished[-1], row.webhook) if finished else None,
        "errors": _errors(page),
    }
    return Shown(webhook, html=html, template="manage_webhook", missing="no_such_webhook")


def _form(page: PageCall) -> Mapping[str, Any]:
    """Return the form: as it was sent, but for the token, or with what is set.

    A form that was overtaken by other settings takes their place when it is sent once more. The address of a
    chat platform's webhook is a password, so the form does not show the one that is set.
    """
    webhook = page.row.webhook
    is_chat = webhook is not None and webhook.language is not None
    is_overtaken = isinstance(page.refused.error, Overtaken)
    return {
        "url": page.typed("url", webhook.url if webhook is not None and not is_chat else ""),
        "language": page.typed("language", webhook.language or "" if webhook is not None else ""),
        "no_token": page.typed("no_token"),
        "taken": page.typed("events", webhook.taken if webhook is not None else VOTES_ALONE),
        "kept_url": webhook.shown_url if webhook is not None and is_chat else None,
        "has_token": webhook is not None and webhook.token is not None,
        "version": _version(webhook) if is_overtaken else page.typed("version", _version(webhook)),
        "saved": webhook.shown_url if webhook is not None and is_overtaken else None,
    }


def _errors(page: PageCall) -> Mapping[str, Words]:
    """Return the faults of the form. A token that was typed is not shown again."""
    errors = page.refused.errors
    return (
        {"token": Text("Type the token once more: it is not shown again."), **errors}
        if page.typed("token")
        else errors
    )


def _version(webhook: Webhook | None) -> str:
    """Return a text that tells the settings from later ones."""
    return str(webhook.saved_ms) if webhook is not None else "none"


def _typed(_: PageCall, form: FormPost) -> Mapping[str, Any]:
    names = ("url", "token", "no_token", "language", "version")
    return {"events": form.texts("events"), **{name: form.text(name) for name in names}}


async def save_form(page: PageCall, _: object) -> SavedWebhook:
    """Save the settings of a form, unless others were saved since it was drawn."""
    form, before = page.visit.form(), page.row.webhook
    if form.text("version") not in {"", _version(before)}:
        raise Again(Overtaken(), errors={"": OVERTAKEN}, status=409)
    return await save(page.call, read(WebhookSettings, _settings(form, before)))


def _settings(form: FormPost, before: Webhook | None) -> Mapping[str, Any]:
    """Return the settings of a form, with the secrets that it keeps. Raises Invalid."""
    url, token = form.text("url"), form.text("token") or None
    if not url and before is not None and before.language is not None:
        url = before.url
    read(WebhookSettings, {"url": url})
    if token is None and before is not None and before.token is not None and not form.text("no_token"):
        if origin(url) != origin(before.url):
            raise Invalid({"token": Fault("token_elsewhere")})
        token = before.token
    # A browser sends no box that is not ticked, but the empty field beside them: then none is.
    events = form.texts("events") if "events" in form else None
    return {"url": url, "token": token, "language": form.text("language") or None, "events": events}


async def save_and_test(page: PageCall, form: object) -> SavedWebhook:
    """Save the settings, and send a test at once. Its outcome is in the log, also if it is refused."""
    saved = await save_form(page, form)
    with contextlib.suppress(Refusal, Unavailable):  # the secret is shown in any case
        await test(page.call.rechecked(), NewTest(user=page.person.id))
    return saved


def show_saved(page: PageCall, saved: SavedWebhook) -> Answer:
    if saved.secret is None:
        return done(_here(page), "webhook-saved")
    return _shown(page, Text("Here is your signing secret. Copy it now"), saved.secret)


def ask_rotation(page: PageCall) -> Question:
    return Question(
        Text("Replace the signing secret?"),
        Text(
            "You get a new secret, which the next page shows once. The old one can go on signing beside it "
            "for a while, so that your server can change over. Choose “At once” if somebody else may know it."
        ),
        Text("Replace the secret"),
        _existing(page),
        asks_overlap=True,
    )


def show_rotated(page: PageCall, rotated: RotatedSecret) -> Answer:
    return _shown(page, Text("Here is your new signing secret. Copy it now"), rotated.secret)


def ask_removal(page: PageCall) -> Question:
    return Question(
        Text("Remove the webhook?"),
        Text(
            "We send no more votes, not even those that wait. The delivery log and the signing secret are "
            "deleted. Votes still count. This cannot be undone."
        ),
        Text("Remove the webhook"),
        _existing(page),
        is_grave=True,
    )


def show_probed(page: PageCall, probed: WebhookAnswer) -> Answer:
    is_over = asdict(probed)["suspension"] is None
    return done(_here(page), "probe-arrived" if is_over else "probe-failed")


def show_tested(page: PageCall, sent: DeliveryAnswer) -> Answer:
    return see_other(f"{_here(page)}/deliveries/{asdict(sent)['id']}")


def _here(page: PageCall) -> str:
    return f"{page.here}/webhook"


def _existing(page: PageCall) -> str:
    """Return the page of a webhook that there is. Raises Refusal."""
    if page.row.webhook is None:
        raise Refusal("no_such_webhook")
    return _here(page)


def _shown(page: PageCall, title: Text, secret: str) -> Shown[WebhookAnswer | None]:
    now = replace(page, listing=listing_of(page.call.state, page.call.ref))
    return show(now, Secret(title, Text("Signing secret"), secret, CHECK_IT))


def _button(name: str, post: Post[Any]) -> Page[WebhookAnswer | None]:
    """Return the address of a button on the page of the webhook, which shows a refusal."""
    return Page(
        path=f"{_WEBHOOK}/{name}", tab="webhook", access=post.needs, show=show, has_get=False, posts=(post,)
    )


_WEBHOOK = "/{kind}/{id}/manage/webhook"
WEBHOOK_PAGES = (
    Page(
        path=_WEBHOOK,
        tab="webhook",
        access=SHOW_WEBHOOK.access,
        show=show,
        posts=(
            Post(access=SAVE_WEBHOOK.access, reads=_typed, run=save_form, then=show_saved),
            Post(access=SAVE_WEBHOOK.access, reads=_typed, run=save_and_test, then=show_saved, button="test"),
        ),
    ),
    question_page(
        path=f"{_WEBHOOK}/secret",
        tab="webhook",
        asks=ask_rotation,
        post=Post(
            action=ROTATE_SECRET,
            reads=lambda _, form: {"overlap_seconds": form.number("overlap_seconds")},
            then=show_rotated,
        ),
    ),
    question_page(
        path=f"{_WEBHOOK}/remove",
        tab="webhook",
        asks=ask_removal,
        post=Post(action=REMOVE_WEBHOOK, then=lambda page, _: done(_here(page), "webhook-removed")),
    ),
    _button("probe", Post(action=PROBE_WEBHOOK, then=show_probed)),
    _button("resume", Post(action=RESUME_WEBHOOK, then=lambda page, _: done(_here(page), "resumed"))),
    _button(
        "test", Post(action=TEST_WEBHOOK, reads=lambda page, _: {"user": page.person.id}, then=show_tested)
    ),
)
