"""Nodes whose content this node refuses. The log has one line at the beginning and one at the end."""

import logging
from collections.abc import Container, Mapping

log = logging.getLogger(__name__)


class RefusedNodes:
    def __init__(self, own: str) -> None:
        """`own` is the name of this node."""
        self._own = own
        self._reasons: dict[str, str] = {}
        self.reasons: Mapping[str, str] = self._reasons  # by the names of nodes

    def refuse(self, name: str, reason: str) -> None:
        if self._reasons.get(name) != reason:
            log.error("nothing is taken from node %s at this one (%s): %s", name, self._own, reason)
        self._reasons[name] = reason

    def forget_all_but(self, names: Container[str]) -> None:
        """The others are no members any more."""
        for name in [name for name in self._reasons if name not in names]:
            del self._reasons[name]

    def understood(self, name: str) -> None:
        if self._reasons.pop(name, None) is not None:
            log.info("node %s is understood again", name)
