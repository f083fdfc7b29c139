"""A head that two readers could read in two ways is refused, and nothing behind it is taken for a request."""

import pytest

from tests.support.contract import NO_COUNT, STATS, Served
from tests.support.gateways import BOT, USER
from tests.support.raw_http_client import HEALTH, MALFORMED, OPERATOR, Answer, calling, chunked, request

POST = f"POST /manage/bots/{BOT}/votes HTTP/1.1\r\nHost: gateway\r\n{OPERATOR}\r\n".encode()
VOTE = b'{"user": "777777777777777777"}'
CHUNKED_VOTE = chunked([VOTE])
BEHIND = request("POST", f"/manage/bots/{BOT}/votes", OPERATOR, body=VOTE)
"""The bytes that an attacker wants a gateway to take for the next request of somebody else."""


@pytest.fixture
def url(served: Served) -> str:
    return served.gateway.base_url


def answers(url: str, data: bytes) -> list[Answer]:
    with calling(url) as caller:
        caller.send(data)
        return caller.answers()


def posted(*lines: bytes, body: bytes = VOTE) -> bytes:
    return POST + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


LENGTH = b"Content-Length: %d" % len(VOTE)
CHUNKED = b"Transfer-Encoding: chunked"
AMBIGUOUS: dict[str, bytes] = {
    "the same length twice": posted(LENGTH, LENGTH),
    "two lengths": posted(LENGTH, b"Content-Length: 0"),
    "a list of lengths": posted(LENGTH + b", %d" % len(VOTE)),
    "a length with a sign": posted(b"Content-Length: +%d" % len(VOTE)),
    "a length in hexadecimal": posted(b"Content-Length: 0x1e"),
    "a length with an underscore": posted(b"Content-Length: 3_0"),
    "a length with a space in it": posted(b"Content-Length: 3 0"),
    "a length that overflows": posted(b"Content-Length: 18446744073709551646"),
    "a length before chunks": posted(LENGTH, CHUNKED, body=CHUNKED_VOTE),
    "a length behind chunks": posted(CHUNKED, LENGTH, body=CHUNKED_VOTE),
    "a length of nothing and chunks": posted(b"Content-Length: 0", CHUNKED, body=CHUNKED_VOTE),
    "chunked, identity": posted(CHUNKED + b", identity", body=CHUNKED_VOTE),
    "identity, chunked": posted(b"Transfer-Encoding: identity, chunked", body=CHUNKED_VOTE),
    "identity": posted(b"Transfer-Encoding: identity", LENGTH),
    "gzip, chunked": posted(b"Transfer-Encoding: gzip, chunked", body=CHUNKED_VOTE),
    "xchunked": posted(b"Transfer-Encoding: xchunked", body=CHUNKED_VOTE),
    "chunkedx": posted(b"Transfer-Encoding: chunkedx", body=CHUNKED_VOTE),
    "quoted chunked": posted(b'Transfer-Encoding: "chunked"', body=CHUNKED_VOTE),
    "chunked with a parameter": posted(CHUNKED + b";q=1", body=CHUNKED_VOTE),
    "chunked behind a comma": posted(b"Transfer-Encoding: ,chunked", body=CHUNKED_VOTE),
    "no coding": posted(b"Transfer-Encoding: ", LENGTH),
    "chunked twice in two lines": posted(CHUNKED, CHUNKED, body=CHUNKED_VOTE),
    "chunked twice in one line": posted(CHUNKED + b", chunked", body=CHUNKED_VOTE),
    "chunked and identity in two lines": posted(CHUNKED, b"Transfer-Encoding: identity", body=CHUNKED_VOTE),
    "vertical tab before chunked": posted(b"Transfer-Encoding: \x0bchunked", body=CHUNKED_VOTE),
    "form feed behind chunked": posted(CHUNKED + b"\x0c", body=CHUNKED_VOTE),
    "NUL behind chunked": posted(CHUNKED + b"\x00", body=CHUNKED_VOTE),
    "space before the colon": posted(b"Transfer-Encoding : chunked", body=CHUNKED_VOTE),
    "tab before the colon": posted(b"Transfer-Encoding\t: chunked", body=CHUNKED_VOTE),
    "space before the name": posted(b" Transfer-Encoding: chunked", body=CHUNKED_VOTE),
    "space before a first name": b"GET /healthz HTTP/1.1\r\n Host: gateway\r\nHost: gateway\r\n\r\n",
    "coding in a folded line": posted(b"Transfer-Encoding:", b" chunked", body=CHUNKED_VOTE),
    "coding hidden in a folded line": posted(LENGTH, b"X-Fold: a", b"\tTransfer-Encoding: chunked"),
    "chunks in HTTP/1.0": posted(CHUNKED, body=CHUNKED_VOTE).replace(b"HTTP/1.1", b"HTTP/1.0"),
    "coding behind a bare CR": posted(b"X-Bare: a\rTransfer-Encoding: chunked", LENGTH),
    "coding behind a bare LF": posted(b"X-Bare: a\nTransfer-Encoding: chunked", LENGTH),
    "lines that end in LF": b"GET /healthz HTTP/1.1\nHost: gateway\n\n",
    "lines that end in CR": b"GET /healthz HTTP/1.1\rHost: gateway\r\r",
    "head that ends in LF": b"GET /healthz HTTP/1.1\r\nHost: gateway\r\n\n",
    "CR before CRLF": b"GET /healthz HTTP/1.1\r\nHost: gateway\r\r\n\r\n",
    "NUL in a name": posted(b"Content\x00-Length: 5", LENGTH),
    "NUL in the target": b"GET /healthz\x00 HTTP/1.1\r\nHost: gateway\r\n\r\n",
    "absolute form without a host": request("GET", "http:///healthz"),
    "absolute form with a port alone": request("GET", "http://:80/healthz"),
    "absolute form with a user": request("GET", "http://user@gateway/healthz"),
    "absolute form with a user and a password": request("GET", "http://user:word@gateway/healthz"),
    "absolute form with an empty user": request("GET", "http://@gateway/healthz"),
    "absolute form with a user like a host": request("GET", f"http://gateway:80@other/bots/{BOT}/stats"),
    "absolute form with two hosts": request("GET", "http://gateway,other/healthz"),
    "absolute form with a port of letters": request("GET", "http://gateway:http/healthz"),
    "absolute form with two ports": request("GET", "http://gateway:80:80/healthz"),
    "absolute form with an encoded host": request("GET", "http://gate%77ay/healthz"),
    "absolute form with an open bracket": request("GET", "http://[::1/healthz"),
    "absolute form with a backslash": request("GET", "http://gateway\\@other/healthz"),
    "absolute form with a part and no path": request("GET", "http://gateway#/healthz"),
    "absolute form with one slash": request("GET", "http:/healthz"),
    "absolute form of another scheme": request("GET", "ftp://gateway/healthz"),
    "absolute form of a longer scheme": request("GET", "httpx://gateway/healthz"),
    "absolute form for CONNECT": request("CONNECT", "http://gateway/healthz"),
    "absolute form and no Host": b"GET http://gateway/healthz HTTP/1.1\r\n\r\n",
    "absolute form and two Hosts": request("GET", "http://gateway/healthz", "Host: gateway"),
    "absolute form and two Hosts in one line": request("GET", "http://gateway/healthz", host="a, b"),
    "absolute form and a Host with a path": request("GET", "http://gateway/healthz", host="a/b"),
    "authority form": request("GET", "gateway:80"),
    "star with a path": request("GET", f"*/bots/{BOT}/voters/{USER}"),
    "star for GET": request("GET", "*"),
    "tab in the first line": b"GET\t/healthz HTTP/1.1\r\nHost: gateway\r\n\r\n",
    "word behind the version": b"GET /healthz HTTP/1.1 x\r\nHost: gateway\r\n\r\n",
    "version in lower case": b"GET /healthz http/1.1\r\nHost: gateway\r\n\r\n",
    "version with more digits": b"GET /healthz HTTP/1.10\r\nHost: gateway\r\n\r\n",
    "two hosts in one line": request("GET", "/healthz", host="gateway, other"),
    "host with a path": request("GET", "/healthz", host="gateway/bots"),
}
BAD_CHUNKS: dict[str, bytes] = {
    "0x before the size": b"0x1e\r\n",
    "space before the size": b" 1e\r\n",
    "plus before the size": b"+1e\r\n",
    "minus before the size": b"-1e\r\n",
    "no size": b"\r\n",
    "extension without a size": b";a=b\r\n",
    "letters": b"xyz\r\n",
    "size that overflows 64 bits": b"1000000000000001e\r\n",
    "bare LF behind the size": b"1e\n",
    "bare CR behind the size": b"1e\r",
    "bare LF in an extension": b"1e;a\nb\r\n",
    "bare CR in an extension": b"1e;a\rb\r\n",
    "NUL in an extension": b"1e;a=\x00\r\n",
}


