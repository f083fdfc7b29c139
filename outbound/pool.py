"""Connections between exchanges. Law: pure; their number is bounded, and none is used that has been idle for
so long that its peer may just be closing it.
"""

from core.clock import NS_PER_SECOND
from outbound.http1 import ClientConnection

IDLE_SECONDS = 4.0
"""Shorter than the 5 s after which Node closes an idle connection: a request should not meet the close."""
IDLE_PER_ENDPOINT = 64
IDLE_TOTAL = 512

Origin = tuple[str, str, int]
"""Scheme, host and port: never the address alone, because TLS proves a name."""


class ConnectionPool:
    """Connections in the order in which they became idle. `now_ns` is monotonic."""

    def __init__(
        self,
        idle_seconds: float = IDLE_SECONDS,
        per_endpoint: int = IDLE_PER_ENDPOINT,
        total: int = IDLE_TOTAL,
    ) -> None:
        self._idle_ns = round(idle_seconds * NS_PER_SECOND)
        self._per_endpoint = per_endpoint
        self._total = total
        self._idle: dict[ClientConnection, tuple[Origin, int]] = {}  # with the time since when
        self._of_endpoint: dict[Origin, list[ClientConnection]] = {}

    def take(self, key: Origin, now_ns: int) -> ClientConnection | None:
        """The endpoint's connection that was used last, unless it has been idle for too long."""
        connections = self._of_endpoint.get(key)
        if not connections:
            return None
        connection = connections[-1]
        since_ns = self._idle[connection][1]
        self._forget(connection)
        if now_ns - since_ns < self._idle_ns:
            return connection
        connection.abort()
        return None

    def give(self, key: Origin, connection: ClientConnection, now_ns: int) -> None:
        """Keeps an idle connection; what is too many goes, the oldest first."""
        connections = self._of_endpoint.setdefault(key, [])
        if len(connections) >= self._per_endpoint:
            self._drop(connections[0])
            connections = self._of_endpoint.setdefault(key, [])
        elif len(self._idle) >= self._total:
            self._drop(next(iter(self._idle)))
            connections = self._of_endpoint.setdefault(key, [])
        connections.append(connection)
        self._idle[connection] = key, now_ns
        connection.on_close = self._forget

    def sweep(self, now_ns: int) -> float | None:
        """Closes what has been idle for too long; returns the seconds until there is more, None for never."""
        while self._idle:
            connection, (_, since_ns) = next(iter(self._idle.items()))
            if now_ns - since_ns < self._idle_ns:
                return (since_ns + self._idle_ns - now_ns) / NS_PER_SECOND
            self._drop(connection)
        return None

    def close(self) -> None:
        """Closes all."""
        while self._idle:
            self._drop(next(iter(self._idle)))

    def _drop(self, connection: ClientConnection) -> None:
        self._forget(connection)
        connection.abort()

    def _forget(self, connection: ClientConnection) -> None:
        key, _ = self._idle.pop(connection)
        connections = self._of_endpoint[key]
        connections.remove(connection)
        if not connections:
            del self._of_endpoint[key]
