"""Warnings to operators that last for a while. Invariant: the log has one line when a warning begins, and one
at the level INFO when it ends.

`/debug` shows the present ones as `concerns`, in words for people.
"""

import logging
from collections.abc import Container, Mapping

log = logging.getLogger(__name__)

Topic = tuple[str, str]
"""The subject of a warning, and the node that it is about, or an empty name."""


class Warnings:
    def __init__(self) -> None:
        self._current: dict[Topic, str] = {}
        self.current: Mapping[Topic, str] = self._current

    def note(self, topic: Topic, text: str | None, over: str) -> None:
        """Set the text of the warning, or end it with None. `over` is the line that tells its end."""
        if text is None:
            if self._current.pop(topic, None) is not None:
                log.info("%s", over)
            return
        if topic not in self._current:
            log.warning("%s", text)
        self._current[topic] = text

    def forget_all_but(self, names: Container[str]) -> None:
        """The other nodes are no members any more."""
        for topic in [topic for topic in self._current if topic[1] and topic[1] not in names]:
            del self._current[topic]
