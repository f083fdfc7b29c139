"""The node id of this node, and its change. Invariant: two journals never share a node id for long.

A copy of a data folder and its original have one node id. As soon as a node sees that the others know another
journal under its node id, it begins a new epoch, and the votes that it has counted meanwhile move to the new
node id (`ProvisionalVotes`).
"""

import logging

from core.clock import Clock
from core.events import NodeNamed
from core.fleet_table import name_and_epoch
from core.ledger import Ledger
from replication.members.epochs import later_node_id
from replication.streams.provisional import ProvisionalVotes

log = logging.getLogger(__name__)


class Identity:
    def __init__(self, name: str, ledger: Ledger, clock: Clock, votes: ProvisionalVotes) -> None:
        self._name = name
        self._ledger = ledger
        self._clock = clock
        self._votes = votes

    @property
    def node_id(self) -> str:
        return self._ledger.state.fleet.label

    @property
    def epoch(self) -> int:
        return name_and_epoch(self.node_id)[1]

    async def begin_epoch(self, after: int) -> None:
        """Take a node id of a later epoch than `after`. Raises Unavailable."""
        log.warning("the stream of node %s is ahead of its data: they are older, or others", self._name)
        before = self.node_id
        self._ledger.commit([NodeNamed(later_node_id(self._name, after, self._clock.now_ms()))])
        self._votes.disown(before)
        await self._votes.move()

    async def finish_epoch(self) -> None:
        """Move the votes that a full disk kept from being moved. Raises Unavailable."""
        await self._votes.move()

    def confirm(self) -> None:
        """The others know this journal, or none, under the node id."""
        self._votes.confirm()
