"""The events and the errors of deliveries in words. Law: every one of the log has some."""

from collections.abc import Mapping

from core.rows import WebhookEvent
from languages.texts import Text, Words

EVENTS: Mapping[WebhookEvent, Text] = {
    "vote": Text("Votes"),
    "review.approved": Text("Approvals"),
    "review.denied": Text("Denials"),
    "vote.struck": Text("Votes struck out"),
}
OURS = Text("something failed on our side; it does not count against you")
_WORDS: Mapping[str, Text] = {
    "timeout": Text("the answer was not complete in time"),
    "dns": Text("the host name of the address was not found"),
    "resolver": OURS,
    "tls": Text("TLS failed: look at the certificate, its date and its name"),
    "refused": Text("nothing listens on the port"),
    "reset": Text("the connection broke before the answer was complete"),
    "connect": Text("no connection could be made"),
    "protocol": Text("the answer was not HTTP"),
    "too_large": Text("the headers of the answer were too long"),
    "blocked": Text("webhooks may not go to this address"),
    "proxy": OURS,
    "internal": OURS,
    "expired": Text("it waited for too long, and was given up"),
    "overflow": Text("too many others waited, and it was given up"),
}
_SAID_TO_VOTERS = frozenset({"expired", "overflow"})


def words_of_error(error: str) -> Words:
    """Return what an error of a delivery says. `http_503` is a status outside 200 to 299."""
    status = error.removeprefix("http_")
    return _WORDS.get(
        error, Text("the answer had status {status}", status=status) if status != error else error
    )


def words_for_voters(error: str | None) -> Words:
    """Return what an error of a delivery says to those who can do nothing about it."""
    is_told = error is not None and (error in _SAID_TO_VOTERS or error.startswith("http_"))
    return words_of_error(error) if error is not None and is_told else Text("no answer came")
