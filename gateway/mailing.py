"""The builder of e-mails. No logic. It is imported only if the settings name a mail server."""

import secrets
from collections.abc import Awaitable, Callable
from email.headerregistry import Address
from functools import partial

from gateway.store import Runtime, Store
from grammars.http_urls import read_url
from handlers.late import Late
from languages.language_names import LANGUAGES, Language
from listings.ownership import Ownership
from mail.mail_notifier import MailNotifier
from mail.mail_server import MailAccess, MailServer
from mail.mail_text import Letterhead, Say
from pages.account.mails import unsubscribe_seal, unsubscribe_url
from people.permissions import Moderators
from settings.model import MailSettings
from web.localization import localization
from webhook.attempts import RetryPolicy


def mail_notifier(runtime: Runtime, store: Store, ownership: Ownership, retries: RetryPolicy) -> MailNotifier:
    settings, clock = runtime.settings, runtime.clock
    public_url = settings.web.public_url or ""
    access = mail_access(settings.mail, public_url, settings.site.name)
    seal = unsubscribe_seal(store.secrets.digest.encode(), secrets.token_bytes)
    head = Letterhead(
        settings.site.name,
        public_url,
        lambda user_id: unsubscribe_url(public_url, seal, user_id, clock.now_ms()),
        _speaking(),
    )
    moderators = Moderators(store.ledger.state, frozenset(settings.web.moderators))
    server = MailServer(access, clock)
    return MailNotifier(store.ledger, ownership, moderators.has, server, retries, head, clock)


def mail_access(mail: MailSettings, public_url: str, site_name: str) -> MailAccess:
    password = mail.password
    return MailAccess(
        mail.host or "",
        mail.port,
        mail.tls,
        mail.username,
        password.get_secret_value() if password is not None else None,
        Address(site_name, addr_spec=mail.from_address),
        read_url(public_url).host,
        mail.timeout_seconds,
    )


def _speaking() -> Callable[[Language], Awaitable[Say]]:
    """Return a function that loads the texts of a language, in a thread."""
    known = {language: Late(partial(localization, language)) for language in LANGUAGES}

    async def speaking(language: Language) -> Say:
        return (await known[language].get()).say

    return speaking
