"""A Redis that may evict keys. The node logs a warning and goes on.

With a `maxmemory-policy` other than `noeviction`, Redis drops leases and whole streams when its memory is
full. Nodes fill streams again and take their content as a copy, time and again; but without the lease on a
vote a user can vote twice.
"""

import logging

from redis.exceptions import ResponseError

from replication.members.warnings import Warnings
from replication.transport.link import Link

log = logging.getLogger(__name__)

LOOK_BEATS = 60
RIGHT_POLICY = "noeviction"
_TOPIC = ("maxmemory-policy", "")


class Eviction:
    def __init__(self, link: Link, warnings: Warnings) -> None:
        self._link = link
        self._warnings = warnings
        self._beats = 0
        self._may_look = True

    async def look(self) -> None:
        """Ask Redis in one of `LOOK_BEATS` calls; to be called with every heartbeat. Raises UNREACHABLE."""
        self._beats += 1
        if not self._may_look or self._beats % LOOK_BEATS != 1:
            return
        try:
            memory = await self._link.redis.info("memory")
        except ResponseError:  # each further try would add a line to Redis's ACL log
            self._may_look = False
            log.info(
                "Redis does not say its maxmemory-policy, for want of +info; it must be %s", RIGHT_POLICY
            )
            return
        policy, most = memory.get("maxmemory_policy", RIGHT_POLICY), memory.get("maxmemory", 0)
        evicts = most and policy != RIGHT_POLICY
        self._warnings.note(
            _TOPIC,
            f"Redis drops data when its {most} bytes of memory are full (maxmemory-policy {policy}): "
            f"users can vote twice then, and nodes take copies again and again; set it to {RIGHT_POLICY}"
            if evicts
            else None,
            "Redis drops no data any more when its memory is full",
        )
