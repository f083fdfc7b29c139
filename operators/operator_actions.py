"""The operator's actions on the pages. Invariant: each asks for confirmation, and calls one JSON endpoint.

The GET of an action's path shows its effect, with a form where it needs facts. Its POST calls the endpoint,
and leads back to the page it came from, with a notice. A form that is refused is shown again with its values.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from handlers.reply import SPOKEN, reply_to
from kinds.kind import PartName
from kinds.registry import BY_PLURAL
from languages.refusals import Invalid, Refusal
from languages.said import in_words
from languages.texts import Words
from operators.gateway_parts import GatewayParts
from operators.subjects import listing_inside, name_of
from web.error_pages import error_text
from web.form_posts import FormPost
from web.formats import number, size, span
from web.json_answers import JsonAnswers
from web.pages import Done, Notice, Page, PageRow, Shown, View, Visit
from web.sessions import Session

OperatorVisit = Visit[Session]
Answer = Mapping[str, Any]
"""A JSON answer, from which a notice is made."""


class FormField(NamedTuple):
    """A field of an action's form. Its name is that in the JSON body, where a dot leads into an object."""

    name: str
    label: str
    hint: str = ""
    is_number: bool = False
    is_long: bool = False
    is_required: bool = True
    maxlength: int | None = None


def _limit_field(name: str, label: str, hint: str) -> FormField:
    return FormField(name, label, hint, is_number=True, is_required=False, maxlength=9)


class DebugAction(NamedTuple):
    """One action.

    Args:
        place: the path of the page that it is on.
        slug: its name in the path, behind that of the page.
        operation: the id of the JSON endpoint; `{form}` stands for the title of the kind.
        what: a text that says what it does and what it does not.
        done: makes the notice of a JSON answer.
        is_grave: true if it takes something away.
        now: the values of the fields as they are, by name.
        of: the part that the kind of the listing must have; None for every kind.
    """

    place: str
    slug: str
    title: str
    button: str
    operation: str
    what: str
    done: Callable[[Answer], Notice]
    fields: tuple[FormField, ...] = ()
    is_grave: bool = False
    now: Callable[[Any], Mapping[str, Any]] = lambda _: {}
    of: PartName | None = None

    @property
    def labels(self) -> dict[str, str]:
        return {field.name: field.label for field in self.fields}

    def body(self, form: FormPost) -> dict[str, Any]:
        """Return the JSON body. An empty field is left out, and an object without fields is null."""
        body: dict[str, Any] = {}
        for field in self.fields:
            value = form.number(field.name) if field.is_number else form.text(field.name)
            outer, _, inner = field.name.partition(".")
            if not inner:
                body[outer] = value
            else:
                held = body.setdefault(outer, {})
                if value is not None:
                    held[inner] = value
        return {name: value if value != {} else None for name, value in body.items()}


def _said(text: str) -> Callable[[Answer], Notice]:
    return lambda _: Notice(text)


def _delivered(answer: Answer) -> Notice:
    if answer["state"] == "delivered":
        return Notice(f"Delivered: status {answer['status']} after {answer['duration_ms']} ms.")
    if answer["error"] is None:
        return Notice("The delivery is queued. It leaves as soon as its endpoint may get it.")
    then = "It is tried again." if answer["state"] == "pending" else "It is not tried again."
    return Notice(f"The attempt failed: {answer['error']}. {then}", is_problem=True)


def _probed(answer: Answer) -> Notice:
    suspension = answer["suspension"]
    if suspension is None:
        return Notice("The probe succeeded. Deliveries flow again.")
    return Notice(f"The probe failed: {suspension['reason']}. The endpoint stays suspended.", is_problem=True)


def _verified(answer: Answer) -> Notice:
    if answer["equal"]:
        return Notice(f"Memory and disk say the same at position {number(answer['position'])}.")
    why = answer["problem"] or "their digests differ"
    return Notice(f"Memory and disk differ at position {number(answer['position'])}: {why}.", is_problem=True)


