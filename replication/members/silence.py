"""Nodes that have gone silent. Invariant: none is reported while this node hears nobody."""

from core.clock import NS_PER_SECOND
from replication.members.registry import Registry
from replication.members.warnings import Warnings

SILENT_SECONDS = 30.0
_SILENT_NS = round(SILENT_SECONDS * NS_PER_SECOND)


class Silence:
    def __init__(self, registry: Registry, warnings: Warnings) -> None:
        self._registry = registry
        self._warnings = warnings

    def look(self) -> None:
        """Warn of silent nodes; to be called with every heartbeat."""
        if not self._registry.is_hearing:
            return
        for name in self._registry.others:
            topic, over = ("silence", name), f"node {name} is there again"
            if self._registry.is_there(name):
                self._warnings.note(topic, None, over)
            elif self._registry.silent_ns(name) >= _SILENT_NS:
                text = f"node {name} has said nothing for {SILENT_SECONDS:g} s"
                self._warnings.note(topic, text, over)
