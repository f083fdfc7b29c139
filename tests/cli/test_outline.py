"""Answers as text: units that a person reads, lines that fit, keys in one piece."""

import pytest
from rich.cells import cell_len

from cli.outline import duration, label, outline, size, table, text_of

KEY = "vg_" + "k" * 43


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("votes", 1_234_567, "1,234,567"),
        ("ready", True, "yes"),
        ("reason", None, "-"),
        ("categories", ["Music", "Utility"], "Music, Utility"),
        ("categories", [], "-"),
        ("created_at", 1_750_000_000_000, "2025-06-15 15:06:40 UTC"),
        ("created_at", 1e300, "an impossible time"),
        ("lastVote", 1_750_000_000_000, "2025-06-15 15:06:40 UTC"),
        ("until", 1_750_000_000_000, "2025-06-15 15:06:40 UTC"),
        ("uptime_seconds", 93_784, "1 d 2 h"),
        ("duration_ms", 12, "12 ms"),
        ("duration_ms", 90_000, "1 min 30 s"),
        ("resident_bytes", 66_060_288, "63.0 MiB"),
        ("name", "\x1b[2Jgone", "\N{REPLACEMENT CHARACTER}[2Jgone"),
    ],
)
def test_a_value_is_shown_with_the_unit_of_its_name(name: str, value: object, text: str) -> None:
    assert text_of(name, value) == text


def test_times_and_sizes_are_shown_in_their_largest_units() -> None:
    assert [duration(each) for each in (0, 0.25, 59, 60, 3_600, 86_400 * 3 + 60)] == [
        *("0 s", "0.25 s", "59 s", "1 min", "1 h", "3 d"),
    ]
    assert [size(each) for each in (0, 1_023, 1_024, 1 << 30, 1 << 60)] == [
        *("0 bytes", "1023 bytes", "1.0 KiB", "1.0 GiB", "1048576.0 TiB"),
    ]


def test_a_name_is_shown_as_words_without_its_unit() -> None:
    names = ["not_ready_because", "resident_bytes", "nextVoteAt", "seconds", "bytes", "at"]
    assert list(map(label, names)) == ["not ready because", "resident", "next vote at", "took", "size", "at"]


def test_parts_stand_below_their_names_and_share_the_unit_of_the_whole() -> None:
    answer = {"version": "1", "loop_lag_ms": {"last": 1.5}, "fleet": {"nodes": {"oslo": {"behind": 0}}}}
    assert list(outline(answer, 80)) == [
        *("version  1", "", "loop lag", "  last  1.5 ms", ""),
        *("fleet", "  nodes", "    oslo", "      behind  0"),
    ]


@pytest.mark.parametrize("width", [20, 30, 50, 80])
def test_lines_fit_and_a_key_is_in_one_piece(width: int) -> None:
    answer = {"id": "1", "description": "some words " * 20, "key": KEY, "part": {"key": KEY}}
    lines = list(outline(answer, width))
    assert sum(KEY in line for line in lines) == 2
    assert all(cell_len(line) <= width for line in lines if KEY not in line)


def bots(*names: str) -> list[dict[str, object]]:
    return [
        {"id": "1" * 18, "name": name, "state": "approved", "server_count": None, "created_at": 0}
        for name in names
    ]


@pytest.mark.parametrize("name", ["Jukebox", "Jukebox" * 14, "ボット" * 33, "a b " * 25])
@pytest.mark.parametrize("width", [80, 62, 40, 25])
def test_a_table_fits(name: str, width: int) -> None:
    lines = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in table("bots", bots(name), width)]
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()).count("1" * 18) == 1


def test_a_table_leaves_out_a_column_in_which_nothing_is_known() -> None:
    assert "server count" not in "".join(table("bots", bots("a"), 80))
    assert "server count" in "".join(table("bots", [{**bots("a")[0], "server_count": 0}], 80))


def test_a_table_of_events_folds_their_texts() -> None:
    rows = [{"position": 1, "ref": "bots/" + "1" * 18, "text": "some words " * 20}]
    lines = list(table("events", rows, 60))
    assert len(lines) > 5
    assert all(cell_len(line) <= 60 for line in lines[1:])


@pytest.mark.parametrize("row", [{"a": None}, {"part": {"a": 1}}, {}])
def test_a_row_without_a_single_value_is_no_error(row: dict[str, object]) -> None:
    assert isinstance(list(table("things", [row, row], 80)), list)


def test_a_list_of_nothing_has_no_table() -> None:
    assert list(table("bots", [], 80)) == []
