"""The picture of a theme: a chat room in its two colours.

Invariant: it is well-formed SVG, and it loads and runs nothing. The first colour is the background, and the
second one stands out. All others are between the first and a text that can be read on it.
"""

from grammars.colours import Rgb, contrast, read_colour, written

WIDTH, HEIGHT = 320, 200
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
_NAMES = ((46, 14), (52, 38), (38, 54), (60, 70), (44, 86), (34, 102))
"""The widths and heights of the lines in the list of channels."""
_LINES = ((152, 34, 110), (152, 78, 150), (152, 88, 100), (152, 122, 90), (136, 177, 70))


def colour_room(primary: str, secondary: str) -> bytes:
    """Return the picture of two colours, each `#rrggbb`. Raises ValueError."""
    ground, accent = read_colour(primary), read_colour(secondary)
    text = max(BLACK, WHITE, key=lambda each: contrast(each, ground))
    rail, panel, field, dim = (written(_mixed(ground, text, share)) for share in (0.14, 0.06, 0.2, 0.5))
    shown, stands_out = written(text), written(accent)
    parts = [
        _box(0, 0, WIDTH, HEIGHT, written(ground)),
        _box(0, 0, 34, HEIGHT, rail),
        _box(34, 0, 82, HEIGHT, panel),
        *(_dot(17, y, 10, stands_out if y == 22 else field) for y in (22, 54, 86)),
        f'<rect x="40" y="64" width="70" height="16" rx="4" fill="{stands_out}" opacity=".35"/>',
        *(_box(44, y, width, 5, shown if y == 14 else dim) for width, y in _NAMES),
        *(_dot(136, y, 9, stands_out if y == 30 else field) for y in (30, 74, 118)),
        *(_box(152, y, 40, 6, shown) for y in (22, 66, 110)),
        _box(126, 168, 182, 22, field),
        *(_box(x, y, width, 5, dim) for x, y, width in _LINES),
        _box(282, 172, 20, 14, stands_out),
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
    return f"{head}{''.join(parts)}</svg>".encode()


def _mixed(one: Rgb, other: Rgb, share: float) -> Rgb:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _box(x: int, y: int, width: int, height: int, fill: str) -> str:
    corner = f' rx="{height / 2:g}"' if height < 10 else ""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}"{corner} fill="{fill}"/>'


def _dot(x: int, y: int, radius: int, fill: str) -> str:
    return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}"/>'
