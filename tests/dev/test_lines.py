"""The lines that a developer reads."""

import pytest

from dev.advice import ADVICE
from dev.happenings import (
    AnsweredRequest,
    AttemptedDelivery,
    DoneCommand,
    DroppedLines,
    Happening,
    PausedEndpoint,
    ReadyToServe,
)
from dev.lines import DevLines, as_json
from handlers.routes import GUIDE
from languages.said import SAID, Code, in_words
from tests.support.gateways import BOT, USER

URL = "http://127.0.0.1:65535"
LINES = DevLines(BOT, has_colours=False, has_keys=True)


def request(path: str = f"/bots/{BOT}/voters/{USER}", status: int = 200, **more: object) -> AnsweredRequest:
    fields: dict[str, object] = {"limit": 1_000, "remaining": 1_000, **more}
    return AnsweredRequest(
        at=0,
        id="r",
        method="DELETE",
        path=path,
        status=status,
        duration_ms=0.5,
        **fields,  # type: ignore[arg-type]
    )


def delivery(**more: object) -> AttemptedDelivery:
    return AttemptedDelivery(
        at=0,
        id="d",
        type="vote",
        test=False,
        user=USER,
        attempt=10,
        status=204,
        duration_ms=4_999,
        **more,  # type: ignore[arg-type]
    )


def refusal(code: Code) -> AnsweredRequest:
    advice = ADVICE[code]
    return request(
        status=SAID[code].status,
        code=code,
        error=in_words(code, SAID[code].facts),
        retry_after=7_200,
        advice=advice.text,
        guide=f"{URL}{GUIDE}#{advice.anchor}",
        by_key=True,
    )


EVERYTHING: list[Happening] = [
    ReadyToServe(
        at=0,
        url=URL,
        bot_id=BOT,
        env_file="votegate.env",
        is_added=True,
        webhook=f"{URL}/votes",
        guide=URL + GUIDE,
        real_limits=False,
    ),
    request(),
    *map(refusal, ADVICE),
    delivery(),
    delivery(
        error="http_401", reason="the answer had status 401", answer="no " * 166, advice="Check it." * 9
    ),
    DroppedLines(at=0, number=1_000_000),
    PausedEndpoint(at=0, failed=1_000, retry_in=3_600),
    DoneCommand(at=0, command="v", ok=False, text="no " * 100),
]


@pytest.mark.parametrize("happening", EVERYTHING, ids=lambda each: type(each).__name__)
def test_lines_fit_80_columns(happening: Happening) -> None:
    assert max(map(len, LINES.of(happening).splitlines())) <= 80


def test_the_id_of_the_demo_bot_is_short_in_a_path() -> None:
    assert f"/bots/BOT_ID/voters/{USER}" in LINES.of(request())


@pytest.mark.parametrize("happening", EVERYTHING, ids=lambda each: type(each).__name__)
def test_lines_of_a_narrow_terminal_break_only_between_words(happening: Happening) -> None:
    narrow = DevLines(BOT, has_colours=False, has_keys=True, width=lambda: 40)
    for line in narrow.of(happening).splitlines():
        has_path = "/bots/BOT_ID" in line
        assert len(line) <= 40 or has_path or len(line.split()) <= 2, line
    assert narrow.of(happening).split() == LINES.of(happening).split()


def test_a_long_path_is_whole() -> None:
    path = "/" + "x" * 200
    first, below = LINES.of(request(path)).splitlines()
    assert first.endswith(path)
    assert below.strip() == "1,000 left"


def test_a_text_of_others_steers_no_terminal() -> None:
    hostile = "\x1b]0;title\x07\r\n\u202e"
    shown = LINES.of(request(hostile, 400, error=hostile, sent=hostile))
    shown += LINES.of(delivery(error="http_500", reason="bad", answer=hostile))
    shown += LINES.of(DoneCommand(at=0, command="\x1b", ok=False, text=hostile))
    assert all(each.isprintable() for each in shown.replace("\n", ""))


@pytest.mark.parametrize("happening", EVERYTHING, ids=lambda each: type(each).__name__)
def test_json_has_one_line_for_each(happening: Happening) -> None:
    assert "\n" not in as_json(happening)
    assert '"event":"' in as_json(happening)
