"""outbound/tls_records.py: the bytes of a peer are split into records and counted."""

import contextlib
import ssl
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outbound.tls_records import HANDSHAKE_BYTES, RECORDS, SILENT_BYTES, SILENT_RECORDS, TlsRecords

HELLO = b"\2\0\0\x26\3\3" + bytes(36)


def record(content: bytes, kind: int = 22) -> bytes:
    return struct.pack("!BHH", kind, 0x0303, len(content)) + content


APPLICATION = record(b"x" * 100, 23)


def secured() -> TlsRecords:
    records = TlsRecords()
    records.secured()
    return records


def taken(records: TlsRecords) -> list[bytes]:
    found = []
    while each := records.take():
        found.append(each)
    return found


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(1, 400))
def test_records_may_come_in_any_pieces(contents: list[bytes], size: int) -> None:
    whole = [record(content, 23) for content in contents]
    stream, records, found = b"".join(whole), secured(), list[bytes]()
    for at in range(0, len(stream), size):
        records.feed(stream[at : at + size])
        found += taken(records)
    assert found == whole


def test_a_handshake_s_records_are_taken_together() -> None:
    records, flight = TlsRecords(), record(HELLO) + record(b"\x0b") + APPLICATION
    records.feed(flight + b"\x17\3")
    assert taken(records) == [flight]


def test_a_handshake_has_its_most_bytes_and_not_one_more() -> None:
    records = TlsRecords()
    records.feed(bytes(HANDSHAKE_BYTES))
    with pytest.raises(ssl.SSLError, match="too long"):
        records.feed(b"x")


def test_behind_the_handshake_bytes_are_not_counted() -> None:
    records = secured()
    records.feed(bytes(HANDSHAKE_BYTES + 1))


@pytest.mark.parametrize("handshaking", [True, False])
def test_there_are_the_most_records_and_not_one_more(handshaking: bool) -> None:
    records = TlsRecords() if handshaking else secured()
    records.feed(record(b"", 21) * RECORDS)
    taken(records)
    records.feed(record(b"", 21))
    with pytest.raises(ssl.SSLError, match="too many"):
        records.take()


def test_a_request_begins_the_count_again() -> None:
    records = secured()
    for _ in range(3):
        records.expect()
        records.feed(APPLICATION * RECORDS)
        assert len(taken(records)) == RECORDS
        for _ in range(SILENT_RECORDS):
            records.silent(SILENT_BYTES // SILENT_RECORDS)


@pytest.mark.parametrize("sizes", [[1] * (SILENT_RECORDS + 1), [SILENT_BYTES, 1]])
def test_silence_is_bounded_in_records_and_in_bytes(sizes: list[int]) -> None:
    records = secured()
    for size in sizes[:-1]:
        records.silent(size)
    with pytest.raises(ssl.SSLError, match="without data"):
        records.silent(sizes[-1])


@pytest.mark.parametrize(
    "said", [b"H", b"HTTP/1.1 400", b"220 mail", b"\x16\2", b"\x19\3\3\0\1", b"\x16\3\3\xff\xff"]
)
def test_what_is_no_record_is_refused_by_its_first_bytes(said: bytes) -> None:
    records = TlsRecords()
    records.feed(said)
    with pytest.raises(ssl.SSLError):
        records.take()


def retry(group: int, session: bytes = b"", *before: bytes) -> bytes:
    """Return a hello that asks for ours again, with a key of this group."""
    random = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
    share = struct.pack("!HHH", 51, 2, group)
    extensions = b"".join(before) + share
    body = b"\3\3" + random + bytes([len(session)]) + session + b"\x13\2\0"
    body += len(extensions).to_bytes(2, "big") + extensions
    return b"\2" + len(body).to_bytes(3, "big") + body


@pytest.mark.parametrize("session", [b"", bytes(32)])
@pytest.mark.parametrize("before", [(), (struct.pack("!HHH", 43, 2, 0x0304),)])
@pytest.mark.parametrize(("group", "is_refused"), [(24, False), (29, False), (0x100, True), (0x104, True)])
def test_a_key_exchange_over_a_finite_field_is_refused(
    session: bytes, before: tuple[bytes, ...], group: int, is_refused: bool
) -> None:
    records = TlsRecords()
    records.feed(record(retry(group, session, *before)))
    if is_refused:
        with pytest.raises(ssl.SSLError, match="finite field"):
            records.take()
    else:
        assert records.take()


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\0\0\0", HELLO[:-1], b"\0\0\0\0" + retry(0x104), retry(0x104)[:20]],
    ids=["nothing", "a request to begin", "a part of a hello", "a hello behind a request", "half a retry"],
)
def test_a_handshake_begins_with_a_whole_hello(content: bytes) -> None:
    records = TlsRecords()
    records.feed(record(content))
    with pytest.raises(ssl.SSLError, match="hello"):
        records.take()


def test_a_warning_may_come_before_the_hello() -> None:
    records = TlsRecords()
    records.feed(record(b"\1\x70", 21) + record(HELLO))
    assert records.take()


@given(st.binary(max_size=80))
def test_a_malformed_retry_is_left_to_openssl(tail: bytes) -> None:
    body = retry(24)[4:38] + tail
    records = TlsRecords()
    records.feed(record(b"\2" + len(body).to_bytes(3, "big") + body))
    with contextlib.suppress(ssl.SSLError):
        assert records.take()
