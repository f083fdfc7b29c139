"""A mail server for tests: aiosmtpd, with TLS and a sign-in where a test wants them."""

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, NamedTuple

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.support.closed_servers import close_server

HOST = "127.0.0.1"
USERNAME, PASSWORD = "votegate", "a password of the mail server"


class Received(NamedTuple):
    """A mail that has arrived, with its envelope."""

    sender: str
    recipients: list[str]
    message: EmailMessage
    is_encrypted: bool
    is_signed_in: bool

    @property
    def text(self) -> str:
        return str(self.message.get_content())


class MailReceiver:
    """Keeps mails. `answers` are given to the next mails in place of an acceptance, and `refused` to the next
    recipients."""

    def __init__(self) -> None:
        self.port = 0
        self.mails: list[Received] = []
        self.answers: list[str] = []
        self.refused: list[str] = []
        self.hellos: list[str] = []

    async def handle_EHLO(  # noqa: N802 (the name that aiosmtpd calls)
        self, _: SMTP, session: Session, __: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        self.hellos.append(hostname)
        session.host_name = hostname
        return responses

    async def handle_RCPT(  # noqa: N802
        self, _: SMTP, __: Session, envelope: Envelope, address: str, ___: list[str]
    ) -> str:
        if self.refused:
            return self.refused.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.answers:
            return self.answers.pop(0)
        content = envelope.content
        assert isinstance(content, bytes)
        message = message_from_bytes(content, _class=EmailMessage, policy=policy.default)
        transport = server.transport
        is_encrypted = transport is not None and transport.get_extra_info("ssl_object") is not None
        self.mails.append(
            Received(
                str(envelope.mail_from), envelope.rcpt_tos, message, is_encrypted, bool(session.authenticated)
            )
        )
        return "250 OK"


def _known(_: SMTP, __: Session, ___: Envelope, ____: str, sent: Any) -> AuthResult:
    good = isinstance(sent, LoginPassword) and (sent.login, sent.password) == (
        USERNAME.encode(),
        PASSWORD.encode(),
    )
    return AuthResult(success=good, handled=good)


@contextmanager
def receiving_mail(
    *,
    starttls: ssl.SSLContext | None = None,
    tls: ssl.SSLContext | None = None,
    asks_sign_in: bool = False,
    make: Callable[[], MailReceiver] = MailReceiver,
) -> Iterator[MailReceiver]:
    """Serve in a thread of its own: a `Controller` of aiosmtpd cannot choose a free port."""
    receiver, loop = make(), asyncio.new_event_loop()
    signing_in: dict[str, Any] = {
        "authenticator": _known,
        "auth_required": True,
        "auth_require_tls": starttls is not None,
    }

    def connected() -> SMTP:
        return SMTP(
            receiver,
            hostname="mail.example",
            tls_context=starttls,
            require_starttls=starttls is not None,
            loop=loop,
            **(signing_in if asks_sign_in else {}),
        )

    server = loop.run_until_complete(loop.create_server(connected, HOST, 0, ssl=tls))
    receiver.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield receiver
    finally:
        asyncio.run_coroutine_threadsafe(_end_all(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end_all(server: asyncio.Server) -> None:
    """End the tasks of connections that are still open."""
    await close_server(server)
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
