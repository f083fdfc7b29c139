"""webhook/suspension_log.py: a recovery has a line when it begins and when it ends."""

import re

import pytest

from core.events import EndpointHealthSet, Event, ListingRemoved
from outbound.result import HttpResult
from tests.support.coroutines import run
from tests.support.sample_rows import BOT_REF
from tests.support.sender_stage import Stage, staged
from tests.support.slots_set import webhook_removed

GONE = HttpResult(410, "http_410")

RECOVERY = re.compile(r"the endpoint of \S+ recovers ?")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record for record in caplog.records if RECOVERY.match(record.getMessage())]
    assert {record.levelname for record in lines} <= {"INFO"}
    return [record.getMessage() for record in lines]


def begins(count: int) -> str:
    return f"the endpoint of {BOT_REF} recovers: it is sent the webhooks that waited, {count} of them"


def ends(cause: str) -> str:
    return f"the endpoint of {BOT_REF} recovers no longer: {cause}"


async def suspended(waiting: int) -> Stage:
    """Make a sender whose endpoint has answered that it is gone, with so many waiting webhooks."""
    stage = staged()
    stage.client.answers = [GONE]
    stage.queue("first")
    await stage.attempt()
    for number in range(1, waiting):
        stage.queue(f"d{number}")
    stage.clock.advance(3_600)
    return stage


async def attempted(stage: Stage) -> None:
    """Let deliveries leave. Those that waited leave at the pace of the endpoint."""
    stage.clock.advance(1)
    assert await stage.attempt()


def test_a_recovery_ends_when_all_that_waited_was_attempted(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = await suspended(4)
        await attempted(stage)
        assert told(caplog) == [begins(3)]
        stage.client.answers = [HttpResult(500, "http_500")]
        before = len(stage.client.sent)
        while len(told(caplog)) == 1:
            assert len(stage.client.sent) - before < 3
            await attempted(stage)
        assert len(stage.client.sent) - before >= 3
        assert told(caplog) == [begins(3), ends("nothing that waited is left")]
        stage.queue("new")
        await attempted(stage)
        assert len(told(caplog)) == 2

    run(main())


def test_without_a_webhook_that_waited_there_is_no_recovery(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = await suspended(1)
        await attempted(stage)
        assert "no longer suspended" in caplog.text
        assert told(caplog) == []

    run(main())


def test_a_suspension_ends_a_recovery(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = await suspended(3)
        await attempted(stage)
        stage.client.answers = [GONE]
        await attempted(stage)
        assert told(caplog) == [begins(2), ends("it is suspended again")]

    run(main())


@pytest.mark.parametrize("ending", [webhook_removed(BOT_REF), ListingRemoved(BOT_REF)], ids=type)
def test_when_nothing_waits_any_more_a_recovery_is_over(
    ending: Event, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        stage = await suspended(3)
        stage.commit(EndpointHealthSet(BOT_REF, 0, None))
        assert told(caplog) == [begins(3)]
        stage.commit(ending)
        assert told(caplog) == [begins(3), ends("nothing that waited is left")]

    run(main())
