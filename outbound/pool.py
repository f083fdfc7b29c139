"""Idle connections. Law: pure; their number is bounded, and a connection that has been idle for too long is
closed instead of used, because its peer may be closing it at that moment.
"""

from core.clock import NS_PER_SECOND
from outbound.http1 import ClientConnection

IDLE_SECONDS = 4.0
"""Shorter than the 5 s after which Node closes an idle connection, so that a request seldom meets the
close."""
IDLE_PER_ORIGIN = 64
IDLE_TOTAL = 512

Origin = tuple[str, str, int]
"""Scheme, host and port. The address alone is not enough, because TLS verifies the name."""


class ConnectionPool:
    """Idle connections, in the order in which they became idle. `now_ns` is monotonic time."""

    def __init__(
        self,
        idle_seconds: float = IDLE_SECONDS,
        per_origin: int = IDLE_PER_ORIGIN,
        total: int = IDLE_TOTAL,
    ) -> None:
        self._idle_ns = round(idle_seconds * NS_PER_SECOND)
        self._per_origin = per_origin
        self._total = total
        self._idle: dict[ClientConnection, tuple[Origin, int]] = {}  # with the time at which it became idle
        self._of_origin: dict[Origin, list[ClientConnection]] = {}

    def take(self, origin: Origin, now_ns: int) -> ClientConnection | None:
        """Return the connection to the origin that was used last, or None if it has been idle for too
        long."""
        connections = self._of_origin.get(origin)
        if not connections:
            return None
        connection = connections[-1]
        since_ns = self._idle[connection][1]
        self._forget(connection)
        if now_ns - since_ns < self._idle_ns:
            return connection
        connection.abort()
        return None

    def give(self, origin: Origin, connection: ClientConnection, now_ns: int) -> None:
        """Keep an idle connection. If there are too many, close the oldest one."""
        connections = self._of_origin.setdefault(origin, [])
        if len(connections) >= self._per_origin:
            self._drop(connections[0])
            connections = self._of_origin.setdefault(origin, [])
        elif len(self._idle) >= self._total:
            self._drop(next(iter(self._idle)))
            connections = self._of_origin.setdefault(origin, [])
        connections.append(connection)
        self._idle[connection] = origin, now_ns
        connection.when_lost(self._forget)

    def sweep(self, now_ns: int) -> float | None:
        """Close the connections that have been idle for too long.

        Returns the seconds until the next sweep is due, or None if no connection is idle.
        """
        while self._idle:
            connection, (_, since_ns) = next(iter(self._idle.items()))
            if now_ns - since_ns < self._idle_ns:
                return (since_ns + self._idle_ns - now_ns) / NS_PER_SECOND
            self._drop(connection)
        return None

    def close(self) -> None:
        """Close all connections."""
        while self._idle:
            self._drop(next(iter(self._idle)))

    def _drop(self, connection: ClientConnection) -> None:
        self._forget(connection)
        connection.abort()

    def _forget(self, connection: ClientConnection) -> None:
        origin, _ = self._idle.pop(connection)
        connections = self._of_origin[origin]
        connections.remove(connection)
        if not connections:
            del self._of_origin[origin]
