"""The operator's actions on the pages. Invariant: each asks for confirmation first.

The GET of an action's path shows its effect, with a form where it needs facts. Its POST does what the API
does, and leads back to the page it came from, with a notice. A form that is refused is shown again with its
values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from actions.action import AnyAction, Call, Operation, operations
from actions.deliveries import REDELIVER
from actions.listings import SET_ACTUAL_COUNT, SET_LIMITS
from actions.review import APPROVE, DENY, WITHDRAW
from actions.webhooks import PROBE_WEBHOOK, RESUME_WEBHOOK
from core.finished import finished
from core.rows import BotLimits, Listing
from forms.reading import read
from handlers.reply import SPOKEN, Reply, reply_to
from languages.refusals import Invalid
from languages.texts import NO_ERRORS, Words
from listings.rules import listing_of
from operators.data_folder import SnapshotTaken, Verified
from operators.gateway_parts import GatewayParts
from operators.operator_pages import BACK_UP, TAKE_SNAPSHOT, VERIFY_STATE, DebugOperation
from operators.operator_sessions import Session
from web.error_pages import error_text, field_texts
from web.form_posts import FormPost
from web.formats import number, size, span
from web.pages import Done, HtmlPage, Notice, PageRow, SiteAnswer, Visit

OperatorVisit = Visit[Session]


class FormField(NamedTuple):
    """A field of an action's form. Its name is that in the form's JSON, where a dot leads into an object."""

    name: str
    label: str
    hint: str = ""
    is_number: bool = False
    is_long: bool = False
    is_required: bool = True
    maxlength: int | None = None


def _limit_field(name: str, label: str, hint: str) -> FormField:
    return FormField(name, label, hint, is_number=True, is_required=False, maxlength=9)


class OperatorAction(NamedTuple):
    """A row of the table.

    Args:
        place: the path of the page that it is on.
        slug: its name in the path, behind that of the page.
        does: the action, or an operation of the API that is on no listing.
        done: makes the notice of its view; a text is the same for every view. A file has no notice.
        is_grave: true if it takes something away.
        now: returns the present values of the fields, by name.
    """

    place: str
    slug: str
    title: str
    does: AnyAction | DebugOperation[Any]
    done: str | Callable[[Any], Notice] = ""
    fields: tuple[FormField, ...] = ()
    is_grave: bool = False
    now: Callable[[Listing], Mapping[str, Any]] = lambda _: {}

    @property
    def labels(self) -> dict[str, str]:
        return {field.name: field.label for field in self.fields}

    @property
    def operations(self) -> Sequence[Operation | DebugOperation[Any]]:
        """The operations of the API that do it: one for each kind of listing that has it."""
        return (self.does,) if isinstance(self.does, DebugOperation) else operations((self.does,))

    def body(self, form: FormPost) -> dict[str, Any]:
        """Return the form's JSON. An empty field is left out, and an object without fields is null."""
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


def _delivered(answer: Any) -> Notice:
    if answer.state == "delivered":
        return Notice(f"Delivered: status {answer.status} after {answer.duration_ms} ms.")
    if answer.error is None:
        return Notice("The delivery is queued. It leaves as soon as its endpoint may get it.")
    then = "It is tried again." if answer.state == "pending" else "It is not tried again."
    return Notice(f"The attempt failed: {answer.error}. {then}", is_problem=True)


def _probed(answer: Any) -> Notice:
    if answer.suspension is None:
        return Notice("The probe succeeded. Deliveries flow again.")
    return Notice(
        f"The probe failed: {answer.suspension.reason}. The endpoint stays suspended.", is_problem=True
    )


def _verified(answer: Verified) -> Notice:
    if answer.equal:
        return Notice(f"Memory and disk agree at position {number(answer.position)}.")
    why = answer.problem or "their digests differ"
    return Notice(f"Memory and disk differ at position {number(answer.position)}: {why}.", is_problem=True)


def _snapshot_taken(answer: SnapshotTaken) -> Notice:
    taken = f"{size(answer.bytes)} in {span(answer.seconds)}"
    return Notice(f"The snapshot at position {number(answer.position)} is on disk: {taken}.")


def _own_limits(listing: Listing) -> Mapping[str, Any]:
    own = listing.limits or BotLimits()
    policies = {"stats": own.stats, "voters": own.voters}
    return {
        f"{limit}.{name}": getattr(policy, name)
        for limit, policy in policies.items()
        if policy is not None
        for name in ("requests", "window_seconds")
    }


def _own_count(listing: Listing) -> Mapping[str, Any]:
    return {"server_count": listing.actual} if listing.actual is not None else {}


