"""The due mails of a user. They follow from the listings and from earlier mails, and are not kept.

    decisions   the newest decision of somebody else on a listing; a later one replaces it
    webhooks    the suspension of an endpoint: one mail a day for each listing at most
    reports     new reports of visitors, for moderators: one mail an hour at most, on all listings

`about_ms` names a mail: it is the time of the decision, of the suspension, or of the newest report.
"""

from typing import NamedTuple

from core.actors import Actor, user_actor, user_of
from core.clock import MS_PER_DAY
from core.rows import AuditAction, AuditEntry, Listing, Suspension
from core.state import State
from core.user_changes import mailed_ms
from core.user_rows import MailSent, MailTopic, UserRow

OF_LISTINGS: tuple[MailTopic, ...] = ("decisions", "webhooks")
"""The topics with separate mails for each listing."""
DECISIONS: frozenset[AuditAction] = frozenset(
    {"approved", "denied", "withdrawn", "change_agreed", "change_refused"}
)


REPORTS_EVERY_MS = 3_600_000
"""The shortest time between two mails about reports."""
SHOWN_REPORTED = 10
"""The reported listings that a mail names."""


class MailKey(NamedTuple):
    """A user, by ref, a topic, and a listing. `listing` is empty for reports: one mail is about all."""

    user: str
    topic: MailTopic
    listing: str


class OpenReports(NamedTuple):
    """The number of listings with open reports, and the names of the most recently reported."""

    listings: int
    names: tuple[str, ...]


Content = AuditEntry | Suspension | OpenReports


class DueMail(NamedTuple):
    """A mail that is due at `due_ms`, with its content as of now. `sent` has its attempts so far."""

    about_ms: int
    due_ms: int
    content: Content
    sent: MailSent | None


def due_mail(state: State, key: MailKey) -> DueMail | None:
    """Return the next mail to a user on a topic and a listing; None if there is none to send.

    The caller checks that only moderators get mails about reports.
    """
    user = state.users.get(key.user)
    if user is None or key.topic not in user.mailed_topics:
        return None
    if key.topic == "reports":
        return _due_report(state, user)
    if key.listing not in state.listings:
        return None
    row = state.listings.peek(key.listing)
    if user.id not in (row.owner_id, *row.extra_owners):
        return None
    before = user.mail_sent(key.topic, key.listing)
    if key.topic == "decisions":
        act = _last_decision(row, user_actor(user.id))
        if act is None or act.at_ms <= _joined_ms(row, user.id):
            return None
        return _due(user, before, act.at_ms, act.at_ms, act)
    suspension = row.webhook.suspension if row.webhook is not None else None
    if suspension is None:
        return None
    earliest_ms = before.about_ms + MS_PER_DAY if before is not None else 0
    return _due(user, before, suspension.since_ms, max(suspension.since_ms, earliest_ms), suspension)


def _due(
    user: UserRow, before: MailSent | None, about_ms: int, due_ms: int, content: Content
) -> DueMail | None:
    if before is not None and before.about_ms == about_ms:
        next_ms = before.next_attempt_ms
        return DueMail(about_ms, next_ms, content, before) if next_ms is not None else None
    is_told = about_ms <= mailed_ms(user) or (before is not None and about_ms < before.about_ms)
    return None if is_told else DueMail(about_ms, due_ms, content, None)


def _due_report(state: State, user: UserRow) -> DueMail | None:
    newest = sorted(
        (
            (reports[-1].at_ms, ref)
            for ref, reports in state.listings.reported.items()
            if user.id not in state.listings.brief(ref).owners  # another moderator decides about it
        ),
        reverse=True,
    )
    if not newest:
        return None
    names = tuple(state.listings[ref].profile.name for _, ref in newest[:SHOWN_REPORTED])
    before, about_ms = user.mail_sent("reports", ""), newest[0][0]
    if before is None:
        due_ms = about_ms
    elif before.next_attempt_ms is not None:
        due_ms = before.next_attempt_ms  # this mail replaces the waiting one
    else:
        due_ms = max(about_ms, before.about_ms + REPORTS_EVERY_MS)
    return _due(user, before, about_ms, due_ms, OpenReports(len(newest), names))


def _last_decision(row: Listing, actor: Actor) -> AuditEntry | None:
    """Return the last decision on a listing, unless the actor has made it."""
    act = next((each for each in reversed(row.audit_log) if each.action in DECISIONS), None)
    return act if act is not None and act.by != actor else None


def _joined_ms(row: Listing, user_id: str) -> int:
    """Return when a user became an owner, as far as is known. Earlier decisions were for others."""
    joined = (each.joined_ms for each in row.co_owners if user_of(each.user) == user_id)
    passed_on = (act.at_ms for act in row.audit_log if act.action in {"handed_over", "taken_over"})
    return max((each for each in (*joined, *passed_on) if each is not None), default=0)
