"""An action: one function, and a row that says everything else about it.

    async def issue(call: Call, form: KeyName) -> IssuedKey: ...

    ISSUE_KEY = Action(name="issueKey", run=issue, ...)

The function reads the state, calls a rule, and commits. The types of its form and of its view are those of
the API. It does not know who asked it: the management API, a page or a test. So three things are not in an
action:

* The right of the caller. The row names it (`Access`), and the API or the page checks it first. The operator
  has every right.
* A guard of one page, such as the limit of presses on the vote button. It belongs to the page's `Post`
  (pages/page.py), which may run a function of its own around the action's.
* The look of the answer. The function returns a view; the API encodes it, and a page shows it.

A function that awaits anything before its commit, such as the chat platform, goes on with
`call.rechecked()`, and does not await again before it commits: the session may have ended in the meantime.

Texts of a row may name a kind: `{kind}` is "bots", `{thing}` "bot", `{Thing}` "Bot", and `{tally}` "votes" or
"likes". `a {thing}` may become "an emoji". A row whose path has `{kind}` is one action for
each kind that has the part `of`.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, get_origin

from msgspec import Struct
from msgspec.structs import replace

from actions.tools import Tools
from actions.views import Success
from core.actors import Actor
from core.events import Event
from core.finished import finished
from core.state import State
from core.user_rows import QuarantinedAct, user_ref
from grammars.patterns import is_snowflake
from kinds.kind import Kind, PartName
from kinds.registry import KINDS
from languages.refusals import Invalid, Refusal
from languages.said import Code, Fault
from listings.rules import listing_of
from people.permissions import Right

RefusedFor = (
    Code
    | Literal[
        "invalid_id", "invalid_act", "invalid_query", "invalid_file", "upload_too_large", "owner_quarantined"
    ]
)
"""A code, or the name of one more example of a code: `invalid_fields` of a path or a query, and `quarantined`
for another act."""
F = TypeVar("F")
V = TypeVar("V", bound=Success)
M = TypeVar("M")


class Call(Struct, frozen=True):
    """One call of an action: who calls, when, on what, and with which tools.

    Args:
        now_ms: the time of the call, read once (Unix ms).
        kind: the kind of the listing; None for an action that is on none.
        ids: the ids of the path, in its order. For an action on a listing, the first is the listing's.
        still_allowed: raises a refusal if the caller has lost the access since the call began, which the
            operator never does.
        content: the file in the body, for an action that takes one.
    """

    tools: Tools
    by: Actor
    now_ms: int
    kind: Kind | None = None
    ids: tuple[str, ...] = ()
    still_allowed: Callable[[], None] = lambda: None
    content: bytes = b""

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

    def known_user_id(self) -> str:
        """Return the id of the user in the path, who has a row, or moderates by the settings.

        Raises Refusal, and Invalid as `user_id`.
        """
        its_id = self.user_id()
        if user_ref(its_id) not in self.state.users and not self.tools.moderators.has(its_id):
            raise Refusal("no_such_user")
        return its_id

    def with_id(self, second_id: str) -> "Call":
        """Return the call of an action whose path has a second id, behind the listing's."""
        return replace(self, ids=(self.ids[0], second_id))

    def rechecked(self) -> "Call":
        """Return the call with the time of now, after an await and before a commit.

        Raises a refusal if the caller has lost the access.
        """
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

    async def done(self, events: Sequence[Event]) -> Success:
        """Commit, and return a success that says no more. Raises Unavailable."""
        return await self.commit(events, Success)


@dataclass(frozen=True)
class Access:
    """The access that a person needs, for an action or a page. The operator needs none.

    Args:
        right: the right on the listing; None if it takes none.
        fresh: true if the person must have signed in within the last hour.
        unless: what the person must not be under a quarantine for.
    """

    right: Right | None = None
    fresh: bool = False
    unless: QuarantinedAct | None = None


class Option(NamedTuple):
    """A field of the form on the command line: an option, or without `flag` an argument.

    Args:
        argument: the name of the argument, if it is not the field's; in brackets if it may be left out.
        reads: how it is written: "file" is the name of a file, "texts" an option that may be repeated, "past"
            a time or how long ago it was. Two need no flag: "users" are arguments, or in a file, and "end" is
            a time or how long from now.
        choices: the texts that it may be, if not every text.
        needed: true if the command must get it. An argument always must, but for users and
            one in brackets.
    """

    flag: str = ""
    argument: str = ""
    reads: Literal["text", "texts", "number", "file", "flag", "seconds", "past", "users", "end"] = "text"
    choices: tuple[str, ...] = ()
    default: str | None = None
    needed: bool = False
    help: str = ""


class Command(NamedTuple):
    """The command of an action behind `admin`. The ids of its path are its first arguments.

    Args:
        words: such as "keys issue"; with `{kind}`, each kind has a command of its own.
        help: the text of `--help`; without one it is the summary, an imperative phrase.
        options: the fields of the form, by name. An id of the path may be among them, to name its argument or
            its choices.
        loses: the question that is asked first, if something is lost; a mapping if the kinds differ. It may
            name the ids of the path; or, if the form has `dry_run`, the fields of the answer to a dry run.
        is_whole: true if it shows all pages of a list.
    """

    words: str
    help: str = ""
    options: Mapping[str, Option] = {}
    loses: str | Mapping[str, str] = ""
    is_whole: bool = False


