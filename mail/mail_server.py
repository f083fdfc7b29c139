"""The operator's mail server, as a transport of messages. It speaks SMTP (RFC 5321) with TLS.

A connection carries one mail, with one deadline for all of it: a server that hangs delays only other mails.
A certificate of another server is a failure. So is a server without TLS if the settings ask for TLS. An
answer of 500 to 599 about the recipient or the mail is final. Any other failure may pass, or the operator may
fix it: the mail is tried again.

`List-Unsubscribe-Post` lets mail programs offer one button that turns mails off (RFC 8058).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.policy import Policy
from typing import Literal, cast

from aiosmtplib import (
    SMTP,
    SMTPAuthenticationError,
    SMTPDataError,
    SMTPException,
    SMTPRecipientsRefused,
    SMTPResponseException,
    SMTPSenderRefused,
    SMTPTimeoutError,
)

from core.clock import Clock
from direct_messages.message_attempts import Failure, NotSent
from mail.mail_text import Mail


class _AsItIs(UnstructuredHeader, BaseHeader):
    """A header on one line. Python encodes a long word, such as a URL, and mail programs decode no URL."""

    def fold(self, *, policy: Policy) -> str:
        return f"{self.name}: {self}{policy.linesep}"


_HEADERS = HeaderRegistry()
_HEADERS.map_to_type("list-unsubscribe", _AsItIs)
WIRE = SMTP_POLICY.clone(header_factory=_HEADERS)
GOODBYE_SECONDS = 1.0
"""The time that a server has for its goodbye, after it has accepted the mail."""


@dataclass(frozen=True)
class MailAccess:
    """The way to the mail server.

    Args:
        sender: the address and the name that mails come from.
        own_host: the host of our pages; the greeting to the server names it.
    """

    host: str
    port: int
    tls: Literal["starttls", "tls", "none"]
    username: str | None
    password: str | None
    sender: Address
    own_host: str
    timeout_seconds: float


class MailServer:
    def __init__(self, access: MailAccess, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._tls: ssl.SSLContext | None = None
        """The authorities, which a thread reads for the first mail."""

    async def send(self, _: str, compose: Callable[[], Mail | None]) -> bool:
        """Send a mail, as `Transport` says."""
        async with self._connected() as server:
            mail = compose()
            if mail is None:
                return False
            body = written(mail, self._access, self._clock.now_ms()).as_bytes()
            await server.sendmail(self._access.sender.addr_spec, [mail.to], body)
        return True

    async def probe(self) -> None:
        """Connect and sign in, as for a mail. Raises NotSent."""
        async with self._connected():
            pass

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[SMTP]:
        """Return a connection that is ready for a mail. Raises NotSent, also for the block.

        The deadline includes the block. A failure of the goodbye after it is ignored.
        """
        access = self._access
        if self._tls is None and access.tls != "none":
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        server = SMTP(
            hostname=access.host,
            port=access.port,
            local_hostname=access.own_host,
            timeout=access.timeout_seconds,
            use_tls=access.tls == "tls",
            start_tls=access.tls == "starttls",
            tls_context=self._tls,
        )
        try:
            async with asyncio.timeout(access.timeout_seconds):
                await server.connect()  # and TLS: a server without it raises
                if access.username is not None and access.password is not None:
                    await server.login(access.username, access.password)
                yield server
            with suppress(SMTPException, OSError):
                await server.execute_command(b"QUIT", timeout=GOODBYE_SECONDS)
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            raise NotSent(failure) from None
        finally:
            transport = cast("asyncio.Transport | None", server.transport)
            if transport is not None:
                transport.abort()  # closing would wait for a server that may hang
            server.close()


def written(mail: Mail, access: MailAccess, now_ms: int) -> EmailMessage:
    """Return the message. Raises ValueError for a header with a line break, which no mail has."""
    message = EmailMessage(WIRE)
    message["From"] = access.sender
    message["To"] = Address(addr_spec=mail.to)
    message["Subject"] = mail.subject
    message["Date"] = datetime.fromtimestamp(now_ms / 1_000, UTC)
    message["Message-ID"] = f"<{mail.key}@{access.own_host}>"
    message["Auto-Submitted"] = "auto-generated"
    message["List-Unsubscribe"] = f"<{mail.unsubscribe_url}>"
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(mail.text, cte="quoted-printable")
    return message


def failure_of(error: Exception) -> Failure | None:
    """Return the failure of a mail; None for an error that is a bug."""
    match error:
        case SMTPRecipientsRefused() if error.recipients:
            return _of_code("recipient_refused", error.recipients[0].code, may_be_final=True)
        case SMTPDataError():
            return _of_code("mail_refused", error.code, may_be_final=True)
        case SMTPAuthenticationError():
            return _of_code("sign_in_refused", error.code)
        case SMTPSenderRefused():
            return _of_code("sender_refused", error.code)
        case TimeoutError() | SMTPTimeoutError():
            return Failure("timeout")
        case ssl.SSLError():
            return Failure("tls")
        case SMTPResponseException():
            return _of_code("unreadable", error.code)
        case SMTPException() | OSError():
            is_tls = isinstance(error.__cause__ or error.__context__, ssl.SSLError)
            return Failure("tls" if is_tls else "unreachable")
    return None


def _of_code(error: str, status: int, *, may_be_final: bool = False) -> Failure:
    return Failure(error, status, is_final=may_be_final and 500 <= status < 600)
