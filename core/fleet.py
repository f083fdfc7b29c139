"""What a node knows of its fleet. Law: of everything remembered here, the greater value stands.

A label names a node for as long as its memory reaches: `<name>.<epoch>`. A node that lost its data, or went
back to older data, gets a new epoch, so that it is another one to all who count by node. The vote table knows
nodes by their numbers, the places of their labels in `labels`.

`cursors` tells up to which position all is known that a node has told, by its label. `removed` tells when a
listing was last removed, `erased` when a user was, by mark: what others say about the time before is not
news, and what was erased does not come back. `latest_ms` is the newest time of a stamp.
"""

import hashlib
from collections.abc import Mapping
from typing import Protocol

from core.rows import FleetRow


def label_of(name: str, epoch: int) -> str:
    return f"{name}.{epoch}"


def name_and_epoch(label: str) -> tuple[str, int]:
    name, _, epoch = label.partition(".")
    return name, int(epoch)


class FleetView(Protocol):
    """What readers see of it."""

    @property
    def label(self) -> str:
        """This node's; empty when it never was in a fleet."""

    @property
    def own(self) -> int:
        """This node's number."""

    @property
    def latest_ms(self) -> int: ...
    @property
    def is_copy(self) -> bool:
        """The data were restored: the node that they are of may live on elsewhere."""

    @property
    def numbers(self) -> Mapping[str, int]:
        """By label, in their order."""

    @property
    def cursors(self) -> Mapping[str, int]:
        """By label."""

    @property
    def removed(self) -> Mapping[str, int]:
        """By ref."""

    @property
    def erased(self) -> Mapping[str, int]:
        """By mark."""

    @property
    def gone(self) -> int:
        """A digest of `removed` and `erased`, equal for equal ones."""

    @property
    def row(self) -> FleetRow: ...


class Fleet:
    def __init__(self) -> None:
        self.label = ""
        self.own = 0
        self.latest_ms = 0
        self.is_copy = False
        self.gone = 0
        self._numbers: dict[str, int] = {}
        self._cursors: dict[str, int] = {}
        self._removed: dict[str, int] = {}
        self._erased: dict[str, int] = {}
        self.numbers: Mapping[str, int] = self._numbers
        self.cursors: Mapping[str, int] = self._cursors
        self.removed: Mapping[str, int] = self._removed
        self.erased: Mapping[str, int] = self._erased

    @property
    def row(self) -> FleetRow:
        return FleetRow(
            self.label,
            tuple(self._numbers),
            dict(self._cursors),
            dict(self._removed),
            dict(self._erased),
            self.latest_ms,
            self.is_copy,
        )

    def load(self, row: FleetRow) -> None:
        self._numbers.update({label: number for number, label in enumerate(row.labels)})
        self._cursors.update(row.cursors)
        for ref, ms in row.removed.items():
            self.removed_at(ref, ms)
        for mark, ms in row.erased.items():
            self.erased_at(mark, ms)
        self.label, self.latest_ms, self.is_copy = row.label, row.latest_ms, row.is_copy
        self.own = self._numbers.get(row.label, 0)

    def named(self, label: str) -> None:
        self.label, self.is_copy = label, False
        self.own = self.number(label)

    def number(self, label: str) -> int:
        """The node's number; without a label, this node's."""
        return self._numbers.setdefault(label, len(self._numbers)) if label else self.own

    def heard(self, label: str, position: int) -> None:
        self._cursors[label] = max(position, self._cursors.get(label, 0))

    def stamped(self, ms: int) -> None:
        self.latest_ms = max(ms, self.latest_ms)

    def removed_at(self, ref: str, ms: int) -> None:
        self._gone(self._removed, ref, ms)

    def erased_at(self, mark: str, ms: int) -> None:
        self._gone(self._erased, mark, ms)

    def _gone(self, when: dict[str, int], what: str, ms: int) -> None:
        self.stamped(ms)
        before = when.get(what, 0)
        if ms > before:
            when[what] = ms
            self.gone += _digest(what, ms) - (_digest(what, before) if before else 0)


def _digest(what: str, ms: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{what} {ms}".encode(), digest_size=16).digest())