def _snapshot_taken(answer: Answer) -> Notice:
    taken = f"{size(answer['bytes'])} in {span(answer['seconds'])}"
    return Notice(f"The snapshot at position {number(answer['position'])} is on disk: {taken}.")


def _own_limits(inside: Any) -> Mapping[str, Any]:
    own = msgspec.to_builtins(inside.listing).get("limits", {})
    return {
        f"{limit}.{name}": (own[limit] or {}).get(name, "")
        for limit in ("stats", "voters")
        for name in ("requests", "window_seconds")
    }


def _own_count(inside: Any) -> Mapping[str, Any]:
    count = msgspec.to_builtins(inside.listing).get("actual_server_count")
    return {"server_count": "" if count is None else count}


LISTING = "/debug/listings/{kind}/{id}"
DELIVERY = "/debug/listings/{kind}/{id}/deliveries/{delivery_id}"
DATA = "/debug/data"
REASON = FormField("reason", "Reason", "Shown to the owner.", is_long=True, maxlength=1_000)
BACKUP = DebugAction(
    DATA,
    "backup",
    "Download a backup",
    "Download it",
    "backUp",
    "The whole state comes as one encrypted file. It can be read only with the sealing keys, which are not "
    "in it: keep a copy of them elsewhere.",
    _said("The backup is complete."),
)
ACTIONS = (
    DebugAction(
        LISTING,
        "approve",
        "Approve",
        "Approve it",
        "approve{form}",
        "It becomes public: users can vote for it, and a bot can get API keys.",
        _said("It is approved."),
    ),
    DebugAction(
        LISTING,
        "deny",
        "Deny",
        "Deny it",
        "deny{form}",
        "It stays with its owner, who sees the reason and can send it again.",
        _said("It is denied. Its owner sees the reason."),
        (REASON,),
        is_grave=True,
    ),
    DebugAction(
        LISTING,
        "withdraw",
        "Withdraw the approval",
        "Withdraw it",
        "withdraw{form}",
        "It is denied: nobody sees it or votes for it, and the API keys of a bot do not work until it is "
        "approved again. Its owner sees the reason and can send it again.",
        _said("The approval is withdrawn. Its owner sees the reason."),
        (REASON,),
        is_grave=True,
    ),
    DebugAction(
        LISTING,
        "counts",
        "Set the actual server count",
        "Save",
        "setActualServerCount",
        "Counts that the bot pushes are compared with this number. It is used while guild_counts.source is "
        "operator, and with platform for bots that the chat platform does not tell of.",
        _said("The count is saved."),
        (FormField("server_count", "Servers that the bot is really in", is_number=True, maxlength=10),),
        now=_own_count,
        of="stats",
    ),
    DebugAction(
        LISTING,
        "limits",
        "Set limits",
        "Save",
        "setLimits",
        "These limits are for this bot alone. Leave both fields of a limit empty for the default of this "
        "gateway.",
        _said("The limits are saved."),
        (
            _limit_field("stats.requests", "Pushes of counts", "In one window."),
            _limit_field("stats.window_seconds", "Window of pushes", "In seconds."),
            _limit_field("voters.requests", "Vote checks", "In one window."),
            _limit_field("voters.window_seconds", "Window of vote checks", "In seconds."),
        ),
        now=_own_limits,
        of="stats",
    ),
    DebugAction(
        LISTING,
        "probe",
        "Probe the endpoint now",
        "Send the probe",
        "probe{form}Webhook",
        "The oldest delivery that waits goes out now, without waiting for its time. If it arrives, the "
        "suspension ends. If it fails, the next suspension is longer.",
        _probed,
    ),
    DebugAction(
        LISTING,
        "resume",
        "Lift the suspension",
        "Lift it",
        "resume{form}Webhook",
        "All deliveries that wait go out again, and the failures so far are forgotten.",
        _said("The suspension is lifted. Deliveries go out again."),
    ),
    DebugAction(
        DELIVERY,
        "redeliver",
        "Send the delivery again",
        "Send it again",
        "redeliver{form}Delivery",
        "The endpoint gets the same event once more. The page waits for the attempt.",
        _delivered,
    ),
    DebugAction(
        DATA,
        "snapshot",
        "Take a snapshot",
        "Take it",
        "takeSnapshot",
        "The whole state is written to a new file while the gateway goes on. The next start is faster.",
        _snapshot_taken,
    ),
    DebugAction(
        DATA,
        "verify",
        "Verify",
        "Verify",
        "verifyState",
        "Everything on disk is read again and compared with memory. With millions of votes that takes some "
        "seconds of one core. It changes nothing.",
        _verified,
    ),
    BACKUP,
)


