"""The texts of mails. Each says what happened, why, and which page to open next.

Invariant: a subject is one line, whatever names are in it. `mail_server` makes the headers of a mail.
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from core.rows import AuditEntry, Listing, Suspension
from core.user_rows import USERS, UserRow
from languages.language_names import DEFAULT_LANGUAGE, Language, language_of
from languages.texts import Text, Words
from mail.due_mails import Content, DueMail, MailKey, OpenReports
from webhook.chat import plain_line

MOST_NAME, MOST_REASON = 100, 4_000  # characters
Say = Callable[[Words], str]
"""Translates a text into one language."""


class Mail(NamedTuple):
    """A mail. All attempts at it have the same `key`, which its Message-ID contains. `unsubscribe_url` is the
    page that turns off all mails to the user."""

    to: str
    subject: str
    text: str
    key: str
    unsubscribe_url: str


class Letterhead(NamedTuple):
    """The parts that all mails have.

    Args:
        site_name: the platform's own name.
        public_url: where the pages are.
        unsubscribe_url: returns the address of the page on which a user, by id, turns mails off.
        speaking: loads the texts of a language.
    """

    site_name: str
    public_url: str
    unsubscribe_url: Callable[[str], str]
    speaking: Callable[[Language], Awaitable[Say]]


class _Said(NamedTuple):
    """The content of a mail. `page` is a path."""

    subject: Text
    paragraphs: list[Words]
    go_on: Text
    page: str


def mail_to(
    address: str, listing: Callable[[], Listing], key: MailKey, due: DueMail, head: Letterhead, say: Say
) -> Mail:
    """Return a mail to a user at an address.

    Args:
        listing: returns the listing that the mail is about, if it is about one.
        say: translates into the user's language.
    """
    said = _said(listing, due.content)
    unsubscribe_url = head.unsubscribe_url(key.user.removeprefix(USERS))
    subject = plain_line(f"{say(said.subject)} · {head.site_name}")
    foot = Text(
        "You chose to get e-mails from {site}: {page}\nOne click turns them off: {unsubscribe}",
        site=head.site_name,
        page=f"{head.public_url}/me/notices",
        unsubscribe=unsubscribe_url,
    )
    go_on = f"{say(said.go_on)}\n{head.public_url}{said.page}"
    text = "\n\n".join((*map(say, said.paragraphs), go_on, f"-- \n{say(foot)}")) + "\n"
    about = f"{key.user} {key.topic} {key.listing} {due.about_ms}"
    digest = hashlib.blake2b(about.encode(), digest_size=16).hexdigest()
    return Mail(address, subject, text, digest, unsubscribe_url)


def language_for(user: UserRow) -> Language:
    """Return the language of the page on which the user turned mails on, or else that of the account."""
    chosen = user.mail.language if user.mail is not None else None
    account = language_of(user.profile.locale or "") if user.profile is not None else None
    return chosen or account or DEFAULT_LANGUAGE


def _said(listing: Callable[[], Listing], content: Content) -> _Said:
    if isinstance(content, OpenReports):
        return _reported(content)
    if isinstance(content, Suspension):
        return _suspended(listing(), content)
    return _decided(listing(), content)


def _name(row: Listing) -> str:
    return plain_line(row.profile.name)[:MOST_NAME] or row.id


def _decided(row: Listing, act: AuditEntry) -> _Said:
    name, page = _name(row), f"/{row.ref}/manage"
    reason: list[Words] = [act.about[:MOST_REASON]] if act.about else []
    match act.action:
        case "approved":
            what = Text("{listing} is listed now. Everybody can find it.", listing=name)
            return _Said(Text("{listing} is approved", listing=name), [what], Text("Its page for you:"), page)
        case "change_agreed":
            what = Text("A moderator approved your change to {listing}. Everybody sees it now.", listing=name)
            subject = Text("Your change to {listing} is approved", listing=name)
            return _Said(subject, [what], Text("Its page for you:"), page)
        case "change_refused":
            what = Text(
                "A moderator refused your change to {listing}. The previous version stays.", listing=name
            )
            subject = Text("Your change to {listing} is refused", listing=name)
            return _Said(subject, [what, *reason], Text("Change it again:"), page)
        case "withdrawn":
            what = Text("{listing} is not listed any more: its approval was withdrawn.", listing=name)
            subject = Text("The approval of {listing} is withdrawn", listing=name)
            return _Said(subject, [what, *reason], Text("Fix it and send it again:"), page)
        case _:
            what = Text("A moderator looked at {listing} and denied it.", listing=name)
            subject = Text("{listing} is denied", listing=name)
            return _Said(subject, [what, *reason], Text("Fix it and send it again:"), page)


def _suspended(row: Listing, suspension: Suspension) -> _Said:
    name = _name(row)
    what = Text(
        "The webhook of {listing} keeps failing, so it is suspended. The last error was “{error}”.",
        listing=name,
        error=suspension.reason,
    )
    next_step = Text("Nothing is lost: votes wait, and are sent as soon as the webhook works again.")
    subject = Text("The webhook of {listing} fails", listing=name)
    return _Said(
        subject, [what, next_step], Text("See what failed, and send a test:"), f"/{row.ref}/manage/webhook"
    )


def _reported(reports: OpenReports) -> _Said:
    names = (plain_line(name)[:MOST_NAME] for name in reports.names)
    listed = "\n".join(f"* {name}" for name in names if name)
    what = Text("Users have reported listings. Listings with open reports: {count}", count=reports.listings)
    return _Said(Text("New reports"), [what, listed], Text("Look at them:"), "/review?show=reported")
