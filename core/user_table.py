"""The table of users. Invariant: rows, refs and the index of sessions agree after every call."""

from abc import abstractmethod
from bisect import bisect_left, insort
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from core.user_rows import UserRow


class UsersView(Mapping[str, UserRow]):
    """The users by ref, as readers see them."""

    refs: Sequence[str]
    """Sorted, for paging."""
    by_session: Mapping[str, str]
    """The refs of users, by the digests of their sessions."""

    @property
    @abstractmethod
    def with_reminders(self) -> Collection[str]:
        """The refs of users with reminders that are on."""

    @property
    @abstractmethod
    def named(self) -> AbstractSet[int]:
        """The ids, as the vote table has them, of users whose names owners may see among their top voters."""

    @property
    @abstractmethod
    def with_role(self) -> Collection[str]:
        """The refs of users with a role."""


class UserTable(UsersView):
    def __init__(self) -> None:
        self._rows: dict[str, UserRow] = {}
        self._refs: list[str] = []
        self._by_session: dict[str, str] = {}
        self._with_role: set[str] = set()
        self._with_reminders: set[str] = set()
        self._named: set[int] = set()
        self.refs = self._refs
        self.by_session = self._by_session

    @property
    def with_reminders(self) -> Collection[str]:
        return self._with_reminders

    @property
    def named(self) -> AbstractSet[int]:
        return self._named

    @property
    def with_role(self) -> Collection[str]:
        return self._with_role

    def __getitem__(self, ref: str) -> UserRow:
        return self._rows[ref]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, row: UserRow) -> None:
        before = self._rows.get(row.ref)
        if before is None:
            insort(self._refs, row.ref)
        else:
            self._forget_indexes(before)
        self._rows[row.ref] = row
        self._index(row)

    def remove(self, ref: str) -> None:
        row = self._rows.pop(ref, None)
        if row is not None:
            self._forget_indexes(row)
            del self._refs[bisect_left(self._refs, ref)]

    def load(self, row: UserRow) -> None:
        """Take a row of a new ref. `loaded` must follow the last one."""
        self._rows[row.ref] = row
        self._index(row)

    def loaded(self) -> None:
        self._refs[:] = sorted(self._rows)

    def _index(self, row: UserRow) -> None:
        for session in row.sessions:
            self._by_session[session.digest] = row.ref
        if row.role is not None:
            self._with_role.add(row.ref)
        if row.reminders_on:
            self._with_reminders.add(row.ref)
        if row.lets_name:
            self._named.add(int(row.id))

    def _forget_indexes(self, row: UserRow) -> None:
        for session in row.sessions:
            self._by_session.pop(session.digest, None)
        self._with_role.discard(row.ref)
        self._with_reminders.discard(row.ref)
        self._named.discard(int(row.id))