class _Subject(NamedTuple):
    """The object of an action.

    Args:
        now: the values of the fields as they are.
        params: the parameters of the JSON endpoint's path.
        back: the path of the page that follows.
    """

    title: str
    now: Mapping[str, Any]
    operation: str
    params: tuple[str, ...]
    back: str


class OperatorActions:
    """Asks before an action, and does it. A listing's path has its kind and its id as first parameters."""

    def __init__(self, answers: JsonAnswers, parts: GatewayParts) -> None:
        self._answers = answers
        self._parts = parts

    async def ask(self, visit: OperatorVisit, action: DebugAction) -> Shown:
        subject = await self._subject(visit, action)
        return _confirmation(action, subject, subject.now, {})

    async def act(self, visit: OperatorVisit, action: DebugAction) -> Shown:
        if action is BACKUP:  # its answer is a file, after which the browser stays where it is
            return await self._answers.reply(action.operation, visit.request)
        subject, form = await self._subject(visit, action), visit.form()
        try:
            reply = await self._answers.reply(
                subject.operation, visit.request, *subject.params, body=action.body(form)
            )
        except Invalid as refused:
            errors = {name: in_words(*fault) for name, fault in refused.faults.items()}
            return _confirmation(action, subject, form, errors, 400)
        except SPOKEN as error:
            if not action.fields:
                raise
            answer = reply_to(error)
            return _confirmation(action, subject, form, {"": error_text(answer)}, answer.status)
        return Done(subject.back, action.done(msgspec.json.decode(reply.body)))

    async def _subject(self, visit: OperatorVisit, action: DebugAction) -> _Subject:
        if action.place == DATA:
            return _Subject(action.title, {}, action.operation, (), DATA)
        name, listing_id, *_ = visit.request.params
        kind = BY_PLURAL.get(name)
        if kind is None or not kind.has(action.of):
            raise Refusal("no_such_listing")
        inside = await listing_inside(self._parts, kind, listing_id)
        return _Subject(
            f"{action.title}: {name_of(inside)}",
            action.now(inside),
            action.operation.format(form=kind.title),
            visit.request.params[1:],
            LISTING.format(kind=kind, id=listing_id),
        )


def _confirmation(
    action: DebugAction,
    subject: _Subject,
    values: Mapping[str, Any],
    errors: Mapping[str, Words],
    status: int = 200,
) -> Page:
    shown = {"action": action, "values": values, "errors": errors, "back": subject.back}
    return Page("debug/confirm.html", subject.title, shown, status)


def action_rows() -> Iterator[PageRow]:
    """Yield two rows for each action: the question, and the POST that does it."""
    for action in ACTIONS:
        path = f"{action.place}/{action.slug}"
        yield PageRow("GET", path, _asking(action), "operator")
        yield PageRow("POST", path, _acting(action), "operator")


def _asking(action: DebugAction) -> Callable[[Any], View]:
    return lambda to: partial(to.actions.ask, action=action)


def _acting(action: DebugAction) -> Callable[[Any], View]:
    return lambda to: partial(to.actions.act, action=action)
