"""The targets of webhooks: public addresses only, when the URL is saved and again at every attempt.

The same holds for images in descriptions: the tests of attempts run for both ways out.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.clock import MS_PER_DAY
from grammars.http_urls import Target
from outbound import resolver, targets
from outbound.dial import Dialler
from outbound.http1 import ClientConnection
from outbound.local_addresses import LocalAddresses
from outbound.result import ExchangeFailed, ExchangeProgress
from outbound.targets import TargetGuard
from tests.support.certificate_authority import trusted
from tests.support.contract import BOT_PATH, attempted, deliveries, pending, set_webhook, webhook
from tests.support.described_images import describe, shown_images
from tests.support.gateways import OTHER_USER, WAIT_SECONDS, ThreadGateway, running
from tests.support.name_server import NameServer, Says, naming
from tests.support.page_visitor import PageVisitor
from tests.support.people_gateway import serving
from tests.support.ways_out import WAYS_OUT, WayOut
from tests.support.webhook_receiver import Receiver, receiving, status

WEBHOOK = f"{BOT_PATH}/webhook"
STRICT: dict[str, object] = {"webhooks.allow_private_targets": False}
THIS_MACHINE = "must not lead to the machine that this gateway runs on"
PRIVATE = "must not lead to a private address ({})"
FOUR_NUMBERS = "must write the IPv4 address of its host as four numbers from 0 to 255"
PLAIN = "must be plain ASCII without spaces, control characters or backslashes"
NO_USER = "must not carry a user name or password"
NO_DOT = "must not have a dot at an end of its host, or two together"
PORT = "must have a port from 1 to 65535 without leading zeros, if any"
OPEN_PORTS = "must have port 80, port 443 or one from 1024 to 65535"
NO_URL = "must be an http or https URL with a host"
REFUSED_NETWORK = "must not lead to a network that the operator has refused"

REFUSED: dict[str, str] = {
    "https://127.0.0.1/": PRIVATE.format("loopback"),
    "https://127.255.255.254:8443/": PRIVATE.format("loopback"),
    "https://[::1]/": PRIVATE.format("loopback"),
    "https://[::ffff:127.0.0.1]/": PRIVATE.format("IPv4-mapped"),
    "https://10.0.0.1/": PRIVATE.format("private network"),
    "https://172.16.0.1/": PRIVATE.format("private network"),
    "https://192.168.1.1/": PRIVATE.format("private network"),
    "https://[fd00::1]/": PRIVATE.format("private network"),
    "https://169.254.1.1/": PRIVATE.format("link-local"),
    "https://169.254.169.254/latest/meta-data/": PRIVATE.format("cloud metadata"),
    "https://[fe80::1]/": PRIVATE.format("link-local"),
    "https://100.64.0.1/": PRIVATE.format("shared by carriers"),
    "https://0.0.0.0/": PRIVATE.format("unspecified"),
    "https://224.0.0.1/": PRIVATE.format("multicast"),
    "https://255.255.255.255/": PRIVATE.format("broadcast"),
    "https://localhost/": PRIVATE.format("localhost"),
    "https://LOCALHOST:8443/": PRIVATE.format("localhost"),
    "https://bot.localhost/": PRIVATE.format("localhost"),
    "https://printer.local/": PRIVATE.format("local"),
    "https://metadata.google.internal/": PRIVATE.format("internal"),
    "https://router.home.arpa/": PRIVATE.format("home.arpa"),
    "https://intranet/": PRIVATE.format("a name without a dot"),
    "https://2130706433/": FOUR_NUMBERS,
    "https://0x7f000001/": FOUR_NUMBERS,
    "https://0x7f.1/": FOUR_NUMBERS,
    "https://0177.0.0.1/": FOUR_NUMBERS,
    "https://127.1/": FOUR_NUMBERS,
    "https://127.0.0.256/": FOUR_NUMBERS,
    "https://１２７.0.0.1/": PLAIN,
    "https://①②⑦.0.0.1/": PLAIN,
    "https://127。0。0。1/": PLAIN,
    "https://example.com\\@127.0.0.1/": PLAIN,
    "https://example.com/\r\nHost: 127.0.0.1": PLAIN,
    "https://exam\tple.com/": PLAIN,
    "https://example.com/\x00": PLAIN,
    " https://example.com/": PLAIN,
    "https://user@example.com/": NO_USER,
    "https://user:password@example.com/": NO_USER,
    "https://example.com@127.0.0.1/": NO_USER,
    "https://127.0.0.1./": NO_DOT,
    "https://example.com./": NO_DOT,
    "https://example..com/": NO_DOT,
    "https://example.com:0/": PORT,
    "https://example.com:65536/": PORT,
    "https://example.com:0443/": PORT,
    "https://example.com:-1/": PORT,
    "https://example.com:/": PORT,
    "https://example.com:22/": OPEN_PORTS,
    "https://example.com:1023/": OPEN_PORTS,
    "https://example.com:25/": OPEN_PORTS,
    "https://example.com:6379/": "must not have port 6379, which belongs to another protocol",
    "https://8.8.8.8:5432/": "must not have port 5432, which belongs to another protocol",
    "https://203.0.113.7/": PRIVATE.format("documentation"),
    "https://93.184.216.34/": REFUSED_NETWORK,
    "https://[2606:2800::1]:8443/": REFUSED_NETWORK,
    "https://[fe80::1%25eth0]/": "must not name a zone beside the IPv6 address of its host",
    "ftp://example.com/": NO_URL,
    "gopher://example.com/": NO_URL,
    "//example.com/": NO_URL,
    "http://example.com/": "must be https",
    "https://a.example/" + "a" * 2_031: "string should have at most 2048 characters",
}
"""URLs, with the texts for their owner."""


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    """A gateway with an approved bot and the default: webhooks go to public addresses only."""
    more = {"webhooks.refused_networks": "93.184.216.0/24, 2606:2800::/32"}
    with running(tmp_path_factory.mktemp("strict") / "data", **STRICT, **more) as gateway:
        gateway.list_bot()
        yield gateway


@contextmanager
def listed(folder: Path, **settings: object) -> Iterator[ThreadGateway]:
    with running(folder, **settings) as gateway:
        gateway.list_bot()
        yield gateway


def refusal(gateway: ThreadGateway, url: str) -> tuple[int, str]:
    """Save a URL that is refused. Return the status of the answer, and the text for the owner."""
    response = gateway.operate("PUT", WEBHOOK, {"url": url})
    fields: dict[str, str] = response.json()["fields"]
    assert fields.keys() == {"url"}
    return response.status_code, fields["url"]


@contextmanager
def named(says: Callable[[str, str], Says] | Says) -> Iterator[NameServer]:
    """Run a name server in a thread, with the same answer for every name."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = naming(says)
    try:
        entered = asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(WAIT_SECONDS)
        yield entered
    finally:
        leaving = server.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(_awaited(leaving), loop).result(WAIT_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _awaited(leaving: Any) -> None:
    await leaving


@contextmanager
def opened(way: WayOut, folder: Path, **settings: object) -> Iterator[ThreadGateway]:
    """Run a gateway with a listed bot."""
    with way.opened(folder / "data", **settings) as gateway:
        gateway.list_bot()
        yield gateway


@pytest.mark.parametrize(("url", "reason"), REFUSED.items(), ids=[ascii(url)[:50] for url in REFUSED])
def test_a_url_without_a_public_target_or_with_two_meanings_is_400_with_the_reason(
    strict: ThreadGateway, url: str, reason: str
) -> None:
    assert refusal(strict, url) == (400, reason)
    assert strict.operate("GET", WEBHOOK).status_code == 404


def test_no_connection_is_tried_to_an_image_without_a_public_target_or_with_two_meanings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialled = list[str]()

    dial_any = Dialler.dial

    async def dial(dialler: Dialler, target: Target, progress: ExchangeProgress) -> ClientConnection:
        if not isinstance(dialler._guard, TargetGuard):  # the client of the chat platform
            return await dial_any(dialler, target, progress)
        dialled.append(target.host)
        raise ExchangeFailed("refused")

    more = {"webhooks.refused_networks": "93.184.216.0/24, 2606:2800::/32"}
    with serving(tmp_path / "data", **STRICT, **more) as gateway:
        gateway.list_bot()
        monkeypatch.setattr(Dialler, "dial", dial)
        # No description may have a control character, and Markdown leaves out a space before an address.
        for url in REFUSED.keys() - {"https://example.com/\x00", " https://example.com/"}:
            gateway.advance(60)
            describe(gateway, url)
            for path in shown_images(gateway):
                assert PageVisitor(gateway).get(path).status_code == 404
            assert dialled == [], url

        describe(gateway, "https://example.com/a.png")
        assert PageVisitor(gateway).get(*shown_images(gateway)).status_code == 404
        assert dialled == ["example.com"]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "https://example.com:80/",
        "https://example.com:1024/",
        "https://example.com:65535/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "https://a.example/" + "a" * 2_030,
    ],
)
def test_a_public_https_url_is_accepted(tmp_path: Path, url: str) -> None:
    with listed(tmp_path, **STRICT) as gateway:
        set_webhook(gateway, url)

        assert webhook(gateway)["url"] == url


