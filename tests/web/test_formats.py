"""Numbers and times for people."""

import pytest

from web.formats import milliseconds, moment, number, share, size, span


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (1_234_567, "1,234,567"), (1.5, "1.5"), (2.0, "2"), (0.004, "0.004"), (None, "–")],
)
def test_a_number_has_commas_and_no_more_digits_than_help(value: float | None, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (999_999, "1.0 MB"),
        (69_800_000, "69.8 MB"),
        (123_456_789, "123 MB"),
        (10**16, "10000 TB"),
    ],
)
def test_a_size_has_a_unit_that_suits_it(count: int, shown: str) -> None:
    assert size(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0021, "2 ms"), (3, "3.0 s"), (42, "42 s"), (90, "1 min 30 s"), (3_600, "1 h"), (90_061, "1 d 1 h")],
)
def test_a_span_shows_its_two_largest_units(seconds: float, shown: str) -> None:
    assert span(seconds) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.012, "12 µs"), (1.234, "1.23 ms"), (173, "173 ms"), (1_500, "1.5 s")],
)
def test_a_latency_has_three_digits_at_most(value: float | None, shown: str) -> None:
    assert milliseconds(value) == shown


def test_a_moment_is_an_element_that_names_its_zone() -> None:
    expected = '<time datetime="2026-11-22T17:00:00Z" title="UTC">2026-11-22 17:00:00</time>'
    assert moment(1_795_366_800_000) == expected
    assert moment(None) == "–"


def test_a_share_of_nothing_is_no_number() -> None:
    assert (share(1, 4), share(0, 0)) == ("25%", "–")
