"""The status of a node, and the values that members, streams and copies hand each other."""

from typing import NamedTuple

import msgspec


class Status(msgspec.Struct, frozen=True, array_like=True):
    """A node's report on itself, written with every heartbeat. It is in Redis: nodes of other versions
    must understand it.

    `label` is its node id, and `fleet` proves that it has the fleet's secret. `beat` grows with every
    heartbeat. `top` is the newest position in its stream; `cursors` are the positions up to which it has
    merged the others, by node id. It wants a copy of the node named `wants`, under the name `copy`. `at_ms`
    is its wall clock, 0 if it does not tell; `settings` are those that all nodes should have alike.
    """

    label: str
    fleet: str
    beat: int
    top: int
    cursors: dict[str, int]
    wants: str = ""
    copy: str = ""
    at_ms: int = 0
    settings: dict[str, str] = {}

    @property
    def known(self) -> dict[str, int]:
        """The positions up to which it knows each node, itself included, by node id."""
        return {**self.cursors, self.label: self.top}


class CopyRequest(NamedTuple):
    """A node's wish for a copy: whose, and under which name. Copies make it, members publish it."""

    donor: str
    copy: str


class Report(NamedTuple):
    """The part of a node's status that other rooms know: streams the top, copies the request."""

    top: int
    request: CopyRequest | None = None


class Member(NamedTuple):
    """Another node: its last status, and when this node first read it (monotonic)."""

    status: Status
    read_ns: int


class Change(NamedTuple):
    """A status that this node has not read before. If `is_next`, the status before it was read too, so this
    one is no older than a heartbeat; the first one of a node may have any age."""

    name: str
    status: Status
    is_next: bool


class ReadUpTo(NamedTuple):
    """The positions up to which the slowest and the furthest of the others know this node."""

    slowest: int
    furthest: int


class KnownElsewhere(NamedTuple):
    """Everything that the others know of this node. Members say it, streams decide by it.

    `read` is None if nobody knows anything; `newest_epoch` is the latest of this name, 0 if nobody knows one.
    `is_complete`: every node that is there has had the time to say what it knows.
    """

    read: ReadUpTo | None
    newest_epoch: int
    is_complete: bool
