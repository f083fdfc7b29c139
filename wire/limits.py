"""The bounds of one connection, and of all together. Invariant: whatever a client does or omits, what it can
make this process hold is bounded: bytes, requests and seconds.

The settings fix what an operator may choose (`ConnectionLimits`); the constants are sizes of the machinery
itself, which nobody has a reason to change.
"""

from dataclasses import dataclass

SLICE_BYTES = 4_096
"""The most bytes that are parsed at once. A slice ends behind the first head, so it holds one or two
requests."""
SLICES_AT_ONCE = 4
"""Slices of one connection that are parsed before other connections have their turn."""
CONNECTIONS_AT_ONCE = 16
"""Connections with more slices that go on in one turn of the loop."""
FRAMING = 16
"""Bytes that a body in chunks may take for each byte of its own."""
LINGER_SECONDS = 1.0
"""Time that a client has to close first, once our side is shut down."""
DRAIN_SECONDS = 0.5
"""Time that a stop waits for the next request of a connection, or for the rest of a head."""
PROGRESS_BYTES = 1_024
"""Bytes of its answers that a client has to read in `write_seconds` to stay."""
NEVER = float("inf")
"""The deadline of who may take any time."""


@dataclass(frozen=True)
class ConnectionLimits:
    connections: int
    header_bytes: int
    """Request line included; at least `SLICE_BYTES`, so that a head of one slice is never too long."""
    headers: int
    header_seconds: float
    body_seconds: float
    idle_seconds: float
    write_seconds: float
    connections_per_address: int
