"""Higher limits for a bot, as the operator sets them."""

from typing import Any

from requests import Response

from tests.support.contract import BOT_PATH, Limit, limit
from tests.support.gateways import OTHER_BOT, ThreadGateway

UPDATE = {"command_count": 5}
STATS_WINDOW = 7_200


def update(gateway: ThreadGateway, key: str, times: int = 1) -> Response:
    """The last of so many stats updates."""
    for _ in range(times - 1):
        assert gateway.stats(key, UPDATE).status_code == 200
    return gateway.stats(key, UPDATE)


def override(gateway: ThreadGateway, **limits: Any) -> Any:
    return gateway.done("PUT", f"{BOT_PATH}/limits", limits)


def test_the_operator_sets_higher_limits_for_a_bot(gateway: ThreadGateway, key: str) -> None:
    stats, voters = ({"requests": 5, "window_seconds": 60}, {"requests": 1_000, "window_seconds": 10})

    answer = override(gateway, stats=stats, voters=voters)

    assert answer == {"success": True, "stats": stats, "voters": voters}
    assert limit(update(gateway, key)) == Limit(5, 4, 60)
    assert limit(gateway.voters(key)) == Limit(1_000, 999, 10)


def test_an_override_holds_for_its_bot_and_endpoint_alone(gateway: ThreadGateway, key: str) -> None:
    other = gateway.list_bot(OTHER_BOT)

    override(gateway, stats={"requests": 5, "window_seconds": 60})

    assert limit(gateway.voters(key)).limit == 100
    assert limit(gateway.stats(other, UPDATE, bot=OTHER_BOT)).limit == 2


def test_an_override_left_out_is_the_default_again(gateway: ThreadGateway, key: str) -> None:
    override(gateway, stats={"requests": 5, "window_seconds": 60})

    assert override(gateway) == {"success": True, "stats": None, "voters": None}

    assert limit(update(gateway, key)) == Limit(2, 1, STATS_WINDOW)


def test_a_higher_limit_frees_a_bot_at_once_and_counts_what_was_used(
    gateway: ThreadGateway, key: str
) -> None:
    update(gateway, key, 2)
    override(gateway, stats={"requests": 5, "window_seconds": STATS_WINDOW})

    assert limit(update(gateway, key)) == Limit(5, 2, STATS_WINDOW)


def test_an_override_and_its_window_survive_a_restart(gateway: ThreadGateway, key: str) -> None:
    override(gateway, stats={"requests": 5, "window_seconds": 60})
    update(gateway, key, 3)

    gateway.restart(seconds_down=59)

    assert limit(update(gateway, key)) == Limit(5, 1, 1)
    gateway.advance(1)
    assert limit(update(gateway, key)) == Limit(5, 4, 60)
