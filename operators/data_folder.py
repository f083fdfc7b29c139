"""The state on disk, for the operator: snapshots, backups, and a comparison of disk and memory."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Protocol

from msgspec import Meta

from actions.views import NULL, Amount, Count, Success, example
from core.ledger import Ledger
from core.refusals import Unavailable
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.slices import refreshed_digest

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
    digest: Annotated[Digest, Meta(description="Of the state in memory.")]
    folded_digest: Annotated[
        Digest | None, Meta(description="Of what the disk gives back; null when it gives nothing back.")
    ]
    problem: Annotated[str | None, Meta(description="The reason why the disk gives nothing back."), NULL]
    equal: Annotated[bool, example(True)]


class Taken(Protocol):
    @property
    def position(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def seconds(self) -> float: ...


class FoldedState(Protocol):
    """The digest of a state that was folded, or why there is none."""

    @property
    def digest(self) -> str | None: ...
    @property
    def problem(self) -> str | None: ...


class Verification(NamedTuple):
    """The digest of the state at a position, and that of the folded disk; None if it cannot be folded."""

    position: int
    digest: str
    folded_digest: str | None
    problem: str | None


@dataclass(frozen=True)
class DiskSources:
    """The work on the data folder."""

    take_snapshot: Callable[[], Awaitable[Taken]]
    backup: Callable[[], AsyncGenerator[bytes, None]]
    verify: Callable[[], Awaitable[Verification]]


async def verification(
    ledger: Ledger, folder: asyncio.Lock, fold: Callable[[int], Awaitable[FoldedState]]
) -> Verification:
    """Digest the state, and the disk folded from nothing up to the same position.

    Args:
        folder: held while files of the data folder come and go; with it the newest snapshot stays no newer
            than the position that is folded.
        fold: folds the disk up to a position.
    """
    async with folder:
        await refreshed_digest(ledger.state)
        position, digest = ledger.head, ledger.state.digest()
        await ledger.durable(position)
        found = await fold(position)
    return Verification(position, digest, found.digest, found.problem)


class DebugDisk:
    def __init__(self, sources: DiskSources) -> None:
        self._sources = sources

    def backup(self, _: Request) -> Reply:
        """The state in one file, sealed, as of when its last byte leaves."""
        headers = {"Content-Disposition": 'attachment; filename="votegate.backup"'}
        return Reply(200, b"", headers, content_type=BACKUP, stream=self._sources.backup())

    async def snapshot(self, _: Request) -> Reply:
        try:
            taken = await self._sources.take_snapshot()
        except OSError as error:
            raise Unavailable(f"the disk takes no snapshot ({error.strerror})") from None
        seconds = round(taken.seconds, 3)
        return success(SnapshotTaken(position=taken.position, bytes=taken.bytes, seconds=seconds))

    async def verify(self, _: Request) -> Reply:
        """Compare the state in memory with the state folded from disk, at one position."""
        found = await self._sources.verify()
        return success(Verified(**found._asdict(), equal=found.digest == found.folded_digest))
