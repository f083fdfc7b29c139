"""Where the actual server count comes from: the operator, an outside lookup, or nowhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import BOT_PATH, NO_ACTUAL_COUNT, TORNADO_WHEN_LONG, refusal
from tests.gateway import BOT, OTHER_BOT, ThreadGateway, running
from tests.receiver import Answer, Receiver, drop, status

pytestmark = TORNADO_WHEN_LONG


@pytest.fixture(params=["no actual count", "no look-up"])
def countless(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ThreadGateway]:
    """Gateways that cannot know how many servers a bot is in."""
    source = "operator" if request.param == "no actual count" else "none"
    with running(tmp_path / "data", **{"guild_counts.source": source}) as gateway:
        yield gateway


def test_a_server_count_is_500_when_the_actual_one_cannot_be_known(countless: ThreadGateway) -> None:
    key = countless.list_bot(actual=None)

    assert refusal(countless.stats(key, {"server_count": 5, "command_count": 5})) == NO_ACTUAL_COUNT
    assert countless.done("GET", BOT_PATH)["command_count"] is None


def test_a_command_count_alone_needs_no_actual_server_count(countless: ThreadGateway) -> None:
    key = countless.list_bot(actual=None)

    assert countless.stats(key, {"command_count": 5}).json() == {"success": True}


def lookup(receiver: Receiver, **settings: object) -> dict[str, object]:
    """Settings that ask the receiver for actual counts."""
    named = {
        "source": "http",
        "url": receiver.url + "/guilds/{id}",
        "authorization": "lookup-secret",
        **settings,
    }
    return {f"guild_counts.{name}": value for name, value in named.items()}


@pytest.fixture
def looking_up(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    with running(tmp_path / "data", **lookup(receiver)) as gateway:
        yield gateway


def test_the_actual_count_is_obtained_from_an_outside_lookup(
    looking_up: ThreadGateway, receiver: Receiver
) -> None:
    receiver.default = status(200, b'{"server_count": 2000}')
    key = looking_up.list_bot(actual=None)

    assert refusal(looking_up.stats(key, {"server_count": 2_201}))[0] == 400
    assert looking_up.stats(key, {"server_count": 2_200}).status_code == 200
    assert receiver.received[0].path == f"/guilds/{BOT}"
    assert receiver.received[0].headers["authorization"] == "lookup-secret"


def test_an_answer_of_the_lookup_is_good_for_a_minute(looking_up: ThreadGateway, receiver: Receiver) -> None:
    receiver.answers = [status(200, b'{"server_count": 1000}'), status(200, b'{"server_count": 5000}')]
    key = looking_up.list_bot(actual=None)
    assert looking_up.stats(key, {"server_count": 1_000}).status_code == 200

    looking_up.clock.advance_ms(59_999)
    assert refusal(looking_up.stats(key, {"server_count": 5_000}))[0] == 400

    looking_up.clock.advance_ms(1)
    assert looking_up.stats(key, {"server_count": 5_000}).status_code == 200
    assert len(receiver.received) == 2


def test_each_bot_is_looked_up_by_its_id(looking_up: ThreadGateway, receiver: Receiver) -> None:
    receiver.default = status(200, b'{"server_count": 1000}')
    for bot in (BOT, OTHER_BOT):
        key = looking_up.list_bot(bot, actual=None)
        looking_up.stats(key, {"server_count": 1_000}, bot=bot)

    assert [call.path for call in receiver.received] == [f"/guilds/{BOT}", f"/guilds/{OTHER_BOT}"]


@pytest.mark.parametrize(
    "answer",
    [
        status(500),
        status(404, b'{"server_count": 1000}'),
        status(302, b'{"server_count": 1000}', Location="/other"),
        status(200, b"1000"),
        status(200, b'{"server_count": "1000"}'),
        status(200, b'{"server_count": -1}'),
        status(200, b'{"server_count": 1000}' + b" " * 20_000),
        drop,
    ],
    ids=["500", "404", "redirect", "no object", "string", "negative", "too long", "dropped"],
)
def test_a_lookup_that_fails_is_500(looking_up: ThreadGateway, receiver: Receiver, answer: Answer) -> None:
    receiver.default = answer
    key = looking_up.list_bot(actual=None)

    assert refusal(looking_up.stats(key, {"server_count": 1_000})) == NO_ACTUAL_COUNT
    assert {call.path for call in receiver.received} == {f"/guilds/{BOT}"}


def test_a_lookup_that_takes_too_long_is_500(tmp_path: Path, receiver: Receiver) -> None:
    receiver.default = receiver.hang
    with running(tmp_path / "data", **lookup(receiver, timeout_seconds=0.1)) as gateway:
        key = gateway.list_bot(actual=None)

        assert refusal(gateway.stats(key, {"server_count": 1_000})) == NO_ACTUAL_COUNT
