"""The errors of deliveries in words. Law: every error of the log has some."""

from collections.abc import Mapping

OURS = "something failed on our side; it does not count against you"
_WORDS: Mapping[str, str] = {
    "timeout": "the answer was not complete in time",
    "dns": "the host name of the address was not found",
    "resolver": OURS,
    "tls": "TLS failed: look at the certificate, its date and its name",
    "refused": "nothing listens on the port",
    "reset": "the connection broke before the answer was complete",
    "connect": "no connection could be made",
    "protocol": "the answer was not HTTP",
    "too_large": "the headers of the answer were too long",
    "blocked": "webhooks may not go to this address",
    "proxy": OURS,
    "internal": OURS,
    "expired": "it waited for too long, and was given up",
    "overflow": "too many others waited, and it was given up",
}


def words_of_error(error: str) -> str:
    """Return what an error of a delivery says. `http_503` is a status outside 200 to 299."""
    status = error.removeprefix("http_")
    return _WORDS.get(error, f"the answer had status {status}" if status != error else error)
