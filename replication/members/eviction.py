"""A Redis that may drop what nodes put there. Law: it is told, and lived with.

A policy other than `noeviction` drops claims, or whole streams, when memory is full. Streams are filled again
and what was in them is taken as a copy, time and again; a claim that is gone lets a user vote twice.
"""

import logging

from redis.exceptions import ResponseError

from replication.members.warnings import Concerns
from replication.transport.link import Link

log = logging.getLogger(__name__)

LOOK_BEATS = 60
RIGHT_POLICY = "noeviction"
_TOPIC = ("maxmemory-policy", "")


class Eviction:
    def __init__(self, link: Link, concerns: Concerns) -> None:
        self._link = link
        self._concerns = concerns
        self._beats = 0
        self._may_look = True

    async def look(self) -> None:
        """Asks now and then, to be called with every beat. Raises UNREACHABLE."""
        self._beats += 1
        if not self._may_look or self._beats % LOOK_BEATS != 1:
            return
        try:
            memory = await self._link.redis.info("memory")
        except ResponseError:  # each further try would be one more line in Redis's ACL log
            self._may_look = False
            log.info(
                "Redis does not say its maxmemory-policy, for want of +info; it must be %s", RIGHT_POLICY
            )
            return
        policy, most = memory.get("maxmemory_policy", RIGHT_POLICY), memory.get("maxmemory", 0)
        evicts = most and policy != RIGHT_POLICY
        self._concerns.note(
            _TOPIC,
            f"Redis drops data when its {most} bytes of memory are full (maxmemory-policy {policy}): "
            f"users can vote twice then, and nodes take copies again and again; set it to {RIGHT_POLICY}"
            if evicts
            else None,
            "Redis drops no data any more when its memory is full",
        )
