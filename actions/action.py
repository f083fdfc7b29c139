"""An action: one function, and a row that says everything else about it.

    async def issue(call: Call, form: KeyName) -> IssuedKey: ...

    ISSUE_KEY = Action(name="issueKey", run=issue, form=KeyName, view=IssuedKey, ...)

The function reads the state, calls a rule, and commits. It does not know who asked it: the management API, a
page or a test. So three things are not in an action:

* The right of the caller. The row names it (`Access`), and the surface checks it before. The operator has
  every right.
* A guard of one surface, such as the limit of presses on the vote button. It belongs to the page's `Post`
  (pages/page.py), which may run a function of its own around the action's.
* The look of the outcome. The function returns a view; the API encodes it, and a page shows it.

A function that awaits something else than its commit, such as the chat platform, goes on with
`call.rechecked()`, and does not await again before it commits: a session may have ended in the meantime.

Texts of a row may name a kind: `{kind}` is "bots", `{thing}` "bot", and `{Thing}` "Bot". A row whose path
has `{kind}` is one action for each kind that has the part `of`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from actions.tools import Tools
from actions.views import Success
from core.actors import Actor
from core.events import Event
from core.state import State
from core.user_rows import QuarantinedAct
from grammars.patterns import is_snowflake
from kinds.kind import Kind, PartName
from kinds.registry import KINDS
from languages.refusals import Invalid
from languages.said import Code, Fault
from people.permissions import Right

RefusedFor = Code | Literal["invalid_id", "invalid_act", "invalid_query", "owner_quarantined"]
"""A code, or the name of one more example of a code: `invalid_fields` of a path or a query, and `quarantined`
for another act."""
F = TypeVar("F")
V = TypeVar("V", bound=Success)
M = TypeVar("M")
Method = Literal["GET", "POST", "PUT", "DELETE"]


def _always_allowed() -> None:
    """Recheck nothing: the operator's token does not end during a call."""


@dataclass(frozen=True)
class Call:
    """One call of an action: who calls, when, on what, and with which tools.

    Args:
        now_ms: the time of the call, read once (Unix ms).
        kind: the kind of the listing; None for an action that is on none.
        ids: those of the path, in its order. For an action on a listing, the first is that of the listing.
        still_allowed: raises the refusal of a caller who has lost the access since the call began.
    """

    tools: Tools
    by: Actor
    now_ms: int
    kind: Kind | None = None
    ids: tuple[str, ...] = ()
    still_allowed: Callable[[], None] = _always_allowed

    @property
    def state(self) -> State:
        return self.tools.ledger.state

    @property
    def listing_kind(self) -> Kind:
        """The kind of listing of the path."""
        if self.kind is None:
            raise TypeError("this action is on no kind of listing")
        return self.kind

    @property
    def ref(self) -> str:
        """The ref of the listing that the call is on."""
        return self.listing_kind.ref(self.ids[0])

    def user_id(self, at: int = 0) -> str:
        """Return the id of the user in the path. Raises Invalid, because the user may be unknown here.

        Args:
            at: the number of the id in the path.
        """
        its_id = self.ids[at]
        if not is_snowflake(its_id):
            raise Invalid({"id": Fault("no_snowflake")})
        return its_id

    def with_id(self, second_id: str) -> "Call":
        """Return the call of an action whose path has an id behind that of the listing."""
        return replace(self, ids=(self.ids[0], second_id))

    def rechecked(self) -> "Call":
        """Return the call as of now, after an await and before a commit. Raises the refusal of a caller who
        has lost the access."""
        self.still_allowed()
        return replace(self, now_ms=self.tools.clock.now_ms())

    async def commit(self, events: Sequence[Event], view: Callable[[], M]) -> M:
        """Commit, and return the view once the record is durable. Raises Unavailable.

        The view is made before the wait: afterwards the state may hold more than this change.
        """
        ledger = self.tools.ledger
        position = ledger.commit(events)
        made = view()
        await ledger.durable(position)
        return made


@dataclass(frozen=True)
class Access:
    """The access that a person needs, for an action or a page. The operator needs none.

    Args:
        right: the right on the listing; None if it takes none.
        fresh: true if the person must have signed in within the last hour.
        unless: the act whose quarantine shuts the person out.
    """

    right: Right | None = None
    fresh: bool = False
    unless: QuarantinedAct | None = None


