"""outbound/dial.py: which address a connection goes to."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest

from grammars.http_urls import Target, UrlRefused
from outbound.result import AtFault, HttpResult
from tests.support.coroutines import until
from tests.support.gateways import WAIT_SECONDS
from tests.support.name_server import Says, naming
from tests.support.raw_receivers import (
    BODY,
    LOOPBACK,
    Allowing,
    Run,
    answering,
    full_port,
    listening,
    on_both_loops,
    receiving,
    reset,
    sending,
)

pytestmark = on_both_loops

NAME = "receiver.example"
SHORT = 0.3
OK = (200, None)
PRIVATE = Allowing("127.0.0.1")
"""Here 127.0.0.1 stands for the public addresses, and all others for private ones."""


class Noting(Allowing):
    """Notes the addresses that it is asked about."""

    def __init__(self, *addresses: str) -> None:
        super().__init__(*addresses)
        self.asked: list[str] = []

    def check_address(self, target: Target, address: str) -> None:
        self.asked.append(address)
        super().check_address(target, address)


async def posted_to(
    says: Callable[[str, str], Says] | Says, guard: Allowing = PRIVATE
) -> tuple[HttpResult, int]:
    """Return the answer of the receiver on 127.0.0.1, and how many connections have reached it."""
    async with (
        naming(says) as names,
        receiving(answering()) as peer,
        sending(guard=guard, name_servers=[names.address]) as sender,
    ):
        return await sender.post(peer.at(NAME), {}, BODY), peer.connections


def test_a_name_is_dialled_at_its_address(run: Run) -> None:
    async def main() -> tuple[HttpResult, list[bytes], str]:
        async with (
            naming(["127.0.0.1"]) as names,
            receiving(answering()) as peer,
            sending(name_servers=[names.address]) as sender,
        ):
            return await sender.post(peer.at(NAME), {}, BODY), peer.requests, f"{NAME}:{peer.port}"

    answer, (request,), authority = run(main())
    assert answer[:2] == OK
    assert f"\r\nHost: {authority}\r\n".encode() in request


def test_an_ipv6_address_is_dialled(run: Run) -> None:
    async def main() -> tuple[HttpResult, list[bytes], int]:
        async with receiving(answering(), host="::1") as peer, sending() as sender:
            return await sender.post(peer.at("[::1]"), {}, BODY), peer.requests, peer.port

    answer, (request,), port = run(main())
    assert answer[:2] == OK
    assert f"\r\nHost: [::1]:{port}\r\n".encode() in request


def test_of_mixed_addresses_only_the_allowed_are_dialled(run: Run) -> None:
    guard = Noting("127.0.0.1")
    answer, connections = run(posted_to(["127.0.0.2", "127.0.0.1", "::1"], guard))
    assert (answer[:2], connections) == (OK, 1)
    assert sorted(guard.asked) == ["127.0.0.1", "127.0.0.2", "::1"]


@pytest.mark.parametrize("addresses", [["127.0.0.2"], ["127.0.0.2", "::1", "::ffff:127.0.0.1"]])
def test_a_name_without_an_allowed_address_is_blocked(run: Run, addresses: list[str]) -> None:
    assert run(posted_to(addresses)) == (HttpResult(None, "blocked"), 0)


@pytest.mark.parametrize("host", ["127.0.0.2", "[::1]"])
def test_an_address_in_the_url_is_checked_too(run: Run, host: str) -> None:
    async def main() -> tuple[HttpResult, int]:
        async with receiving(answering(), host=host.strip("[]")) as peer, sending(guard=PRIVATE) as sender:
            return await sender.post(peer.at(host), {}, BODY), peer.connections

    assert run(main()) == (HttpResult(None, "blocked"), 0)


def test_a_name_that_is_bound_again_to_a_private_address_is_blocked(run: Run) -> None:
    """127.0.0.1 stands for the public address, and 127.0.0.2 for the private one that the name has next."""

    async def main() -> tuple[list[HttpResult], list[int]]:
        answers = {"A": chain([["127.0.0.1"]], repeat(["127.0.0.2"])), "AAAA": repeat([])}
        closing = answering("200 OK", b"", "Connection: close")
        async with (
            naming(lambda _, kind: next(answers[kind])) as names,
            receiving(closing) as public,
            receiving(closing, host="127.0.0.2", port=public.port) as private,
            sending(guard=PRIVATE, name_servers=[names.address]) as sender,
        ):
            got = [await sender.post(public.at(NAME), {}, BODY) for _ in range(3)]
            return got, [public.connections, private.connections]

    (first, *others), connections = run(main())
    assert first[:2] == OK
    assert others == [HttpResult(None, "blocked")] * 2
    assert connections == [1, 0]


def test_the_next_address_is_tried_when_one_refuses(run: Run) -> None:
    answer, _ = run(
        posted_to(["127.0.0.2", "127.0.0.3", "127.0.0.1"], Allowing(*LOOPBACK, "127.0.0.2", "127.0.0.3"))
    )
    assert answer[:2] == OK


@pytest.fixture
def full() -> Iterator[int]:
    with full_port() as port:
        yield port


def test_the_next_address_is_tried_when_one_is_silent(run: Run, full: int) -> None:
    async def main() -> HttpResult:
        async with (
            naming(["127.0.0.2", "::1"]) as names,
            receiving(answering(), host="::1", port=full) as peer,
            sending(guard=Allowing("127.0.0.2", "::1"), name_servers=[names.address]) as sender,
        ):
            return await sender.post(peer.at(NAME), {}, BODY)

    assert run(main())[:2] == OK


def test_an_address_that_is_silent_is_a_time_out(run: Run, full: int) -> None:
    async def main() -> HttpResult:
        async with sending(SHORT, Allowing("127.0.0.2")) as sender:
            return await sender.post(f"http://127.0.0.2:{full}/", {}, BODY)

    assert run(main()) == HttpResult(None, "timeout")


def test_if_every_address_refuses_that_is_the_failure(run: Run) -> None:
    guard = Allowing("127.0.0.2", "127.0.0.3")
    assert run(posted_to(["127.0.0.2", "127.0.0.3"], guard)) == (HttpResult(None, "refused"), 0)


def test_a_host_that_cannot_be_reached_is_a_failure_to_connect(run: Run) -> None:
    async def main() -> HttpResult:
        async with sending(guard=Allowing("255.255.255.255")) as sender:
            return await sender.post("http://255.255.255.255/", {}, BODY)

    assert run(main()).error == "connect"


class Outside(Allowing):
    """Notes the two ends of a connection, and refuses one whose ends have the same address."""

    def __init__(self, *addresses: str) -> None:
        super().__init__(*addresses)
        self.ends: list[tuple[str, str]] = []

    def check_ends(self, ours: str, theirs: str) -> None:
        self.ends.append((ours, theirs))
        if ours == theirs:
            raise UrlRefused("this_machine")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_connection_that_turns_out_to_end_where_it_began_is_blocked_before_it_says_a_word(
    run: Run, host: str
) -> None:
    async def main() -> tuple[HttpResult, list[bytes]]:
        async with receiving(answering(), host=host.strip("[]")) as peer, sending(guard=guard) as sender:
            answer = await sender.post(peer.at(host), {}, BODY)
            await until(lambda: peer.ended)
            return answer, peer.requests

    guard = Outside(*LOOPBACK)
    assert run(main()) == (HttpResult(None, "blocked"), [])
    assert guard.ends == [(host.strip("[]"), host.strip("[]"))]


def test_a_connection_that_leads_away_goes_on(run: Run) -> None:
    """A connection to 127.0.0.2 comes from 127.0.0.1."""

    async def main() -> HttpResult:
        async with receiving(answering(), host="127.0.0.2") as peer, sending(guard=guard) as sender:
            return await sender.post(peer.at("127.0.0.2"), {}, BODY)

    guard = Outside("127.0.0.2")
    assert run(main())[:2] == OK
    assert guard.ends == [("127.0.0.1", "127.0.0.2")]


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("NXDOMAIN", HttpResult(None, "dns")),
        ("SERVFAIL", HttpResult(None, "resolver", AtFault.UNKNOWN)),
        (None, HttpResult(None, "resolver", AtFault.UNKNOWN)),
    ],
)
def test_a_name_that_is_not_resolved_is_a_failure_of_its_own(
    run: Run, says: Says, expected: HttpResult
) -> None:
    async def main() -> HttpResult:
        patience = SHORT if says is None else WAIT_SECONDS
        async with naming(says) as names, sending(patience, name_servers=[names.address]) as sender:
            return await sender.post(f"http://{NAME}/", {}, BODY)

    assert run(main()) == expected


def test_a_connection_that_is_reset_as_soon_as_it_stands_is_a_reset(run: Run) -> None:
    async def at_once(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reset(writer)

    async def main() -> HttpResult:
        async with listening(at_once) as port, sending() as sender:
            return await sender.post(f"http://127.0.0.1:{port}/", {}, BODY)

    assert run(main()) == HttpResult(None, "reset")
