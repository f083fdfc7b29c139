"""watchers/missing_counts.py: the log says once a bot and day that its actual server count is missing."""

import pytest

from tests.support.fake_clock import FakeClock
from watchers.missing_counts import QUIET_SECONDS, MissingCounts


def logged_bots(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage().split()[3] for record in caplog.records]
    caplog.clear()
    return found


def test_a_bot_is_told_of_again_after_a_day(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    missing = MissingCounts(clock)
    missing.tell("bots/1", "because")
    clock.advance_ms(QUIET_SECONDS * 1_000 - 1)
    missing.tell("bots/1", "because")
    missing.tell("bots/2", None)
    assert logged_bots(caplog) == ["bots/1", "bots/2"]

    clock.advance_ms(1)
    for ref in ("bots/1", "bots/2"):
        missing.tell(ref, "because")
    assert logged_bots(caplog) == ["bots/1"]


def test_of_more_bots_than_it_remembers_the_one_told_of_first_is_told_of_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    missing = MissingCounts(FakeClock(), bots=2)
    for number in (1, 2, 3, 3, 2, 1):
        missing.tell(f"bots/{number}", "because")

    assert logged_bots(caplog) == ["bots/1", "bots/2", "bots/3", "bots/1"]
