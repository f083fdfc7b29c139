"""The state on disk, for the operator: snapshots, backups, and a comparison of disk and memory."""

from typing import Annotated

from msgspec import Meta

from actions.views import NULL, Amount, Count, Success, example
from core.failures import Unavailable
from handlers.reply import Reply
from handlers.slices import refreshed_digest
from operators.gateway_parts import GatewayParts

BACKUP = "application/octet-stream"
Digest = Annotated[
    str,
    Meta(pattern="^[0-9a-f]{32}$", description="Equal for equal states."),
    example("9f86d081884c7d659a2feaa0c55ad015"),
]


class SnapshotTaken(Success):
    """The snapshot that is on disk now."""

    position: Annotated[Count, example(1_024)]
    bytes: Annotated[Count, example(183_220)]
    seconds: Annotated[Amount, example(0.021)]


class Verified(Success):
    """Both digests at one position of the log."""

    position: Count
    digest: Annotated[Digest, Meta(description="The digest of the state in memory.")]
    folded_digest: Annotated[
        Digest | None,
        Meta(description="The digest of the state that was read from disk; null if it cannot be read."),
    ]
    problem: Annotated[
        str | None, Meta(description="The reason why the state cannot be read from disk."), NULL
    ]
    equal: Annotated[bool, example(True)]


def backup(parts: GatewayParts) -> Reply:
    """Return the state in one file, encrypted, as of when its last byte leaves."""
    headers = {"Content-Disposition": 'attachment; filename="votegate.backup"'}
    return Reply(200, b"", headers, content_type=BACKUP, stream=parts.numbers.snapshotter.backup())


async def snapshot(parts: GatewayParts) -> SnapshotTaken:
    try:
        taken = await parts.numbers.snapshotter.take()
    except OSError as error:
        raise Unavailable(f"the disk takes no snapshot ({error.strerror})") from None
    return SnapshotTaken(position=taken.position, bytes=taken.bytes, seconds=round(taken.seconds, 3))


async def verify(parts: GatewayParts) -> Verified:
    """Compare the state in memory with the state folded from disk, at one position."""
    ledger = parts.tools.ledger
    # The lock is held while files of the data folder come and go. With it, the newest snapshot stays no newer
    # than the position that is folded.
    async with parts.numbers.snapshotter.lock:
        await refreshed_digest(ledger.state)
        position, digest = ledger.head, ledger.state.digest()
        await ledger.durable(position)
        folded = await parts.fold(position)
    return Verified(
        position=position,
        digest=digest,
        folded_digest=folded.digest,
        problem=folded.problem,
        equal=digest == folded.digest,
    )
