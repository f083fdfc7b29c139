"""Probes in the operator's log. Law: one line when a probe begins, and one when it ends.

A probe is the attempt that asks a suspended endpoint whether it works again. The lines show no URL and no
response, because both may hold secrets.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from core.rows import Attempt, Suspension

log = logging.getLogger(__name__)


class Asked:
    """The outcome of an attempt, None until it is known."""

    attempt: Attempt | None = None


@contextmanager
def asking(ref: str, suspension: Suspension | None) -> Iterator[Asked]:
    """Tell of an attempt if it probes a suspension. The block sets the outcome, unless it is cancelled."""
    asked = Asked()
    if suspension is None:
        yield asked
        return
    log.warning("a webhook probes the endpoint of %s, which is suspended: %s", ref, suspension.reason)
    try:
        yield asked
    finally:
        if asked.attempt is None:
            log.warning("the probe of the endpoint of %s is broken off: the gateway stops", ref)
        elif asked.attempt.error is None:
            log.info("the probe of the endpoint of %s succeeded", ref)
        else:
            error = asked.attempt.error
            log.warning("the probe of the endpoint of %s failed: %s; it stays suspended", ref, error)
