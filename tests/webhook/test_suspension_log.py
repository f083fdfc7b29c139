"""webhook/suspension_log.py: a suspension has a line when it begins and when it ends, and none in between."""

import re

import pytest

from core.events import Event, ListingRemoved
from core.rows import Webhook
from outbound.result import HttpResult
from tests.support.coroutines import run
from tests.support.sample_rows import BOT_REF, NOW_MS
from tests.support.sender_stage import FAILED, Stage, staged
from tests.support.slots_set import webhook_removed, webhook_saved

SECRET_URL = "http://127.0.0.1/votes/the-secret-of-the-path?token=another"
BEGINS = f"the endpoint of {BOT_REF} is suspended: http_410; its webhooks wait, and one probes it in 60 s"
ENDS = f"the endpoint of {BOT_REF} is no longer suspended: "


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines about suspensions. Other files test those about probes and recoveries."""
    lines = [record.getMessage() for record in caplog.records if record.name == "webhook.suspension_log"]
    return [line for line in lines if re.match(r"the endpoint of \S+ is ", line)]


async def suspended() -> Stage:
    """A sender whose endpoint has just answered that it is gone."""
    stage = staged()
    stage.commit(webhook_saved(BOT_REF, Webhook(SECRET_URL, NOW_MS)))
    stage.client.answers = [HttpResult(410, "http_410", body=b"a secret")]
    stage.queue()
    await stage.attempt()
    return stage


async def probed(stage: Stage) -> None:
    stage.clock.advance(3_600)
    assert await stage.attempt() == 1


def test_a_suspension_is_one_line_however_many_probes_fail_and_its_end_another(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        stage = await suspended()
        assert told(caplog) == [BEGINS]
        stage.client.answers = [FAILED] * 3
        stage.queue("next")
        for _ in range(3):
            await probed(stage)
        assert told(caplog) == [BEGINS]
        await probed(stage)
        assert told(caplog) == [BEGINS, f"{ENDS}it took a webhook"]
        stage.client.answers = [HttpResult(410, "http_410")]
        assert await stage.attempt() == 1
        assert told(caplog) == [BEGINS, f"{ENDS}it took a webhook", BEGINS]

    run(main())
    assert {record.levelname for record in caplog.records if record.getMessage() == BEGINS} == {"WARNING"}
    assert {record.levelname for record in caplog.records if ENDS in record.getMessage()} == {"INFO"}
    assert "secret" not in caplog.text
    assert "token" not in caplog.text


@pytest.mark.parametrize(
    ("ending", "cause"),
    [
        (webhook_saved(BOT_REF, Webhook(SECRET_URL, NOW_MS)), "its settings were saved"),
        (webhook_removed(BOT_REF), "it was removed"),
        (ListingRemoved(BOT_REF), "it was removed"),
    ],
    ids=type,
)
def test_what_ends_a_suspension_is_told(ending: Event, cause: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = await suspended()
        stage.commit(ending)
        assert told(caplog) == [BEGINS, ENDS + cause]

    run(main())


def test_a_new_secret_ends_no_suspension(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = await suspended()
        rotated = Webhook(SECRET_URL, NOW_MS, secret="whsec_new", suspension=stage.webhook().suspension)
        stage.commit(webhook_saved(BOT_REF, rotated))
        assert told(caplog) == [BEGINS]

    run(main())


def test_a_suspension_of_before_a_start_is_told_of_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = Stage((await suspended()).ledger.state)
        caplog.clear()
        stage.client.answers = [FAILED]
        await probed(stage)
        assert told(caplog) == []
        await probed(stage)
        assert told(caplog) == [f"{ENDS}it took a webhook"]

    run(main())


def test_an_endpoint_that_was_never_suspended_is_never_told_of(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        stage = staged()
        stage.client.answers = [FAILED] * 4
        stage.queue()
        for _ in range(4):
            await stage.attempt()
            stage.clock.advance(5)
        stage.queue("d2")
        await stage.attempt()
        stage.commit(webhook_removed(BOT_REF))

    run(main())
    assert told(caplog) == []