@dataclass(frozen=True, kw_only=True)
class Action(Generic[F, V]):
    """A row of the table.

    Args:
        name: the operation's id, of which clients make the names of functions.
        run: the function. The type of its form is that of the body, or of the query of a GET; None if the
            action has no form. Where each kind has its own, it is `Annotated` with all of them, by kind.
        access: the access that a person needs.
        route: the method and the path of the management API, with `{id}` and other ids.
        finds: looks up what the path names, before the form is read. Without it, a listing is looked up, and
            the id of a user must be a snowflake.
        of: the part that a kind must have; None for all kinds.
        about: one to three sentences on what happens; a mapping if the kinds differ. Pages of the operator
            show it as plain text before they ask for a confirmation.
        outcome: a noun phrase that names the answer of a success; a mapping if the kinds differ.
        refuses: the codes of the refusals that the function may raise. `Operation.refusals` adds those that
            follow from the path and the commit.
        status: the status of a success.
        takes_file: true if the body is a file (`Call.content`). The form is the query then.
    """

    name: str
    run: Callable[["Call", F], V | Awaitable[V]]
    access: Access = Access()
    route: str
    finds: Callable[["Call"], object] | None = None
    of: PartName | None = None
    summary: str
    about: str | Mapping[str, str] = ""
    outcome: str | Mapping[str, str]
    refuses: tuple[RefusedFor, ...] = ()
    status: int = 200
    takes_file: bool = False
    command: Command

    @property
    def is_query(self) -> bool:
        """True if the form is the query."""
        return self.method == "GET" or self.takes_file

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.route.partition(" ")[2]


AnyAction = Action[Any, Any]


class Operation(NamedTuple):
    """An action on one kind of listing, or on none, as a route, a document and a command see it.

    Args:
        form: the type of the body, or of the query of a GET; None if the action has no form.
        is_on_listing: true if the first id of the path is that of a listing.
        users: the numbers of the ids of users in the path.
    """

    action: AnyAction
    kind: Kind | None
    name: str
    path: str
    summary: str
    about: str
    outcome: str
    command: Command
    form: type[Any] | None
    view: type[Success]
    is_on_listing: bool
    users: tuple[int, ...]

    @property
    def refusals(self) -> tuple[RefusedFor, ...]:
        """The codes of the refusals that a call may get, but for those of a caller and of a form."""
        action = self.action
        of_ids: list[RefusedFor] = ["no_such_listing"] if self.is_on_listing else []
        of_ids += ["invalid_id"] if self.users else []
        of_ids += ["invalid_act"] if "{act}" in self.path else []
        commits = action.method != "GET" and iscoroutinefunction(action.run)  # a commit waits for the disk
        review = self.kind.review if self.kind is not None else None
        absent = {"too_many_waiting"} if review is None or review.most_waiting is None else set[str]()
        own = (each for each in action.refuses if each not in absent)
        return (*of_ids, *own, *(("unavailable",) if commits else ()))

    def find(self, call: Call) -> None:
        """Look up what the path names. Raises Refusal."""
        if self.action.finds is not None:
            self.action.finds(call)
            return
        if self.is_on_listing:
            listing_of(call.state, call.ref)
        for at in self.users:
            call.user_id(at)

    async def answer(self, call: Call, read_form: Callable[[type[Any]], Any]) -> Any:
        """Look up what the path names, read the form, and run the action. Return its view. Raises Refusal."""
        self.find(call)
        form = read_form(self.form) if self.form is not None else None
        return await finished(self.action.run(call, form))


def form_of(action: AnyAction, kind: Kind | None) -> type[Any] | None:
    """Return the type of an action's form for a kind, or None if it has no form."""
    _, declared, _ = action.run.__annotations__.values()
    form: type[Any] | None = _own_type(declared, kind)
    return form


def _own_type(declared: Any, kind: Kind | None) -> Any:
    """Return a type, or that of the kind if it is noted with the types of all kinds."""
    return declared.__metadata__[0][str(kind)] if get_origin(declared) is Annotated else declared


def _operation(action: AnyAction, kind: Kind | None) -> Operation:
    named = {}
    if kind is not None:
        named = {
            "a {thing}": kind.one,
            "{kind}": kind.plural,
            "{thing}": kind.singular,
            "{Thing}": kind.title,
        }
        named["{tally}"] = kind.tally or ""

    def said(text: str | Mapping[str, str]) -> str:
        own = text if isinstance(text, str) else text[str(kind)]
        for place, name in named.items():
            own = own.replace(place, name)
        return own

    command, ids = action.command, re.findall(r"\{(\w+)\}", action.path.replace("{kind}", ""))
    options = {name: each._replace(help=said(each.help)) for name, each in command.options.items()}
    is_on_listing = "/{kind}/{id}" in action.path
    return Operation(
        action,
        kind,
        name=said(_name_of(action, kind)),
        path=said(action.path),
        summary=said(action.summary),
        about=said(action.about),
        outcome=said(action.outcome),
        command=Command(
            said(command.words), said(command.help), options, said(command.loses), command.is_whole
        ),
        form=form_of(action, kind),
        view=_own_type(action.run.__annotations__["return"], kind),
        is_on_listing=is_on_listing,
        users=tuple(at for at, name in enumerate(ids) if name == ("user_id" if is_on_listing else "id")),
    )


def _name_of(action: AnyAction, kind: Kind | None) -> str:
    """Return the operation's id. One that names no kind is that of the first kind which has the part."""
    if kind is None or "{Thing}" in action.name:
        return action.name
    first = next(each for each in KINDS if each.has(action.of))
    return action.name + ("Of{Thing}" if kind is not first else "")


def operations(actions: Sequence[AnyAction]) -> tuple[Operation, ...]:
    """Return the actions of a group for each kind that has them, kind by kind."""
    of_none = [_operation(action, None) for action in actions if "{kind}" not in action.path]
    of_kinds = [
        _operation(action, kind)
        for kind in KINDS
        for action in actions
        if "{kind}" in action.path and kind.has(action.of)
    ]
    return (*of_none, *of_kinds)
