"""The tools of actions. Invariant: an action takes the time, ids and random bytes from here alone."""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import UNSET, UnsetType

from core.clock import Clock
from core.ledger import Ledger
from core.rows import InviteCheck, TemplateCheck
from core.webhook_events import NewDeliveries
from forms.file_fields import Decoded, FileRef, Files
from kinds.kind import Kind, PartName
from kinds.registry import kind_of
from listings.keys import KeyDigester
from listings.ownership import Ownership
from listings.rules import EditsShown
from listings.stats_problems import StatsProblems
from listings.unique_values import UniqueValues
from listings.webhooks import WebhookPolicy
from people.permissions import Moderators
from people.user_sessions import Sessions
from votes.queries import Searches


class InviteQuestions(Protocol):
    """The questions about invites to the chat platform."""

    async def ask(self, server_id: str, code: str) -> InviteCheck | None:
        """Return the platform's answer about an invite to a server; None while it gives none."""

    def ask_soon(self, ref: str) -> None:
        """Ask about the invite of a listing again, before the day of its last answer is over."""


class KeptFiles(Protocol):
    """The store of files."""

    async def put(self, content: bytes, facts: FileRef, user_id: str) -> FileRef:
        """Keep a file that a user has uploaded. Raises Invalid if the user has too many, and Unavailable."""

    async def ref(self, digest: str) -> FileRef | None:
        """Return the facts of a file that is kept."""

    async def get(self, digest: str) -> bytes | None:
        """Return the bytes of a file that is kept."""

    def forget_sender(self, user_id: str) -> None:
        """Forget who has sent the files that no listing names yet. They are removed as before."""


class TemplateQuestions(Protocol):
    """The questions about templates of servers to the chat platform."""

    async def ask(self, code: str) -> tuple[TemplateCheck, str | None] | None:
        """Return the answer, and the user who made the template; None while the platform gives none."""

    async def look(self, code: str) -> tuple[TemplateCheck, str | None]:
        """Return the same. Raises PlatformAway while the platform gives no answer."""


@dataclass(frozen=True)
class Tools:
    """The objects that actions work with. `new_id()` makes ids; `random(n)` gives n random bytes.

    `claims` and `pseudonym` are a fleet's: outside of one there are no claims, and pseudonyms are empty.
    `tells_owners` is true if owners get a message about each decision. `keeps_email` is true if users may
    choose to get mails. `edits` says which version of an
    edited listing the public sees.
    """

    ledger: Ledger
    clock: Clock
    digester: KeyDigester
    new_id: Callable[[], str]
    random: Callable[[int], bytes]
    window_ms: int
    cooldown_ms: int
    keys_per_listing: int
    webhooks: WebhookPolicy
    expecting: Callable[[str], AbstractContextManager[Callable[[], Awaitable[None]]]]
    """Takes the id of a delivery, or the ref of a listing for any attempt to its endpoint. Returns a context
    whose function waits for the first attempt since its start, up to a limit."""
    searches: Searches
    problems: StatsProblems
    missing_count: Callable[[str], str | None]
    """Returns why a bot's actual server count cannot be known and what to do; None if nothing is missing."""
    moderators: Moderators
    sessions: Sessions
    ownership: Ownership
    """The listings of each user, and those that wait for a decision."""
    unique: UniqueValues
    kinds: tuple[Kind, ...]
    """The kinds of listings that this gateway offers. Rows of others are kept, but nobody sees them."""
    claims: Callable[[str, str, int], AbstractAsyncContextManager[None]] | None = None
    """Takes a listing, a user and the time. Returns a context in which this node alone may take the vote.

    An exception in the context gives the claim back. Otherwise the claim lasts until the user may vote again.
    Raises VotedTooSoon.
    """
    pseudonym: Callable[[str], str] = lambda _: ""
    tells_owners: bool = False
    keeps_email: bool = False
    edits: EditsShown = "after"
    denied_tags: frozenset[str] = frozenset()
    """The tags that no listing may get, as `tag_of` spells them."""
    in_slices: Callable[[Iterable[None]], Awaitable[None]] = field(kw_only=True)
    """Does long work slice by slice, with other requests between them."""
    vote_pseudonym: Callable[[str, str], str] = field(kw_only=True)
    """Returns the pseudonym of a listing and a user, as core/fleet_table.py keeps it."""
    files: KeptFiles = field(kw_only=True)
    decode: Callable[[bytes, Files], Awaitable[Decoded]] = field(kw_only=True)
    """Reads a file by the rules of its field. Raises Invalid for a file that breaks one, and Refusal
    (`file_not_read`) if the reader fails."""
    count_upload: Callable[[str], None] = lambda _: None
    """Counts an upload of a user. Raises TooManyRequests for one too many."""
    upload_bytes: int = 8 << 20
    """The size of the largest body with files."""
    invites: InviteQuestions | None = None
    """None for a gateway that does not ask the chat platform."""
    is_member: Callable[[str, str], Awaitable[bool]] | None = None
    """Returns true if the chat platform says that a user is in a server; false if it says no, or cannot say.
    None for a gateway that does not ask it."""
    without: frozenset[PartName] = frozenset()
    """The parts of kinds that this gateway does not offer. Their rows are kept, but nobody sees them."""
    templates: TemplateQuestions | None = None
    """None for a gateway that does not ask the chat platform."""

    def new_deliveries(self) -> NewDeliveries:
        """Return a maker of deliveries for events of listings."""
        return NewDeliveries(self.new_id, self.webhooks.pending_most(self.ledger.state))

    def offers(self, kind: Kind, part: PartName) -> bool:
        """Return true if listings of a kind have a part here."""
        return kind.has(part) and part not in self.without

    def hint(self, ref: str) -> str | UnsetType:
        """Return why the first push of server_count would be answered 500; UNSET if it would not.

        Listings of a kind without pushes get no hint.
        """
        missing = self.missing_count(ref) if kind_of(ref).has("stats") else None
        return UNSET if missing is None else missing
