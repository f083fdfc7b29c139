"""Every reader of the log, in one list. Invariant: nothing else in the program subscribes to the log.

`Ledger.commit` tells each reader of a record when all its events are applied. A reader neither commits nor
changes the state, so every reader finds the state that the whole record has left. The order is the order in
which effects begin. A bug in a reader keeps the record from the readers behind it, unless that reader is an
observer (`serving/observers.py`):

1. The outbox is first, because a vote that it misses reaches no owner before the next start.
2. `SuspensionLog` logs a suspension right behind the outbox that takes it into account. `OwnerNotifier` and
   `ReminderNotifier` come next: they send, too.
3. The searches come before anything that answers requests: no erasure may leave a voter behind.
4. The public endpoints forget buckets of what was removed and count what other nodes counted.
5. The fleet is told last of all that acts: it captures facts as they are after the record. `Forgetting`
   and `Identity` are beside it, because a copy or a new epoch concerns the same records.
6. `Ownership` remembers who owns listings. `FailingEndpoints`, `JournalTail`, the security log, `VoteTally`,
   `AttemptTally` and `MessageTally` are observers, as `SuspensionLog` and `SearchIndex` are: they only
   remember, tell or count what pages and the operator may ask for.
7. `PlatformCounts` notes whose server counts to ask for. `PeopleReaders` remember what pages for people show,
   and `SearchIndex` among them notes listings that its thread has to read again.
8. `AttemptWatch` wakes requests that wait for an attempt, so it comes when everyone else knows of it.

When records become durable, the senders wake before the publisher: owners wait for a
webhook or a message, other nodes only lag. Streams of votes come last: they read from disk what is durable.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.ledger import Ledger, Reader
from direct_messages.owner_notifier import OwnerNotifier
from direct_messages.reminder_notifier import ReminderNotifier
from guild_counts.counts import PlatformCounts
from handlers.public import PublicApi
from handlers.vote_feed import VoteFeed
from journal.journal import Journal
from listings.ownership import Ownership
from serving.observers import Observers
from votes.numbers import VoteTally
from votes.queries import Searches
from watchers import security_log
from watchers.attempt_watch import AttemptWatch
from watchers.failing_endpoints import FailingEndpoints
from watchers.journal_tail import JournalTail
from webhook.attempt_tally import AttemptTally, MessageTally
from webhook.notifier import WebhookNotifier
from webhook.suspension_log import SuspensionLog

if TYPE_CHECKING:  # see fleet.py and sites.py
    from replication.copies import Forgetting
    from replication.epochs import Identity
    from replication.publisher import Outgoing, Publisher
    from search.catalogue import Catalogue
    from search.index import SearchIndex
    from votes.voted import VotedListings


@dataclass(frozen=True)
class FleetReaders:
    """The readers that a gateway has as a node of a fleet."""

    forgetting: "Forgetting"
    outgoing: "Outgoing"
    identity: "Identity"
    publisher: "Publisher"


@dataclass(frozen=True)
class PeopleReaders:
    """The readers that a gateway has with pages for people."""

    voted: "VotedListings"
    catalogue: "Catalogue"
    index: "SearchIndex"


@dataclass(frozen=True)
class Readers:
    """The readers of one gateway: `fleet` is None outside of a fleet, `counts` unless the chat platform is
    asked for server counts, and `people` without pages for people. `direct_messages` is empty without a bot
    token."""

    webhooks: WebhookNotifier
    suspensions: SuspensionLog
    direct_messages: Sequence[OwnerNotifier | ReminderNotifier]
    searches: Searches
    public: PublicApi
    fleet: FleetReaders | None
    failing: FailingEndpoints
    ownership: Ownership
    tail: JournalTail
    votes: VoteTally
    attempts: AttemptTally
    messages: MessageTally
    people: PeopleReaders | None
    watch: AttemptWatch
    feed: VoteFeed
    counts: PlatformCounts | None


def subscribe(readers: Readers, ledger: Ledger, journal: Journal, observers: Observers) -> None:
    """Subscribe every reader. Runs once, before the first commit that one of them is to hear of."""
    for on_record in _of_records(readers, observers):
        ledger.subscribe(on_record)
    for wake in _of_durability(readers):
        journal.on_durable(wake)


def _of_records(readers: Readers, observers: Observers) -> list[Reader]:
    fleet, people, observing = readers.fleet, readers.people, observers.calling
    return [
        readers.webhooks.on_record,
        observing("suspension_log", readers.suspensions.on_record),
        *(each.on_record for each in readers.direct_messages),
        readers.searches.on_record,
        readers.public.on_record,
        *([fleet.forgetting.on_record, fleet.outgoing.on_record, fleet.identity.on_record] if fleet else []),
        observing("failing_endpoints", readers.failing.on_record),
        readers.ownership.on_record,
        observing("journal_tail", readers.tail.on_record),
        observing("security_log", security_log.on_record),
        observing("vote_tally", readers.votes.on_record),
        observing("attempt_tally", readers.attempts.on_record),
        *([observing("message_tally", readers.messages.on_record)] if readers.direct_messages else []),
        *([readers.counts.on_record] if readers.counts else []),
        *([people.voted.on_record, people.catalogue.on_record] if people else []),
        *([observing("search_index", people.index.on_record)] if people else []),
        readers.watch.on_record,
    ]


def _of_durability(readers: Readers) -> list[Callable[[], None]]:
    return [
        readers.webhooks.on_durable,
        *(each.on_durable for each in readers.direct_messages),
        *([readers.fleet.publisher.wake] if readers.fleet else []),
        readers.feed.wake,
    ]
