"""The table of users. Invariant: it keeps every row packed.

Most users sign in once and only vote. Millions of rows as objects would take three times the memory, and a
start would make them all. So each look at a row unpacks it (`core/packing.py`), in about 2 us, and each
change packs it again.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from core.packing import PackedRow, pack_user, unpack_user
from core.rating_index import RatingIndex, RatingsView
from core.user_rows import Rating, UserRow


class UsersView(Mapping[str, UserRow]):
    """The users by ref, as readers see them. Each look at a row unpacks it."""

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}
        self._unpacked: tuple[bytes, UserRow] | None = None
        """The row that was unpacked last: a press of a button looks at the row of its user six times."""
        self._refs: list[str] = []
        self._by_session: dict[str, str] = {}
        self._with_role: set[str] = set()
        self._with_reminders: set[str] = set()
        self._with_mail: set[str] = set()
        self._with_quarantines: set[str] = set()
        self._named: set[int] = set()
        self._ratings = RatingIndex()
        self.refs: Sequence[str] = self._refs
        """Sorted, for paging."""
        self.by_session: Mapping[str, str] = self._by_session
        """The refs of users, by the digests of their sessions."""
        self.with_role: Collection[str] = self._with_role
        """The refs of users with a role."""
        self.with_reminders: Collection[str] = self._with_reminders
        """The refs of users with reminders that are on."""
        self.with_mail: Collection[str] = self._with_mail
        """The refs of users who get mails."""
        self.with_quarantines: Collection[str] = self._with_quarantines
        """The refs of users with quarantines, also those that are over. Other rows of users name nobody."""
        self.named: AbstractSet[int] = self._named
        """The ids, as the vote table has them, of users whose names owners may see among their top voters."""
        self.ratings: RatingsView = self._ratings
        """The reviews that stand, by listing."""

    def __getitem__(self, ref: str) -> UserRow:
        packed, row = self._rows[ref], self._unpacked
        if row is None or row[0] is not packed:
            row = self._unpacked = (packed, unpack_user(packed))
        return row[1]

    def __contains__(self, ref: object) -> bool:
        return ref in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class UserTable(UsersView):
    """The rows by ref. Invariant: rows, refs and the index of sessions agree after every call."""

    def stored(self, ref: str) -> PackedRow | None:
        content = self._rows.get(ref)
        return PackedRow(ref, content) if content is not None else None

    def put(self, row: UserRow) -> None:
        before = self.get(row.ref)
        if before is None:
            insort(self._refs, row.ref)
        else:
            self._forget_indexes(before)
        self._rows[row.ref] = pack_user(row)
        self._unpacked = None  # it may hold what was erased
        self._index(row)
        self._rate(before.ratings if before is not None else (), row.ratings, int(row.id))

    def remove(self, ref: str) -> None:
        if self.unload(ref):
            del self._refs[bisect_left(self._refs, ref)]

    def load(self, row: UserRow) -> None:
        """Take a row of a new ref. `loaded` must follow the last one."""
        self._rows[row.ref] = pack_user(row)
        self._index(row)
        self._rate((), row.ratings, int(row.id))

    def load_packed(
        self,
        refs: Sequence[str],
        rows: Sequence[bytes],
        sessions: Sequence[Sequence[str]],
        indexed: Iterable[str],
    ) -> None:
        """Take packed rows of new refs. `sessions` has the digests of each row's sessions, and `indexed` the
        refs that other indexes find, too."""
        self._rows.update(zip(refs, rows, strict=True))
        for ref, digests in zip(refs, sessions, strict=True):
            for digest in digests:
                self._by_session[digest] = ref
        for ref in indexed:
            row = self[ref]
            self._index(row)
            self._rate((), row.ratings, int(row.id))

    def unload(self, ref: str) -> bool:
        """Forget a row but for its place among the refs. Return true if there was one."""
        row = self.get(ref)
        if row is None:
            return False
        del self._rows[ref]
        self._unpacked = None
        self._forget_indexes(row)
        self._rate(row.ratings, (), int(row.id))
        return True

    def loaded(self) -> None:
        self._refs[:] = sorted(self._rows)

    def _rate(self, before: tuple[Rating, ...], after: tuple[Rating, ...], user: int) -> None:
        """Take the reviews of a user in the place of the earlier ones."""
        if before == after:  # nearly always, as when a session was used
            return
        for each in before:
            if each.stars:
                self._ratings.discard(each.listing, (each.at_ms, user, each.stars))
        for each in after:
            if each.stars:
                self._ratings.add(each.listing, (each.at_ms, user, each.stars))

    def _index(self, row: UserRow) -> None:
        for session in row.sessions:
            self._by_session[session.digest] = row.ref
        if row.role is not None:
            self._with_role.add(row.ref)
        if row.reminders_on:
            self._with_reminders.add(row.ref)
        if row.mailed_topics:
            self._with_mail.add(row.ref)
        if row.quarantines:
            self._with_quarantines.add(row.ref)
        if row.lets_name:
            self._named.add(int(row.id))

    def _forget_indexes(self, row: UserRow) -> None:
        for session in row.sessions:
            self._by_session.pop(session.digest, None)
        self._with_role.discard(row.ref)
        self._with_reminders.discard(row.ref)
        self._with_mail.discard(row.ref)
        self._with_quarantines.discard(row.ref)
        self._named.discard(int(row.id))
