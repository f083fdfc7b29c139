"""The actual server count from the chat platform, beside a stand-in and its faults."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.contract import NO_ACTUAL_COUNT, refusal
from tests.support.gateways import eventually
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import BOT_TOKEN, CLIENT_ID, READY, SILENT

DAY_SECONDS = 86_400


def directory(bot: str = READY) -> str:
    return f"/application-directory-static/applications/{bot}"


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[PeopleGateway]:
    """A gateway with a bot token: the platform is its source of counts by default."""
    settings = {"guild_counts.cache_seconds": 0, "chat_platform.bot_token": BOT_TOKEN}
    with serving(tmp_path / "data", **settings) as gateway:
        yield gateway


def asked(gateway: PeopleGateway, bot: str = READY, times: int = 1) -> None:
    """Wait until the platform was asked so often for a bot."""
    eventually(lambda: gateway.stand_in.asked(directory(bot)) >= times)


def pushed(gateway: PeopleGateway, key: str, servers: int, bot: str = READY) -> int:
    return gateway.stats(key, {"server_count": servers}, bot).status_code


def test_a_bot_in_the_directory_is_compared_with_what_the_platform_tells(asking: PeopleGateway) -> None:
    key = asking.list_bot(READY, actual=None)

    eventually(lambda: pushed(asking, key, 1_320) == 200)
    assert refusal(asking.stats(key, {"server_count": 1_321}, READY)) == (
        400,
        "The server count provided (1321) is too far off from the actual server count. It cannot differ by "
        "more than 120 from the actual server count, which is 1200.",
    )


def test_the_platform_tells_a_bot_the_count_of_its_own_application(asking: PeopleGateway) -> None:
    key = asking.list_bot(CLIENT_ID, actual=None)
    eventually(lambda: pushed(asking, key, 7, CLIENT_ID) == 200)
    assert asking.stand_in.asked(directory(CLIENT_ID)) == 0


def test_the_count_of_other_bots_is_unknown_until_the_operator_sets_it(asking: PeopleGateway) -> None:
    key = asking.list_bot(SILENT, actual=None)
    asked(asking, SILENT)
    eventually(lambda: "in its directory alone" in asking.done("POST", path(SILENT) + "/keys", NAMED)["hint"])

    response = asking.stats(key, {"server_count": 5}, SILENT)
    assert refusal(response) == NO_ACTUAL_COUNT
    assert response.headers["retry-after"] == "3600", "the operator must act"
    assert asking.stats(key, {"command_count": 5}, SILENT).status_code == 200
    asking.done("PUT", f"{path(SILENT)}/actual-server-count", {"server_count": 5})
    assert pushed(asking, key, 5, SILENT) == 200


def test_a_push_waits_for_no_platform_that_is_slow(asking: PeopleGateway) -> None:
    asking.stand_in.goes_wrong(directory(), "slow", 100)
    key = asking.list_bot(READY, actual=None)
    asked(asking)

    # The platform's answer is under way, and takes a minute.
    response = asking.stats(key, {"server_count": 1_200}, READY)
    assert refusal(response) == NO_ACTUAL_COUNT
    assert response.headers["retry-after"] == "5"
    assert asking.stand_in.asked(directory()) == 1


@pytest.mark.parametrize("fault", ["500", "cut", "missing"])
def test_a_wrong_answer_of_the_platform_is_unknown_and_a_known_count_stays_known(
    asking: PeopleGateway, fault: str
) -> None:
    asking.stand_in.goes_wrong(directory(), fault)
    key = asking.list_bot(READY, actual=None)
    eventually(lambda: pushed(asking, key, 1_200) == 200)

    asking.stand_in.goes_wrong(directory(), "500", 100)
    asking.clock.advance(DAY_SECONDS)
    for _ in range(2):
        assert pushed(asking, key, 1_200) == 200


def test_a_restart_asks_for_the_bots_that_push(asking: PeopleGateway) -> None:
    key = asking.list_bot(READY, actual=None)
    eventually(lambda: pushed(asking, key, 1_200) == 200)
    before = asking.stand_in.asked(directory())
    asking.restart()
    asked(asking, times=before + 1)
    eventually(lambda: pushed(asking, key, 1_200) == 200)


NAMED = {"name": "tests"}


def path(bot: str) -> str:
    return f"/manage/bots/{bot}"
