"""The waveform of a sound: a line for each of its peaks, in a picture of 256 by 40 units."""

from functools import lru_cache

WIDTH, HEIGHT = 256, 40
LEVELS = 15
_LEAST = 1.0
_MOST_KEPT = 2_000


@lru_cache(_MOST_KEPT)
def waveform(peaks: str) -> str:
    """Return the path of the lines, as SVG writes it. `peaks` has a hexadecimal digit for each."""
    step = WIDTH / max(len(peaks), 1)
    heights = [max(HEIGHT * int(peak, 16) / LEVELS, _LEAST) for peak in peaks]
    return "".join(
        f"M{step * (number + 0.5):g} {(HEIGHT - height) / 2:.4g}v{height:.4g}"
        for number, height in enumerate(heights)
    )