def test_http_is_accepted_where_it_is_allowed_and_private_addresses_are_not(tmp_path: Path) -> None:
    with listed(tmp_path, **STRICT, **{"webhooks.allow_http": True}) as gateway:
        set_webhook(gateway, "http://example.com/")

        assert refusal(gateway, "http://127.0.0.1:8080/") == (400, PRIVATE.format("loopback"))
        assert webhook(gateway)["url"] == "http://example.com/"


def test_http_goes_only_to_loopback_where_private_addresses_are_allowed(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    for url in ("http://localhost:9/", "http://127.0.0.1:9/", "http://[::1]:9/", "https://10.0.0.1/"):
        set_webhook(gateway, url)

    for url in ("http://10.0.0.1/", "http://example.com/"):
        assert refusal(gateway, url) == (400, "must be https")


@pytest.fixture
def loopback_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 127.0.0.1 play a public address of this machine, which the kernel knows."""
    monkeypatch.setattr(targets, "IPV4_RANGES", ())


@pytest.mark.usefixtures("loopback_is_public")
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_a_webhook_to_the_public_address_of_the_gateway_s_own_machine_is_refused_with_the_reason(
    tmp_path: Path, address: str
) -> None:
    with listed(tmp_path, **STRICT, **{"webhooks.allow_http": True}) as gateway:
        port = gateway.base_url.rpartition(":")[2]

        for url in (f"http://{address}:{port}/readyz", f"https://{address}:8443/"):
            assert refusal(gateway, url) == (400, THIS_MACHINE)


@pytest.mark.usefixtures("loopback_is_public")
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_a_name_that_leads_to_the_gateway_s_own_machine_is_blocked_and_shows_nothing_of_the_gateway(
    tmp_path: Path, address: str
) -> None:
    with named([address]) as names:
        settings = STRICT | {"webhooks.allow_http": True, "webhooks.name_servers": [names.address]}
        with listed(tmp_path, **settings, **{"server.address": "0.0.0.0"}) as gateway:
            port = gateway.base_url.rpartition(":")[2]
            set_webhook(gateway, f"http://bot.example:{port}/healthz")
            gateway.cast()

            blocked = attempted(gateway, 1)
            assert (blocked["status"], blocked["error"], blocked["excerpt"]) == (None, "blocked", "")


@pytest.fixture(params=list(WAYS_OUT.values()), ids=list(WAYS_OUT))
def way(request: pytest.FixtureRequest) -> WayOut:
    way: WayOut = request.param
    return way


@pytest.fixture
def target(way: WayOut, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A target over https, at names that a name server gives it."""
    authority = trusted(tmp_path, monkeypatch)
    with receiving(authority.server("127.0.0.1", "localhost", "bot.example")) as target:
        target.default = way.arrival
        yield target


@pytest.mark.usefixtures("loopback_is_public")
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_nothing_goes_to_a_name_of_the_gateway_s_own_machine(
    way: WayOut, tmp_path: Path, target: Receiver, address: str
) -> None:
    with named([address]) as names:
        settings = STRICT | {"webhooks.name_servers": [names.address]}
        with opened(way, tmp_path, **settings) as gateway:
            assert way.go(gateway, f"https://bot.example:{target.port}/") == "blocked"
    assert target.received == []


@pytest.mark.usefixtures("loopback_is_public")
def test_a_connection_whose_two_ends_have_the_same_address_is_blocked_even_if_the_kernel_denies_it(
    way: WayOut, tmp_path: Path, target: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalAddresses, "has", lambda *_: False)
    with opened(way, tmp_path, **STRICT) as gateway:
        assert way.go(gateway, target.url) == "blocked"
    assert target.received == []


def test_while_the_kernel_does_not_answer_no_webhook_to_an_address_is_saved_and_the_answer_is_503(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: object) -> bytes:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with listed(tmp_path, **STRICT) as gateway:
        monkeypatch.setattr(LocalAddresses, "_asked", silent)
        refused = gateway.operate("PUT", WEBHOOK, {"url": "https://8.8.8.8/"})
        monkeypatch.undo()

        assert refused.status_code == 503
        assert "Resource temporarily unavailable" in refused.json()["error"]
        set_webhook(gateway, "https://8.8.8.8/")


def connects(proxy: socket.socket) -> Iterator[bytes]:
    """Yield the first line of each connection that has waited for the proxy."""
    while True:
        try:
            connection, _ = proxy.accept()
        except BlockingIOError:
            return
        with connection:
            yield connection.recv(256)


@pytest.mark.usefixtures("loopback_is_public")
def test_through_a_proxy_nothing_goes_to_the_gateway_s_own_machine_either(
    way: WayOut, tmp_path: Path
) -> None:
    with named(["127.0.0.2"]) as names, socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.setblocking(False)
        settings = STRICT | {
            "webhooks.name_servers": [names.address],
            "webhooks.proxy": "http://127.0.0.1:{1}".format(*proxy.getsockname()),
        }
        with opened(way, tmp_path, **settings) as gateway:
            assert way.go(gateway, "https://bot.example/") == "blocked"
        assert not [line for line in connects(proxy) if b" 127.0.0.2:" in line or b" bot.example:" in line]


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::"])
def test_where_private_addresses_are_allowed_the_gateway_itself_is_refused_and_its_neighbours_are_not(
    tmp_path: Path, receiver: Receiver, address: str
) -> None:
    with listed(tmp_path, **{"server.address": address}) as gateway:
        port = gateway.base_url.rpartition(":")[2]
        host = "[::1]" if address == "::" else "127.0.0.1"
        assert refusal(gateway, f"http://{host}:{port}/healthz") == (
            400,
            "must not lead to this gateway itself",
        )

        set_webhook(gateway, f"http://localhost:{port}/healthz")
        gateway.cast()
        assert attempted(gateway, 1)["error"] in {"blocked", "refused"}  # by the family of localhost

        gateway.advance(1)
        set_webhook(gateway, receiver.url)
        gateway.cast(user=OTHER_USER)
        assert attempted(gateway, 1)["state"] == "delivered"


def test_a_url_saved_while_private_addresses_were_allowed_is_blocked_once_they_are_not(
    way: WayOut, tmp_path: Path, target: Receiver
) -> None:
    with opened(way, tmp_path) as gateway:
        assert way.go(gateway, target.url) == "arrived"
    target.received.clear()

    with way.opened(tmp_path / "data", **STRICT) as gateway:
        gateway.advance(MS_PER_DAY / 1_000)
        assert way.go_again(gateway) == "blocked"
    assert target.received == []


def test_a_blocked_delivery_is_tried_again(tmp_path: Path, receiver: Receiver) -> None:
    with listed(tmp_path) as gateway:
        set_webhook(gateway, receiver.url)

    with running(tmp_path, **STRICT) as gateway:
        gateway.cast()

        blocked = attempted(gateway, 1)
        assert (blocked["state"], blocked["status"], blocked["error"]) == ("pending", None, "blocked")
        assert blocked["next_attempt_at"] == gateway.clock.now_ms() + 5_000


@pytest.mark.parametrize("refused", ["ports", "networks"])
def test_a_url_saved_before_its_port_or_network_was_refused_is_blocked_from_then_on(
    way: WayOut, tmp_path: Path, target: Receiver, refused: str
) -> None:
    with opened(way, tmp_path) as gateway:
        assert way.go(gateway, f"https://localhost:{target.port}/") == "arrived"
    target.received.clear()

    values = {"ports": str(target.port), "networks": "127.0.0.0/8, ::1"}
    with way.opened(tmp_path / "data", **{f"webhooks.refused_{refused}": values[refused]}) as gateway:
        gateway.advance(MS_PER_DAY / 1_000)
        assert way.go_again(gateway) == "blocked"
    assert target.received == []


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1"])
def test_a_name_that_leads_to_a_private_address_is_blocked_at_its_attempt(
    way: WayOut, tmp_path: Path, target: Receiver, address: str
) -> None:
    with named([address]) as names:
        settings = STRICT | {"webhooks.name_servers": [names.address]}
        with opened(way, tmp_path, **settings) as gateway:
            assert way.go(gateway, f"https://bot.example:{target.port}/") == "blocked"
            assert {name for name, _ in names.questions} == {"bot.example"}
    assert target.received == []


@pytest.mark.parametrize(
    "to",
    [
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://10.0.0.1/",
        "https://user:password@example.com/",
        "https://bot.example:22/",
        "https://inner.example/",
        "http://example.com/",
    ],
)
def test_each_redirect_of_an_image_passes_the_guard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    """The first step is let through, as a public address would be. The second meets the guard."""
    authority = trusted(tmp_path, monkeypatch)
    reached = list[str]()
    with receiving(authority.server("bot.example")) as target:
        target.default = status(302, Location=to)
        check = TargetGuard.check_address

        def check_address(guard: TargetGuard, asked: Target, address: str) -> None:
            if (asked.host, asked.port) != ("bot.example", target.port):
                check(guard, asked, address)
                reached.append(address)

        monkeypatch.setattr(TargetGuard, "check_address", check_address)
        monkeypatch.setattr(TargetGuard, "check_ends", lambda *_: None)
        with named(lambda name, _: ["127.0.0.1" if name == "bot.example" else "10.0.0.1"]) as names:
            settings = STRICT | {"webhooks.name_servers": [names.address]}
            with opened(WAYS_OUT["an image"], tmp_path, **settings) as gateway:
                assert WAYS_OUT["an image"].go(gateway, f"https://bot.example:{target.port}/") == "blocked"
        assert len(target.received) == 1
    assert reached == []


@pytest.mark.parametrize("nothing", ["NXDOMAIN", []])
def test_a_name_is_judged_by_its_addresses_at_the_attempt(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, nothing: Says
) -> None:
    # The test moves the clock of the gateway, but not the clock of the resolver.
    monkeypatch.setattr(resolver, "ABSENT_SECONDS", 0)
    port = receiver.url.rpartition(":")[2]
    with named(nothing) as names:
        settings = {"webhooks.allow_http": True, "webhooks.name_servers": [names.address]}
        with listed(tmp_path, **settings) as gateway:
            set_webhook(gateway, f"http://bot.example:{port}/votes")
            gateway.cast()
            assert attempted(gateway, 1)["error"] == "dns"

            names.says = lambda _, __: ["127.0.0.1"]
            gateway.advance(5)

            assert attempted(gateway, 2)["state"] == "delivered"
            assert receiver.received[0].headers["host"] == f"bot.example:{port}"


def test_a_blocked_delivery_counts_as_a_failure_of_the_owner_s_endpoint(
    tmp_path: Path, receiver: Receiver
) -> None:
    with listed(tmp_path) as gateway:
        set_webhook(gateway, receiver.url)

    with running(tmp_path, **STRICT, **{"webhooks.retries": 0}) as gateway:
        gateway.cast()

        assert attempted(gateway, 1)["state"] == "failed"
        assert (webhook(gateway)["failed_in_a_row"], pending(gateway)) == (1, 0)
        assert len(deliveries(gateway)) == 1
