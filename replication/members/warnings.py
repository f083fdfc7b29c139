"""What is not as it should be, though the node goes on. Law: it is told when it begins, and when it ends.

A concern has words for people. Those of now are in `/debug/state` too.
"""

import logging
from collections.abc import Container, Mapping

log = logging.getLogger(__name__)

Topic = tuple[str, str]
"""What a concern is about: the thing, and the node, or nothing."""


class Concerns:
    def __init__(self) -> None:
        self._current: dict[Topic, str] = {}
        self.current: Mapping[Topic, str] = self._current  # in words, of now

    def note(self, topic: Topic, words: str | None, over: str) -> None:
        """`words` tell the concern, None that there is none; `over` tells its end."""
        if words is None:
            if self._current.pop(topic, None) is not None:
                log.warning("%s", over)
            return
        if topic not in self._current:
            log.warning("%s", words)
        self._current[topic] = words

    def forget_all_but(self, names: Container[str]) -> None:
        """The other nodes are members no more."""
        for topic in [topic for topic in self._current if topic[1] and topic[1] not in names]:
            del self._current[topic]
