"""outbound/redirects.py: a body behind redirects, each of which passes the guard like the first request."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from outbound.redirects import MOST_REDIRECTS, whole_body
from tests.support.certificate_authority import Authority, trusted
from tests.support.gateways import WAIT_SECONDS
from tests.support.raw_receivers import (
    Allowing,
    Answering,
    Run,
    answering,
    endlessly,
    hang,
    on_both_loops,
    receiving,
    saying,
    saying_and_closing,
    sending,
)

pytestmark = on_both_loops
OK = answering(body=b"whole")


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    return trusted(tmp_path, monkeypatch)


def moved(to: str, status: int = 302) -> Answering:
    return answering(f"{status} Moved", b"", f"Location: {to}")


async def fetched(
    authority: Authority,
    *answers: Answering,
    seconds: float = WAIT_SECONDS,
    guard: Allowing | None = None,
    read_bytes: int = 100,
) -> tuple[bytes | None, Sequence[bytes]]:
    """Return the body behind these answers, one after the other, and the first lines of the requests."""
    left = [*answers]

    async def answer(writer: object) -> None:
        await left.pop(0)(writer)  # type: ignore[arg-type]

    async with (
        receiving(answer, authority.server("127.0.0.1")) as peer,
        sending(guard=guard, read_bytes=read_bytes) as client,
    ):
        body = await whole_body(client, peer.url, timeout_seconds=seconds)
        return body, [request.partition(b" HTTP/")[0] for request in peer.requests]


def test_a_whole_body_is_returned(run: Run, authority: Authority) -> None:
    assert run(fetched(authority, OK)) == (b"whole", [b"GET /hook"])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["/next", "next", "?next"])
def test_a_redirect_is_followed_also_to_a_relative_address(
    run: Run, authority: Authority, status: int, to: str
) -> None:
    body, requests = run(fetched(authority, moved(to, status), OK))
    path = b"/hook?next" if to == "?next" else b"/next"
    assert (body, requests) == (b"whole", [b"GET /hook", b"GET " + path])


def test_so_many_redirects_are_followed_and_no_more(run: Run, authority: Authority) -> None:
    most = [moved(f"/{number}") for number in range(MOST_REDIRECTS)]
    assert run(fetched(authority, *most, OK))[0] == b"whole"
    body, requests = run(fetched(authority, *most, moved("/on"), OK))
    assert (body, len(requests)) == (None, MOST_REDIRECTS + 1)


@pytest.mark.parametrize(
    "to",
    [
        "http://127.0.0.1/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "data:image/png;base64,AAAA",
        "//user:password@127.0.0.1/",
        "https://127.0.0.2/",
        "https://[::1]/",
        "https://[::1",
        "https://127.1/",
        "\u00e9://",
    ],
)
def test_a_redirect_that_the_guard_refuses_ends_it(run: Run, authority: Authority, to: str) -> None:
    body, requests = run(fetched(authority, moved(to), OK, guard=Allowing("127.0.0.1")))
    assert (body, len(requests)) == (None, 1)


def test_a_first_address_without_tls_is_not_asked(run: Run) -> None:
    async def main() -> tuple[bytes | None, int]:
        async with receiving(OK) as peer, sending() as client:
            return await whole_body(client, peer.url, timeout_seconds=WAIT_SECONDS), peer.connections

    assert run(main()) == (None, 0)


FAILED: dict[str, Answering] = {
    "an error": answering("500 Sorry", b"whole"),
    "not there": answering("404 Not Found", b"whole"),
    "a redirect without an address": answering("302 Found"),
    "a body beyond the bound": answering(body=b"x" * 101),
    "a body without an end": endlessly(first=b"HTTP/1.1 200 OK\r\n\r\n", again=b"x" * 65_536),
    "a cut body": saying_and_closing(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx"),
}


@pytest.mark.parametrize("answer", FAILED.values(), ids=FAILED)
def test_anything_but_a_whole_body_of_a_success_is_none(
    run: Run, authority: Authority, answer: Answering
) -> None:
    assert run(fetched(authority, answer, answer, answer, answer))[0] is None


@pytest.mark.parametrize("answer", [hang, saying(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx")])
def test_all_steps_together_end_in_time(run: Run, authority: Authority, answer: Answering) -> None:
    body, _ = run(fetched(authority, moved("/next"), answer, seconds=0.3))
    assert body is None
