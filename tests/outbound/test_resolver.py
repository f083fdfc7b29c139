"""outbound/resolver.py, against a name server of the test."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from outbound import resolver as resolver_module
from outbound.resolver import MAX_ADDRESSES, Resolver
from outbound.result import AtFault, ExchangeFailed
from tests.support.coroutines import until
from tests.support.name_server import NameServer, Says, naming
from tests.support.raw_receivers import Run, on_both_loops, unused_port

pytestmark = on_both_loops

NAME = "receiver.example"
DNS = ("dns", AtFault.ENDPOINT)
RESOLVER = ("resolver", AtFault.UNKNOWN)

Found = list[str] | tuple[str, AtFault]


async def found(resolver: Resolver, name: str = NAME) -> Found:
    try:
        return await resolver.resolve(name)
    except ExchangeFailed as failed:
        return failed.error, failed.fault


async def asked(
    says: Callable[[str, str], Says] | Says, ask: Callable[[Resolver, NameServer], Awaitable[Found]]
) -> Found:
    async with naming(says) as server:
        resolver = Resolver([server.address])
        try:
            return await ask(resolver, server)
        finally:
            await resolver.close()


async def resolved(says: Callable[[str, str], Says] | Says, name: str = NAME) -> Found:
    return await asked(says, lambda resolver, _: found(resolver, name))


def test_the_addresses_of_both_families_come_by_turns(run: Run) -> None:
    addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"]
    answer = list(map(str, run(resolved(addresses))))
    assert sorted(answer) == sorted(addresses)
    assert [":" in address for address in answer] == [False, True, False, False]


def test_of_very_many_addresses_a_few_are_enough(run: Run) -> None:
    addresses = [f"192.0.2.{number}" for number in range(1, 50)]
    assert len(run(resolved(addresses))) == MAX_ADDRESSES


def test_the_rest_of_a_truncated_answer_is_not_asked_for(run: Run) -> None:
    """A TCP answer may hold 4,000 addresses, and the owner of the name chooses how many.

    The name server does not answer over TCP, so a question there finds nothing.
    """
    addresses = [f"192.0.{third}.{fourth}" for third in (2, 3) for fourth in range(1, 251)]
    assert len(run(resolved(addresses))) == MAX_ADDRESSES


@pytest.mark.parametrize("addresses", [["192.0.2.1"], ["2001:db8::1"]])
def test_one_family_is_enough(run: Run, addresses: list[str]) -> None:
    assert run(resolved(addresses)) == addresses


@pytest.mark.parametrize("absent", ["NXDOMAIN", []])
def test_a_name_without_addresses_is_the_owner_s_failure(run: Run, absent: Says) -> None:
    assert run(resolved(absent)) == DNS


@pytest.mark.parametrize("name", ["a" * 64 + ".example", "a..example", "a." * 130 + "example"])
def test_a_name_that_cannot_be_is_the_owner_s_failure(run: Run, name: str) -> None:
    assert run(resolved("SERVFAIL", name)) == DNS


@pytest.mark.parametrize("ill", ["SERVFAIL", "REFUSED"])
def test_a_resolver_that_fails_is_not_charged_to_the_owner(run: Run, ill: str) -> None:
    assert run(resolved(ill)) == RESOLVER


@pytest.mark.parametrize("ill", ["A", "AAAA"])
def test_a_resolver_that_answers_for_one_family_alone_has_failed(run: Run, ill: str) -> None:
    assert run(resolved(lambda _, kind: "SERVFAIL" if kind == ill else [])) == RESOLVER


@pytest.mark.parametrize(("ill", "address"), [("A", "2001:db8::1"), ("AAAA", "192.0.2.1")])
@pytest.mark.parametrize("says", ["SERVFAIL", None])
def test_the_addresses_of_one_family_do_not_wait_for_the_other(
    run: Run, ill: str, address: str, says: Says
) -> None:
    async def ask(resolver: Resolver, server: NameServer) -> Found:
        answer = await found(resolver)
        if says is None:
            assert server.questions.count((NAME, ill)) == 1  # the second try is yet to come
        return answer

    assert run(asked(lambda _, kind: says if kind == ill else [address], ask)) == [address]


def test_a_resolver_that_is_silent_has_failed(run: Run) -> None:
    assert run(resolved(None)) == RESOLVER


def test_a_resolver_that_is_not_there_has_failed(run: Run) -> None:
    async def main() -> Found:
        resolver = Resolver([f"127.0.0.1:{unused_port()}"])
        try:
            return await found(resolver)
        finally:
            await resolver.close()

    assert run(main()) == RESOLVER


def test_a_second_name_server_is_asked_when_the_first_fails(run: Run) -> None:
    async def main() -> Found:
        async with naming(["192.0.2.1"]) as healthy, naming("SERVFAIL") as ill:
            resolver = Resolver([ill.address, healthy.address])
            try:
                return await found(resolver)
            finally:
                await resolver.close()

    assert run(main()) == ["192.0.2.1"]


def test_a_name_that_nobody_answers_for_delays_no_other(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_module, "TRY_SECONDS", 10.0)  # a busy machine must not reach it

    async def ask(resolver: Resolver, _: NameServer) -> Found:
        waiting = [asyncio.create_task(found(resolver, f"dead{number}.example")) for number in range(100)]
        await asyncio.sleep(0)
        answers = {tuple(await found(resolver, f"live{number}.example")) for number in range(5)}
        assert not [task for task in waiting if task.done()]
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        return list(*answers)

    answer = run(asked(lambda name, _: None if name.startswith("dead") else ["192.0.2.1"], ask))
    assert answer == ["192.0.2.1"]


def test_those_who_ask_for_one_name_at_a_time_share_one_question(run: Run) -> None:
    async def ask(resolver: Resolver, server: NameServer) -> Found:
        first, *others = [asyncio.create_task(found(resolver)) for _ in range(20)]
        await asyncio.sleep(0)
        first.cancel()  # the others still get the answer
        answers = {tuple(answer) for answer in await asyncio.gather(*others)}
        assert sorted(server.questions) == [(NAME, "A"), (NAME, "AAAA")]
        assert first.cancelled()
        return list(*answers)

    assert run(asked(["192.0.2.1"], ask)) == ["192.0.2.1"]


def test_a_failure_is_shared_too(run: Run) -> None:
    async def ask(resolver: Resolver, _: NameServer) -> Found:
        answers = await asyncio.gather(*(found(resolver) for _ in range(20)))
        assert set(map(tuple, answers)) == {DNS}
        return answers[0]

    assert run(asked("NXDOMAIN", ask)) == DNS


@pytest.mark.parametrize(("ttl", "questions"), [(0, 4), (60, 2)])
def test_an_address_is_remembered_for_as_long_as_it_may(run: Run, ttl: int, questions: int) -> None:
    async def ask(resolver: Resolver, server: NameServer) -> Found:
        server.ttl = ttl
        await found(resolver)
        answer = await found(resolver)
        assert len(server.questions) == questions
        return answer

    assert run(asked(["192.0.2.1", "2001:db8::1"], ask)) == ["192.0.2.1", "2001:db8::1"]


@pytest.mark.parametrize("kinds", [["A", "AAAA"], ["A"], ["AAAA"]])
@pytest.mark.parametrize("absent", ["NXDOMAIN", []])
def test_a_name_that_gets_its_address_later_is_found_the_next_time_it_is_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch, absent: Says, kinds: list[str]
) -> None:
    monkeypatch.setattr(resolver_module, "ABSENT_SECONDS", 0)
    addresses = {"A": "192.0.2.1", "AAAA": "2001:db8::1"}

    async def ask(resolver: Resolver, server: NameServer) -> Found:
        server.ttl = 3_600
        assert await found(resolver) == DNS
        server.says = lambda _, kind: [addresses[kind]] if kind in kinds else []
        assert await found(resolver, "other.example") != DNS
        return await found(resolver)

    assert run(asked(absent, ask)) == [addresses[kind] for kind in kinds]


def test_an_answer_without_addresses_is_kept_for_a_moment_so_that_nobody_can_make_us_open_channels(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[resolver_module._Channel] = []

    class Counted(resolver_module._Channel):
        def __init__(self, name_servers: Sequence[str]) -> None:
            super().__init__(name_servers)
            opened.append(self)

    monkeypatch.setattr(resolver_module, "ABSENT_SECONDS", 3_600)
    monkeypatch.setattr(resolver_module, "_Channel", Counted)

    async def ask(resolver: Resolver, server: NameServer) -> Found:
        answers = [await found(resolver, f"absent{number % 5}.example") for number in range(50)]
        assert set(answers) == {DNS}
        assert len(opened) == 2
        assert len(server.questions) == 5 * 2 * 2
        return answers[0]

    assert run(asked([], ask)) == DNS


def test_a_channel_that_is_too_old_for_new_questions_still_answers_those_it_has(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "ABSENT_SECONDS", 0)

    async def ask(resolver: Resolver, server: NameServer) -> Found:
        def says(name: str, kind: str) -> Says:
            return None if name == "late.example" and server.questions.count((name, kind)) == 2 else []

        server.says = says
        late = asyncio.create_task(found(resolver, "late.example"))
        await until(lambda: len(server.unanswered) == 2)
        assert await found(resolver, "absent.example") == DNS
        assert await found(resolver, "absent.example") == DNS
        server.says = lambda _, __: ["192.0.2.1"]
        server.speak()
        return await late

    assert run(asked([], ask)) == ["192.0.2.1"]


def test_localhost_needs_no_name_server(run: Run) -> None:
    assert "127.0.0.1" in run(resolved("SERVFAIL", "localhost"))


def test_the_search_list_of_our_network_is_not_for_owners_names(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "our-network.example")  # resolver(5)

    async def ask(resolver: Resolver, server: NameServer) -> Found:
        answer = await found(resolver, "intranet")
        assert {name for name, _ in server.questions} == {"intranet"}
        return answer

    assert run(asked("NXDOMAIN", ask)) == DNS


def test_closing_gives_up_what_is_being_asked(run: Run) -> None:
    async def main() -> bool:
        async with naming(None) as server:
            resolver = Resolver([server.address])
            asking = asyncio.create_task(found(resolver))
            while not server.questions:  # noqa: ASYNC110 (the name server tells nobody)
                await asyncio.sleep(0)
            await resolver.close()
            await asyncio.wait([asking])
            return asking.cancelled()

    assert run(main())
