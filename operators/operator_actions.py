"""What the operator can do on the pages. Law: each action asks for confirmation, and calls one JSON endpoint.

The GET of an action's path shows what it will do, with a form where it needs facts. Its POST does it, and
leads back to the page it came from, with a notice. A form that is refused is shown again with its values.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec

from core.refusals import Invalid, Refusal
from handlers.reply import SPOKEN, reply_to
from languages.said import in_words
from languages.texts import Words
from operators.listing_pages import Inside, inside_of, kind_of, name_of
from operators.operator_audience import OperatorVisit
from web.error_pages import error_text
from web.form_posts import FormPost
from web.formats import number, size, span
from web.json_answers import JsonAnswers
from web.pages import Done, Notice, Page, PageRow, Shown

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


class DebugAction(NamedTuple):
    """One action.

    Args:
        slug: its name in the path.
        operation: the id of the JSON endpoint; `{form}` stands for Bot or Server.
        what: what it does and what it does not, for whoever is about to do it.
        done: makes the notice of a JSON answer.
        is_grave: true if it takes something away.
        now: the values of the fields as they are, by name.
        on: the kinds of listing that it is for.
    """

    slug: str
    title: str
    button: str
    operation: str
    what: str
    done: Callable[[Answer], Notice]
    fields: tuple[FormField, ...] = ()
    is_grave: bool = False
    now: Callable[[Inside], Mapping[str, Any]] = lambda _: {}
    on: tuple[str, ...] = ("bots", "servers")

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


def _own_limits(inside: Inside) -> Mapping[str, Any]:
    own = msgspec.to_builtins(inside.listing).get("limits", {})
    return {
        f"{limit}.{name}": (own[limit] or {}).get(name, "")
        for limit in ("stats", "voters")
        for name in ("requests", "window_seconds")
    }


def _own_count(inside: Inside) -> Mapping[str, Any]:
    count = msgspec.to_builtins(inside.listing).get("actual_server_count")
    return {"server_count": "" if count is None else count}


OF_LISTINGS = (
    DebugAction(
        "approve",
        "Approve",
        "Approve it",
        "approve{form}",
        "It becomes public: users can vote for it, and a bot can get API keys.",
        _said("It is approved."),
    ),
    DebugAction(
        "deny",
        "Deny",
        "Deny it",
        "deny{form}",
        "It stays with its owner, who sees the reason and can send it again.",
        _said("It is denied. Its owner sees the reason."),
        (FormField("reason", "Reason", "Shown to the owner.", is_long=True, maxlength=1_000),),
        is_grave=True,
    ),
    DebugAction(
        "withdraw",
        "Withdraw the approval",
        "Withdraw it",
        "withdraw{form}",
        "It is denied: nobody sees it or votes for it, and the API keys of a bot do not work until it is "
        "approved again. Its owner sees the reason and can send it again.",
        _said("The approval is withdrawn. Its owner sees the reason."),
        (FormField("reason", "Reason", "Shown to the owner.", is_long=True, maxlength=1_000),),
        is_grave=True,
    ),
    DebugAction(
        "counts",
        "Set the actual server count",
        "Save",
        "setActualServerCount",
        "Counts that the bot pushes are compared with this number. It is used while guild_counts.source is "
        "operator, and with platform for bots that the chat platform does not tell of.",
        _said("The count is saved."),
        (FormField("server_count", "Servers that the bot is really in", is_number=True, maxlength=10),),
        now=_own_count,
        on=("bots",),
    ),
    DebugAction(
        "limits",
        "Set limits",
        "Save",
        "setLimits",
        "These limits are for this bot alone. Leave both fields of a limit empty for the default of this "
        "gateway.",
        _said("The limits are saved."),
        (
            FormField("stats.requests", "Pushes of counts", "In one window.", True, False, False, 9),
            FormField("stats.window_seconds", "Window of pushes", "In seconds.", True, False, False, 9),
            FormField("voters.requests", "Vote checks", "In one window.", True, False, False, 9),
            FormField("voters.window_seconds", "Window of vote checks", "In seconds.", True, False, False, 9),
        ),
        now=_own_limits,
        on=("bots",),
    ),
    DebugAction(
        "probe",
        "Probe the endpoint now",
        "Send the probe",
        "probe{form}Webhook",
        "The oldest delivery that waits goes out now, without waiting for its time. If it arrives, the "
        "suspension ends. If it fails, the next suspension is longer.",
        _probed,
    ),
    DebugAction(
        "resume",
        "Lift the suspension",
        "Lift it",
        "resume{form}Webhook",
        "All deliveries that wait go out again, and the failures so far are forgotten.",
        _said("The suspension is lifted. Deliveries go out again."),
    ),
)
OF_DELIVERIES = (
    DebugAction(
        "redeliver",
        "Send the delivery again",
        "Send it again",
        "redeliver{form}Delivery",
        "The endpoint gets the same event once more. The page waits for the attempt.",
        _delivered,
    ),
)
BACKUP = DebugAction(
    "backup",
    "Download a backup",
    "Download it",
    "backUp",
    "The whole state comes as one encrypted file. It can be read only with the sealing keys, which are not "
    "in it: keep a copy of them elsewhere.",
    _said("The backup is complete."),
)
OF_DATA = (
    DebugAction(
        "snapshot",
        "Take a snapshot",
        "Take it",
        "takeSnapshot",
        "The whole state is written to a new file while the gateway goes on. The next start is faster.",
        _snapshot_taken,
    ),
    DebugAction(
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
LISTING, DELIVERY, DATA = (
    "/debug/listings/{kind}/{id}",
    "/debug/listings/{kind}/{id}/deliveries/{delivery_id}",
    "/debug/data",
)


class ListingActions:
    """The actions on a listing and its deliveries. A path's first parameters are the kind and the id."""

    def __init__(self, answers: JsonAnswers) -> None:
        self._answers = answers

    async def ask(self, visit: OperatorVisit, action: DebugAction) -> Shown:
        inside = await self._inside(visit, action)
        return _confirmation(action, _title(action, inside), action.now(inside), {}, self._back(visit))

    async def act(self, visit: OperatorVisit, action: DebugAction) -> Shown:
        inside = await self._inside(visit, action)
        form = "Bot" if visit.request.params[0] == "bots" else "Server"
        operation = action.operation.format(form=form)
        return await _acted(
            self._answers,
            visit,
            action,
            operation,
            visit.request.params[1:],
            _title(action, inside),
            self._back(visit),
        )

    async def _inside(self, visit: OperatorVisit, action: DebugAction) -> Inside:
        kind = kind_of(visit.request)
        if kind not in action.on:
            raise Refusal("no_such_listing")
        return await inside_of(self._answers, visit.request, kind, visit.request.params[1])

    def _back(self, visit: OperatorVisit) -> str:
        kind, listing_id, *_ = visit.request.params
        return LISTING.format(kind=kind, id=listing_id)


