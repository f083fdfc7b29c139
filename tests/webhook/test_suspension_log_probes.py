"""webhook/suspension_log.py: a probe has a line when it begins and when it ends, whatever the answer."""

import asyncio
import re

import pytest

from core.rows import Webhook
from outbound.result import AtFault, HttpResult
from tests.support.coroutines import run, until
from tests.support.sample_rows import BOT_REF, NOW_MS
from tests.support.sender_stage import ACCEPTED, FAILED, Stage, staged
from tests.support.slots_set import webhook_saved

SECRET_URL = "http://127.0.0.1/votes/the-secret-of-the-path?token=another"
BEGINS = f"a webhook probes the endpoint of {BOT_REF}, which is suspended: http_410"
ENDS = f"the probe of the endpoint of {BOT_REF} "

PROBE = re.compile("a webhook probes |the probe of ")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert "secret" not in caplog.text
    lines = [record for record in caplog.records if PROBE.match(record.getMessage())]
    said = [record.getMessage() for record in lines]
    assert [record.levelname == "INFO" for record in lines] == [line.endswith("succeeded") for line in said]
    return said


async def suspended(*answers: HttpResult | Exception) -> Stage:
    """A sender whose endpoint has just answered that it is gone. The next answers are to probes."""
    stage = staged()
    stage.commit(webhook_saved(BOT_REF, Webhook(SECRET_URL, NOW_MS)))
    stage.client.answers = [HttpResult(410, "http_410", body=b"a secret"), *answers]
    stage.queue()
    await stage.attempt()
    stage.clock.advance(3_600)
    return stage


@pytest.mark.parametrize(
    ("answer", "end"),
    [
        (ACCEPTED, "succeeded"),
        (FAILED, f"failed: {FAILED.error}; it stays suspended"),
        (HttpResult(None, "proxy", AtFault.PROXY), "failed: proxy; it stays suspended"),
        (RuntimeError("a secret"), "failed: internal; it stays suspended"),
    ],
)
def test_a_probe_has_a_line_when_it_begins_and_one_when_it_ends(
    answer: HttpResult | Exception, end: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        stage = await suspended(answer)
        assert told(caplog) == []
        assert await stage.attempt() == 1
        assert told(caplog) == [BEGINS, ENDS + end]

    run(main())


def test_each_probe_is_told_and_a_test_that_goes_before_is_none(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = await suspended(HttpResult(500, "http_500"), FAILED, FAILED)
        stage.queue("a-test", test=True)
        await stage.attempt()
        stage.clock.advance(7_200)
        await stage.attempt()
        assert (
            told(caplog)[::2]
            == [BEGINS, BEGINS.replace("http_410", str(FAILED.error))][: len(told(caplog)) // 2]
        )
        assert len(told(caplog)) % 2 == 0

    run(main())


def test_a_probe_that_a_stop_breaks_off_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = await suspended()
        stage.client.may_answer.clear()
        assert stage.step() == 1
        probing = asyncio.ensure_future(stage.spawned.pop())
        await until(lambda: len(stage.client.sent) == 2)
        assert told(caplog) == [BEGINS]
        probing.cancel()
        await asyncio.wait([probing])
        assert told(caplog) == [BEGINS, f"{ENDS}is broken off: the gateway stops"]

    run(main())