class Option(NamedTuple):
    """A field of the form on the command line: an option, or without `flag` an argument.

    Args:
        argument: the name of the argument, if it is another one than that of the field.
        reads: how it is written: "file" is the name of a file, and "texts" an option that may be repeated.
    """

    flag: str = ""
    argument: str = ""
    reads: Literal["text", "seconds", "file", "texts"] = "text"
    default: str | None = None
    help: str | None = None


class Command(NamedTuple):
    """The command of an action behind `admin`. The ids of its path are its first arguments.

    Args:
        words: such as "keys issue"; with `{kind}`, each kind has a command of its own.
        help: the text of `--help`; without one it is the summary.
        options: the fields of the form, by name. An id of the path may be among them, to name its argument.
        loses: the question that is asked first, if something is lost; a mapping if the kinds differ. It may
            name the ids of the path.
    """

    words: str
    help: str = ""
    options: Mapping[str, Option] = {}
    loses: str | Mapping[str, str] = ""


@dataclass(frozen=True, kw_only=True)
class Action(Generic[F, V]):
    """A row of the table.

    Args:
        name: the operation's id, of which clients make the names of functions.
        run: the function; it gets None if there is no form.
        form: the type of the body, or of the query of a GET; a mapping if each kind has its own.
        view: the type of the answer; a mapping if each kind has its own.
        path: the path of the management API, with `{id}` and other ids.
        finds: looks up what the path names, before the form is read. Without it, that is the listing, if any.
        of: the part that a kind must have; None for all kinds.
        about: more than the summary; a mapping if the kinds differ.
        outcome: a sentence on what a success means; a mapping if the kinds differ.
        refuses: the codes of the refusals that the function may raise.
        status: the status of a success.
    """

    name: str
    run: Callable[["Call", F], V | Awaitable[V]]
    form: type[F] | Mapping[str, type[F]] | None = None
    view: type[V] | Mapping[str, type[V]]
    access: Access
    method: Method
    path: str
    finds: Callable[["Call"], object] | None = None
    of: PartName | None = None
    tag: str
    summary: str
    about: str | Mapping[str, str] = ""
    outcome: str | Mapping[str, str]
    refuses: tuple[RefusedFor, ...] = ()
    status: int = 200
    command: Command


AnyAction = Action[Any, Any]


class Operation(NamedTuple):
    """An action on one kind of listing, or on none: what a route, a document and a command see of it."""

    action: AnyAction
    kind: Kind | None

    @property
    def name(self) -> str:
        """The operation's id. One that names no kind is that of the first kind which has the part."""
        name, kind = self.action.name, self.kind
        if "{Thing}" not in name and kind is not None:
            first = next(each for each in KINDS if each.has(self.action.of))
            name += "Of{Thing}" if kind is not first else ""
        return self._said(name)

    @property
    def path(self) -> str:
        return self._said(self.action.path)

    @property
    def summary(self) -> str:
        return self._said(self.action.summary)

    @property
    def about(self) -> str:
        return self._said(self._own(self.action.about))

    @property
    def outcome(self) -> str:
        return self._said(self._own(self.action.outcome))

    @property
    def command(self) -> str:
        return self._said(self.action.command.words)

    @property
    def help(self) -> str:
        return self._said(self.action.command.help)

    @property
    def loses(self) -> str:
        return self._said(self._own(self.action.command.loses))

    @property
    def form(self) -> type[Any] | None:
        form: type[Any] | None = self._own(self.action.form)
        return form

    @property
    def view(self) -> type[Success]:
        view: type[Success] = self._own(self.action.view)
        return view

    @property
    def is_on_listing(self) -> bool:
        """True if the first id of the path is that of a listing."""
        return "/{kind}/{id}" in self.action.path

    def _own(self, value: Any) -> Any:
        return value[str(self.kind)] if isinstance(value, Mapping) else value

    def _said(self, text: str) -> str:
        kind = self.kind
        if kind is None:
            return text
        named = {"{kind}": kind.plural, "{thing}": kind.singular, "{Thing}": kind.title}
        for place, name in named.items():
            text = text.replace(place, name)
        return text


def operations(actions: Sequence[AnyAction]) -> tuple[Operation, ...]:
    """Return the actions of a group for each kind that has them, kind by kind."""
    of_none = [Operation(action, None) for action in actions if "{kind}" not in action.path]
    of_kinds = [
        Operation(action, kind)
        for kind in KINDS
        for action in actions
        if "{kind}" in action.path and kind.has(action.of)
    ]
    return (*of_none, *of_kinds)
