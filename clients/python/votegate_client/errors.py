"""The errors that a call can raise.

VotegateError           3xx: the base address redirects
├── InvalidKey          401: the key is wrong, or the bot is not approved
├── BotNotFound         404: no bot has this id, or the base address has a wrong path
├── InvalidRequest      another 4xx: the same request would fail again
│   └── TooFarOff       400: the server count differs too much from the actual one
├── RateLimited         429: the limit is used up
└── Unavailable         5xx, a broken connection, a time-out, or an answer that is not Votegate's
    └── CountUnknown    500: the platform does not know the bot's actual server count yet
"""

from math import ceil


class VotegateError(Exception):
    """The base of all errors of this client."""

    def __init__(self, text: str, *, status: int = 0, request_id: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        """The gateway's text, or the reason why there is none."""
        self.status = status
        """The HTTP status; 0 if there was no answer."""
        self.request_id = request_id
        """The id of the request in the platform's log. Name it when you ask the operators."""

    def __str__(self) -> str:
        return f"{self.status} {self.text}" if self.status else self.text


class InvalidKey(VotegateError):
    """401: the key is wrong, or the bot is not approved."""


class BotNotFound(VotegateError):
    """404: no bot has this id, or the base address has a wrong path."""


class InvalidRequest(VotegateError):
    """Another 4xx: the same request would fail again."""


class TooFarOff(InvalidRequest):
    """400: the server count differs too much from the actual one."""

    def __init__(self, text: str, *, given: int, actual: int, allowed: int, request_id: str | None) -> None:
        super().__init__(text, status=400, request_id=request_id)
        self.given = given
        """The count that was pushed."""
        self.actual = actual
        """The bot's actual server count, as the platform knows it."""
        self.allowed = allowed
        """The greatest difference that is allowed."""


class RateLimited(VotegateError):
    """429, or not sent because the limit is used up."""

    def __init__(
        self, text: str, *, wait: float | None, status: int = 0, request_id: str | None = None
    ) -> None:
        super().__init__(text, status=status, request_id=request_id)
        self.wait = wait
        """Seconds until the next request is allowed; None if the gateway does not say so."""

    def __str__(self) -> str:
        return super().__str__() if self.wait is None else f"{super().__str__()} Wait {ceil(self.wait)} s."


class Unavailable(VotegateError):
    """5xx, a broken connection, a time-out, or an answer that is not Votegate's."""

    def __init__(
        self, text: str, *, wait: float | None = None, status: int = 0, request_id: str | None = None
    ) -> None:
        super().__init__(text, status=status, request_id=request_id)
        self.wait = wait
        """Seconds to wait before the next try, as the gateway asks; None if it asks for none."""


class CountUnknown(Unavailable):
    """500: the platform does not know the bot's actual server count yet. Push no `server_count`."""
