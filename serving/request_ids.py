"""The ids of requests, as `X-Request-Id` and the log have them. Invariant: no two requests have the same one.

An id is a word for the process and a number. A vote check takes only the number: its text is made where
somebody reads it, in the response and in the access log.
"""

import itertools
import secrets
from collections.abc import Callable

_WORD = secrets.token_hex(4)
WORD = _WORD.encode()
"""The beginning of each id of this process."""
next_number: Callable[[], int] = itertools.count(10_000_000).__next__


def request_id(number: int) -> str:
    """Return the id of a request. It is no secret."""
    return f"{_WORD}{number}"