LISTING = "/debug/listings/{kind}/{id}"
DATA = "/debug/data"
REASON = FormField("reason", "Reason", "Shown to the owner.", is_long=True, maxlength=1_000)
ACTIONS = (
    OperatorAction(LISTING, "approve", "Approve", APPROVE, "It is approved."),
    OperatorAction(
        *(LISTING, "deny", "Deny", DENY),
        *("It is denied. Its owner sees the reason.", (REASON,)),
        is_grave=True,
    ),
    OperatorAction(
        *(LISTING, "withdraw", "Withdraw the approval", WITHDRAW),
        *("The approval is withdrawn. Its owner sees the reason.", (REASON,)),
        is_grave=True,
    ),
    OperatorAction(
        *(LISTING, "counts", "Set the actual server count", SET_ACTUAL_COUNT, "The count is saved."),
        (FormField("server_count", "Servers that the bot is really in", is_number=True, maxlength=10),),
        now=_own_count,
    ),
    OperatorAction(
        *(LISTING, "limits", "Set limits", SET_LIMITS, "The limits are saved."),
        (
            _limit_field("stats.requests", "Pushes of counts", "In one window."),
            _limit_field("stats.window_seconds", "Window of pushes", "In seconds."),
            _limit_field("voters.requests", "Vote checks", "In one window."),
            _limit_field("voters.window_seconds", "Window of vote checks", "In seconds."),
        ),
        now=_own_limits,
    ),
    OperatorAction(LISTING, "probe", "Probe the endpoint now", PROBE_WEBHOOK, _probed),
    OperatorAction(
        *(LISTING, "resume", "Lift the suspension", RESUME_WEBHOOK),
        "The suspension is lifted. Deliveries go out again.",
    ),
    OperatorAction(
        *(f"{LISTING}/deliveries/{{delivery_id}}", "redeliver", "Send the delivery again"),
        *(REDELIVER, _delivered),
    ),
    OperatorAction(DATA, "snapshot", "Take a snapshot", TAKE_SNAPSHOT, _snapshot_taken),
    OperatorAction(DATA, "verify", "Verify", VERIFY_STATE, _verified),
    OperatorAction(DATA, "backup", "Download a backup", BACK_UP),
)


class _Served:
    """An action on one kind of listing, or on none."""

    def __init__(
        self, action: OperatorAction, operation: Operation | DebugOperation[Any], parts: GatewayParts
    ) -> None:
        self._action = action
        self._operation = operation
        self._parts = parts

    def ask(self, visit: OperatorVisit) -> SiteAnswer:
        listing = self._listing(visit)
        return self._question(listing, self._action.now(listing) if listing is not None else {})

    async def act(self, visit: OperatorVisit) -> SiteAnswer:
        action, listing, form = self._action, self._listing(visit), visit.form()
        try:
            view = await self._done(visit, form)
        except SPOKEN as error:
            if not action.fields:
                raise
            reply = reply_to(error)
            errors = field_texts(error) if isinstance(error, Invalid) else {"": error_text(reply)}
            return self._question(listing, form, errors, reply.status)
        if isinstance(view, Reply):  # a file, after which the browser stays where it is
            return view
        notice = Notice(action.done) if isinstance(action.done, str) else action.done(view)
        return Done(self._back(listing), notice)

    async def _done(self, visit: OperatorVisit, form: FormPost) -> Any:
        """Do it, and return the view, or the reply if that has none."""
        operation, request, tools = self._operation, visit.request, self._parts.tools
        if isinstance(operation, DebugOperation):
            return await finished(operation.show(self._parts, request))
        call = Call(tools, request.by, tools.clock.now_ms(), operation.kind, request.params)
        return await operation.answer(call, lambda declared: read(declared, self._action.body(form)))

    def _listing(self, visit: OperatorVisit) -> Listing | None:
        """Return the listing of the path, if it names one. Raises Refusal."""
        kind = self._operation.kind if isinstance(self._operation, Operation) else None
        return listing_of(self._parts.state, kind.ref(visit.request.params[0])) if kind is not None else None

    def _question(
        self,
        listing: Listing | None,
        values: Mapping[str, Any],
        errors: Mapping[str, Words] = NO_ERRORS,
        status: int = 200,
    ) -> HtmlPage:
        action = self._action
        title = action.title if listing is None else f"{action.title}: {listing.profile.name}"
        shown = {"action": action, "what": self._operation.about, "values": values, "errors": errors}
        return HtmlPage("debug/confirm.html", title, {**shown, "back": self._back(listing)}, status)

    def _back(self, listing: Listing | None) -> str:
        """Return the path of the page that follows."""
        return DATA if listing is None else f"/debug/listings/{listing.ref}"


def action_rows() -> Iterator[PageRow]:
    """Yield two rows for each action: the question, and the POST that does it."""
    for action in ACTIONS:
        for operation in action.operations:
            yield from _rows(action, operation)


def _rows(action: OperatorAction, operation: Operation | DebugOperation[Any]) -> tuple[PageRow, ...]:
    kind = operation.kind
    path = f"{action.place}/{action.slug}".replace("{kind}", str(kind))
    return (
        PageRow("GET", path, lambda to: _Served(action, operation, to.parts).ask, "operator", kind=kind),
        PageRow("POST", path, lambda to: _Served(action, operation, to.parts).act, "operator", kind=kind),
    )
