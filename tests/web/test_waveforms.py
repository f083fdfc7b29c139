"""The waveform: a line for each peak, around the middle."""

import re

from web.waveforms import HEIGHT, WIDTH, waveform

LINE = re.compile(r"M([\d.]+) ([\d.]+)v([\d.]+)")


def lines(peaks: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, each)) for each in LINE.findall(waveform(peaks))]


def test_each_peak_has_a_line_around_the_middle_within_the_picture() -> None:
    drawn = lines("0123456789abcdef" * 4)
    assert len(drawn) == 64
    for x, y, height in drawn:
        assert 0 < x < WIDTH
        assert abs(y + height / 2 - HEIGHT / 2) < 0.01
        assert 0 < height <= HEIGHT
    assert [height for _, _, height in drawn[:16]] == sorted(height for _, _, height in drawn[:16])
    assert drawn[15][2] == HEIGHT, "the loudest"


def test_silence_is_a_thin_line_and_no_peaks_are_no_line() -> None:
    assert all(height == 1 for _, _, height in lines("0" * 64))
    assert waveform("") == ""
