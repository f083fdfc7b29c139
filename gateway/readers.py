"""Every reader of the log, in one list. Invariant: nothing else in the program subscribes to the log.

`Ledger.commit` tells each reader of a record when all its events are applied. A reader neither commits nor
changes the state, so every reader finds the state that the whole record has left. The order is the order in
which effects begin. A bug in a reader keeps the record from the readers behind it, unless that reader is an
observer (`serving/observers.py`):

1. The outbox is first, because a vote that it misses reaches no owner before the next start.
2. `SuspensionLog` logs a suspension right behind the outbox that takes it into account. `OwnerNotifier`,
   `ReminderNotifier` and `MailNotifier` come next: they send, too.
3. The searches come before anything that answers requests: no erasure may leave a voter behind.
4. `KeptPages` drops answers that are wrong now. The public endpoints forget buckets of what was removed and
   count what other nodes counted.
5. The fleet is told last of all that acts: it captures facts as they are after the record. `Forgetting`
   and `Identity` are beside it, because a copy or a new epoch concerns the same records.
6. `Ownership` remembers who owns listings, `BlobNames` which files they name, and `UniqueValues` which
   values are taken; `LostValues` hears of merges behind it. `FailingEndpoints`, `JournalTail`, the security
   log, `UseTally`, `AttemptTally` and `MessageTally` are observers, as `SuspensionLog` and `SearchIndex`
   are: they only remember, tell or count what pages and the operator may ask for.
7. `PlatformCounts` notes whose server counts to ask for. `PeopleReaders` remember what pages for people show,
   and `SearchIndex` among them notes listings that its thread has to read again.
8. `AttemptWatch` wakes requests that wait for an attempt, so it comes when everyone else knows of it. In
   front of it, `Watching` tells a developer (`votegate dev`).

When records become durable, the senders wake before the publisher: owners wait for a
webhook or a message, other nodes only lag. Streams of votes come last: they read from disk what is durable.
"""

from collections.abc import Callable

from core.ledger import Reader
from gateway.parts import Parts
from watchers import security_log


def subscribe(parts: Parts) -> None:
    """Subscribe every reader. Runs once, before the first commit that one of them is to hear of."""
    for on_record in _of_records(parts):
        parts.store.ledger.subscribe(on_record)
    for wake in _of_durability(parts):
        parts.store.journal.on_durable(wake)


def _of_records(parts: Parts) -> list[Reader]:
    delivery, api, measured = parts.delivery, parts.api, parts.measured
    observing = parts.runtime.observers.calling
    fleet, people, counts = parts.fleet.readers, parts.sites.readers, parts.egress.asked_counts
    watching = parts.runtime.watching
    return [
        delivery.webhooks.on_record,
        observing("suspension_log", delivery.suspensions.on_record),
        *(each.on_record for each in delivery.direct_messages),
        *([delivery.mails.on_record] if delivery.mails else []),
        parts.searches.on_record,
        parts.kept.on_record,
        api.public.on_record,
        *([fleet.forgetting.on_record, fleet.outgoing.on_record, fleet.identity.on_record] if fleet else []),
        *([fleet.siblings.on_record] if fleet and fleet.siblings else []),
        observing("failing_endpoints", measured.failing.on_record),
        api.managed.ownership.on_record,
        parts.store.blob_names.on_record,
        api.managed.unique.on_record,
        *([api.lost_values.on_record] if fleet else []),
        observing("journal_tail", measured.tail.on_record),
        observing("security_log", security_log.on_record),
        observing("use_tally", measured.votes.on_record),
        observing("attempt_tally", measured.attempts.on_record),
        *([observing("message_tally", measured.messages.on_record)] if delivery.has_messages else []),
        *([counts.on_record] if counts else []),
        *([people.voted.on_record, people.catalogue.on_record, people.notices.on_record] if people else []),
        *([observing("search_index", people.index.on_record)] if people else []),
        *([observing("watching", watching.on_record)] if watching else []),
        api.watch.on_record,
    ]


def _of_durability(parts: Parts) -> list[Callable[[], None]]:
    fleet, delivery = parts.fleet.readers, parts.delivery
    return [
        delivery.webhooks.on_durable,
        *(each.on_durable for each in delivery.direct_messages),
        *([delivery.mails.on_durable] if delivery.mails else []),
        *([fleet.publisher.wake] if fleet else []),
        parts.api.feed.wake,
    ]
