"""webhook/notifier.py: the log lines of an attempt have the id of the request that queued its delivery."""

from contextvars import copy_context

import pytest

from core.actors import REQUEST_ID
from core.events import DeliveryAttempted, DeliveryQueued
from core.rows import Attempt
from tests.support.sample_rows import BOT_REF, NOW_MS
from webhook.notifier import Origins


def queued(name: str) -> DeliveryQueued:
    return DeliveryQueued(name, BOT_REF, "5" * 18, test=False, at_ms=NOW_MS)


def queue_for(origins: Origins, request: str, *names: str) -> None:
    def read() -> None:
        REQUEST_ID.set(request)
        origins.on_record([queued(name) for name in names])

    copy_context().run(read)


def entered(origins: Origins, name: str) -> str:
    def enter() -> str:
        origins.enter(name)
        return REQUEST_ID.get()

    return copy_context().run(enter)


def test_an_attempt_is_of_the_request_that_queued_its_delivery() -> None:
    origins = Origins()
    queue_for(origins, "one", "a", "b")
    queue_for(origins, "two", "c")
    queue_for(origins, "", "d")
    assert [entered(origins, name) for name in "abcd"] == ["one", "one", "two", ""]


def test_a_delivery_that_is_over_or_one_of_too_many_has_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.notifier.ORIGINS_KEPT", 2)
    origins = Origins()
    queue_for(origins, "one", "a", "b", "c")
    attempt = Attempt(NOW_MS, 1, 500, "http_500", "")
    retried = DeliveryAttempted("c", BOT_REF, 1, attempt, "retry", NOW_MS)
    for _ in range(2):
        origins.on_record([DeliveryAttempted("b", BOT_REF, 1, attempt, "failed", None), retried])
    assert [entered(origins, name) for name in "abc"] == ["", "", "one"]
