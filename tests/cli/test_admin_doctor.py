"""`admin doctor` says what is wrong now, and its status says whether anything is."""

import json

import pytest
from click.testing import CliRunner, Result

from server import cli
from tests.support.gateways import OPERATOR_TOKEN, ThreadGateway
from tests.support.raw_receivers import unused_url

MANY_FAILURES = 301
ADDRESS = "127.0.0.1"


def doctor(url: str, *options: str) -> Result:
    environment = {"VOTEGATE_OPERATOR__TOKEN": OPERATOR_TOKEN, "COLUMNS": "1000"}
    return CliRunner(env=environment).invoke(cli, ["admin", "--url", url, "doctor", *options])


@pytest.fixture
def guessed(gateway: ThreadGateway) -> ThreadGateway:
    """A gateway at which somebody guesses keys."""
    for _ in range(MANY_FAILURES):
        gateway.voters("vg_" + "k" * 43)
    return gateway


def test_while_all_is_well_it_says_so_and_ends_with_0(gateway: ThreadGateway) -> None:
    result = doctor(gateway.base_url)
    assert (result.output, result.exit_code) == ("nothing is wrong\n", 0)


def test_it_names_what_is_wrong_and_what_to_do_and_ends_with_1(guessed: ThreadGateway) -> None:
    result = doctor(guessed.base_url)
    assert result.exit_code == 1
    said, action = result.output.splitlines()
    assert said.startswith(f"addresses: Too many requests from {ADDRESS} have failed: somebody guesses keys")
    assert action.startswith("  /debug/limiter has the addresses.")


def test_as_json_it_is_the_list_of_the_api_and_ends_with_1(guessed: ThreadGateway) -> None:
    result = doctor(guessed.base_url, "--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told == guessed.done("GET", "/debug/concerns")
    assert told["concerns"] == guessed.done("GET", "/debug/overview.json")["concerns"]
    assert [concern["topic"] for concern in told["concerns"]] == ["addresses"]


def test_without_a_gateway_it_ends_with_1() -> None:
    result = doctor(unused_url())
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