class DataActions:
    """The actions on the data folder."""

    def __init__(self, answers: JsonAnswers) -> None:
        self._answers = answers

    def ask(self, _: OperatorVisit, action: DebugAction) -> Shown:
        return _confirmation(action, action.title, {}, {}, DATA)

    async def act(self, visit: OperatorVisit, action: DebugAction) -> Shown:
        if action is BACKUP:  # its answer is a file, after which the browser stays where it is
            return await self._answers.reply(action.operation, visit.request)
        return await _acted(self._answers, visit, action, action.operation, (), action.title, DATA)


async def _acted(
    answers: JsonAnswers,
    visit: OperatorVisit,
    action: DebugAction,
    operation: str,
    params: tuple[str, ...],
    title: str,
    back: str,
) -> Shown:
    form = visit.form()
    try:
        reply = await answers.reply(operation, visit.request, *params, body=action.body(form))
    except Invalid as refused:
        errors = {name: in_words(*fault) for name, fault in refused.faults.items()}
        return _confirmation(action, title, form, errors, back, 400)
    except SPOKEN as error:
        if not action.fields:
            raise
        answer = reply_to(error)
        return _confirmation(action, title, form, {"": error_text(answer)}, back, answer.status)
    return Done(back, action.done(msgspec.json.decode(reply.body)))


def _confirmation(
    action: DebugAction,
    title: str,
    values: Mapping[str, Any],
    errors: Mapping[str, Words],
    back: str,
    status: int = 200,
) -> Page:
    shown = {"action": action, "values": values, "errors": errors, "back": back}
    return Page("debug/confirm.html", title, shown, status)


def _title(action: DebugAction, inside: Inside) -> str:
    return f"{action.title}: {name_of(inside)}"


def action_rows() -> tuple[PageRow, ...]:
    """Return two rows for each action: the question and the deed."""
    return (
        *(row for action in OF_LISTINGS for row in _rows(LISTING, action, lambda to: to.listing_actions)),
        *(row for action in OF_DELIVERIES for row in _rows(DELIVERY, action, lambda to: to.listing_actions)),
        *(row for action in OF_DATA for row in _rows(DATA, action, lambda to: to.data_actions)),
    )


def _rows(
    place: str, action: DebugAction, by: Callable[[Any], ListingActions | DataActions]
) -> tuple[PageRow, ...]:
    path = f"{place}/{action.slug}"
    return (
        PageRow("GET", path, lambda to: partial(by(to).ask, action=action), "operator"),
        PageRow("POST", path, lambda to: partial(by(to).act, action=action), "operator"),
    )