@pytest.mark.parametrize("data", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_head_with_two_readings_is_400_and_nothing_behind_it_is_read(url: str, data: bytes) -> None:
    (answer,) = answers(url, data + BEHIND)
    assert answer.refusal == (400, MALFORMED)
    assert answer.closes


@pytest.mark.parametrize("size", BAD_CHUNKS.values(), ids=BAD_CHUNKS)
def test_a_chunk_with_two_readings_is_400_and_nothing_behind_it_is_read(url: str, size: bytes) -> None:
    (answer,) = answers(url, posted(CHUNKED, body=size + VOTE + b"\r\n0\r\n\r\n") + BEHIND)
    assert answer.refusal == (400, MALFORMED)
    assert answer.closes


@pytest.mark.parametrize(
    "body",
    [
        b"2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n",
        b"2\r\n{}\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"2\r\n{}xx0\r\n\r\n",
        b"2\r\n{}0\r\n\r\n",
        b"2\r\n{}\n0\r\n\r\n",
        b"2\r\n{}\r\n0\r\nTrailer : a\r\n\r\n",
    ],
)
def test_what_is_wrong_behind_a_chunk_is_400(url: str, body: bytes) -> None:
    (answer,) = answers(url, posted(CHUNKED, body=body) + BEHIND)
    assert answer.refusal == (400, MALFORMED)


def test_the_request_before_a_refused_one_is_answered_first(url: str) -> None:
    first, second = answers(url, HEALTH + AMBIGUOUS["two lengths"] + BEHIND)
    assert (first.status, first.closes) == (200, False)
    assert second.refusal == (400, MALFORMED)


@pytest.mark.parametrize("framing", [b"Content-Length: %d" % len(BEHIND), CHUNKED], ids=["length", "chunks"])
def test_the_body_of_an_offer_to_upgrade_is_never_taken_for_a_request(url: str, framing: bytes) -> None:
    body = BEHIND if framing != CHUNKED else chunked([BEHIND])
    head = b"POST /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: x\r\n"
    with calling(url) as caller:
        caller.send(head + framing + b"\r\n\r\n" + body)
        caller.sends_no_more()
        (answer,) = caller.answers()
    assert answer.status in {400, 405}


@pytest.mark.parametrize("coding", ["chunked", "CHUNKED", "\tchunked"])
@pytest.mark.parametrize("size", ["2", "02", "2;a", "2;a=b;c", '2;a="b c"'])
def test_chunks_are_read_and_what_extends_them_is_dropped(served: Served, coding: str, size: str) -> None:
    """RFC 9112 allows both: white space around a value, and extensions, which a reader ignores."""
    head = request("PATCH", STATS, f"Authorization: {served.key}", f"Transfer-Encoding:{coding}")
    with calling(served.gateway.base_url) as caller:
        answer = caller.ask(head + f"{size}\r\n{{}}\r\n0\r\n\r\n".encode())
        assert answer.refusal == NO_COUNT
        assert caller.ask(HEALTH).status == 200


def test_a_trailer_is_dropped_and_never_becomes_a_header(url: str) -> None:
    trailers = f"{OPERATOR}\r\nHost: a b\r\nExpect: 100-continue\r\n".encode()
    head = request(
        "POST", f"/manage/bots/{BOT}/votes", "Transfer-Encoding: chunked", "Trailer: Authorization"
    )
    with calling(url) as caller:
        assert caller.ask(head + chunked([VOTE], trailers)).status == 401
        assert caller.ask(request("GET", "/debug/overview.json")).status == 401
        assert caller.ask(HEALTH).status == 200


@pytest.mark.parametrize(
    "trailer",
    [
        "Connection: close",
        "connection: upgrade\r\nUpgrade: x",
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
    ],
)
def test_a_trailer_that_would_have_a_say_in_the_framing_is_400(url: str, trailer: str) -> None:
    with calling(url) as caller:
        head = request("POST", "/healthz", "Transfer-Encoding: chunked")
        answer = caller.ask(head + chunked([VOTE], f"{trailer}\r\n".encode()) + HEALTH)
        assert answer.refusal == (400, MALFORMED)
        assert caller.at_end()


def test_the_trailers_of_a_request_are_not_the_headers_of_a_vote_check_behind_it(
    served: Served,
) -> None:
    head = request("POST", "/healthz", "Transfer-Encoding: chunked")
    check = request("GET", f"/bots/{BOT}/voters/{USER}")
    with calling(served.gateway.base_url) as caller:
        caller.send(head + chunked([VOTE], f"Authorization: {served.key}\r\n".encode()) + check)
        assert [caller.answer().status for _ in range(2)] == [405, 401]


@pytest.mark.parametrize(
    "endless",
    [b"X-Trailer: abcdef\r\n", b"X-Trailer: " + b"a" * 100_000, b"a"],
    ids=["many trailers", "a long trailer", "a long name"],
)
def test_trailers_without_an_end_are_400(url: str, endless: bytes) -> None:
    with calling(url) as caller:
        caller.send_slowly(
            posted(CHUNKED, body=b"2\r\n{}\r\n0\r\n") + endless * (200_000 // len(endless)), 4_000
        )
        assert caller.answer().refusal == (400, MALFORMED)
        assert caller.at_end()


@pytest.mark.parametrize(
    "endless",
    [b"1;" + b"a" * 100_000, (b"1;" + b"a" * 1_000 + b"\r\nx\r\n") * 100, b"0" * 100_000],
    ids=["one extension", "an extension a chunk", "a size of zeros"],
)
def test_chunks_that_are_all_extension_are_400(url: str, endless: bytes) -> None:
    with calling(url) as caller:
        caller.send_slowly(posted(CHUNKED, body=endless), 4_000)
        assert caller.answer().refusal == (400, MALFORMED)
        assert caller.at_end()


def test_small_chunks_are_no_fault(url: str) -> None:
    body = chunked([b" "] * 20_000)
    with calling(url) as caller:
        answer = caller.ask(request("POST", "/healthz", "Transfer-Encoding: chunked") + body)
        assert answer.status == 405
        assert caller.ask(HEALTH).status == 200


def test_a_line_in_the_middle_of_a_head_is_never_taken_for_the_whole_of_one(served: Served) -> None:
    """The gateway recognises heads that it has read; this one ends in bytes that could be another."""
    bare = f"GET /bots/{BOT}/voters/{USER} HTTP/1.1\r\n\r\n".encode()
    begun = request("GET", f"/bots/{BOT}/voters/{USER}", f"Authorization: {served.key}", "X-Open: ")[:-4]
    with calling(served.gateway.base_url) as caller:
        caller.send(begun)
        for _ in range(3):
            served.gateway.on_loop(lambda: None)  # everything that was sent is read
        assert caller.ask(bare).status == 200
        assert caller.ask(bare).refusal == (400, MALFORMED)


@pytest.mark.parametrize("before", ["*", "x", "\r\n", "http:", "/bots", "\0"])
def test_a_target_is_read_with_care_behind_a_head_that_is_known(served: Served, before: str) -> None:
    target, key = f"/bots/{BOT}/voters/{USER}", f"Authorization: {served.key}"
    with calling(served.gateway.base_url) as caller:
        assert [caller.ask(request("GET", target, key)).status for _ in range(2)] == [200, 200]
        assert caller.ask(request("GET", before + target, key)).status in {400, 404}


@pytest.mark.parametrize(
    "change",
    [
        ("Authorization", "Authorisation"),
        ("Host: gateway", "Host: a b"),
        ("HTTP/1.1", "HTTP/1.2"),
        ("\r\n\r\n", "\n\n"),
    ],
)
def test_a_head_that_differs_from_a_known_one_is_read_anew(served: Served, change: tuple[str, str]) -> None:
    known = request("GET", f"/bots/{BOT}/voters/{USER}", f"Authorization: {served.key}")
    with calling(served.gateway.base_url) as caller:
        assert [caller.ask(known).status for _ in range(2)] == [200, 200]
        assert caller.ask(known.replace(change[0].encode(), change[1].encode())).status in {400, 401}
