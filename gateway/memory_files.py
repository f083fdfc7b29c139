"""Files in memory alone, until the store of files is there."""

from forms.file_fields import FileRef


class MemoryFiles:
    """Keeps files as long as the process lives."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[FileRef, bytes]] = {}

    async def put(self, content: bytes, facts: FileRef, user_id: str) -> FileRef:  # noqa: ARG002
        self._kept[facts.digest] = (facts, content)
        return facts

    async def ref(self, digest: str) -> FileRef | None:
        return self._kept[digest][0] if digest in self._kept else None

    async def get(self, digest: str) -> bytes | None:
        return self._kept[digest][1] if digest in self._kept else None
