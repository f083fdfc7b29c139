"""Drawn pictures for users, applications and servers.

They are SVG, although their addresses end with `.png`, as those of the platform do. A browser reads the
content type, and an SVG is sharp at every size.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

SHAPES = {
    "ball": '<circle cx="32" cy="32" r="19"/><path class="c" d="m32 23 8 6-3 10H27l-3-10z"/>',
    "bars": '<path d="M14 34h9v16h-9zM27.500 14h9v36h-9zM41 25h9v25h-9z"/>',
    "bell": '<path d="M32 12c-9 0-14 7-14 15v9l-5 8h38l-5-8v-9c0-8-5-15-14-15zM26 47a6 6 0 0 0 12 0z"/>',
    "book": '<path d="M31 20c-5-4-12-5-19-5v30c7 0 14 1 19 5zm2 0c5-4 12-5 19-5v30c-7 0-14 1-19 5z"/>',
    "camera": '<path d="M12 21h10l4-6h12l4 6h10v28H12z"/><circle class="c" cx="32" cy="34" r="8"/>',
    "chat": '<path d="M12 14h40v28H33L21 53V42h-9z"/><path class="c" d="M20 22h24v4H20zm0 8h16v4H20z"/>',
    "check": '<path d="m10 33 8-8 10 10 19-20 8 8-27 28z"/>',
    "clock": '<circle cx="32" cy="32" r="20"/><path class="c" d="M29 18h6v13l9 7-4 5-11-9z"/>',
    "cloud": (
        '<circle cx="42" cy="23" r="10"/><path d="M19 49a9 9 0 0 1 0-18 13 13 0 0 1 25-1 10 10 0 0 1 2 19z"/>'
    ),
    "code": '<path d="m24 17 5 5-10 10 10 10-5 5-15-15zm16 0-5 5 10 10-10 10 5 5 15-15z"/>',
    "coin": (
        '<circle cx="27" cy="36" r="16"/><circle class="c" cx="27" cy="36" r="10"/><circle cx="44" '
        'cy="22" r="11"/>'
    ),
    "crown": '<path d="m10 20 12 11 10-17 10 17 12-11-5 29H15z"/>',
    "cube": (
        '<path d="m32 9 20 11.500v23L32 55 12 43.500v-23z"/><path class="c" d="m32 33-15-9v4l13 '
        '8v14h4V36l13-8v-4z"/>'
    ),
    "cup": '<path d="M13 18h32v5h8v15h-9c-2 6-6 10-15 10S13 43 13 33zm32 9v7h4v-7zM12 52h34v4H12z"/>',
    "dice": (
        '<path d="m32 9 21 12v22L32 55 11 43V21z"/><circle class="c" cx="32" cy="22" r="4"/><circle '
        'class="c" cx="21" cy="35" r="4"/><circle class="c" cx="43" cy="35" r="4"/>'
    ),
    "feed": (
        '<circle cx="19" cy="45" r="6"/><path d="M13 26a25 25 0 0 1 25 25h-7a18 18 0 0 '
        '0-18-18zm0-14a39 39 0 0 1 39 39h-7a32 32 0 0 0-32-32z"/>'
    ),
    "flag": '<path d="M16 10h5v46h-5zm7 2h28l-7 11 7 11H23z"/>',
    "fork": (
        '<path d="M17 10h4v13h3V10h4v13h3V10h4v16c0 5-3 7-6 8v22h-6V34c-3-1-6-3-6-8zm25 0c6 3 8 12 7 '
        '22l-4 3v21h-5V10z"/>'
    ),
    "fox": (
        '<path d="m12 12 13 9h14l13-9-2 22-18 20-18-20z"/><path class="c" d="M21 29h6v5h-6zm16 '
        '0h6v5h-6zm-9 15h8l-4 5z"/>'
    ),
    "gift": (
        '<path d="M12 22h18v8H12zm22 0h18v8H34zM15 33h15v21H15zm19 0h15v21H34zM31 20c-9 '
        '0-15-2-15-6s9-5 15 4c6-9 15-8 15-4s-6 6-15 6z"/>'
    ),
    "heart": (
        '<path d="M32 53C14 41 9 33 9 25a11.500 11.500 0 0 1 23-4 11.500 11.500 0 0 1 23 4c0 8-5 16-23 28z"/>'
    ),
    "house": '<path d="M32 10 8 31h7v23h13V40h8v14h13V31h7z"/>',
    "knight": (
        '<path d="M20 52h26c0-12-3-16-3-23 0-9-6-16-14-17l-2-4-3 6c-6 3-10 10-11 16l4 5 8-3c3 0 6-1 '
        '8-4 0 9-12 12-13 24z"/>'
    ),
    "leaf": (
        '<path d="M31 42C14 40 10 28 11 16c13 0 21 8 20 24zm2-4c0-14 8-20 20-20 0 12-7 20-18 20v16h-5V44z"/>'
    ),
    "mic": (
        '<rect x="24" y="8" width="16" height="28" rx="8"/><path d="M14 28h5a13 13 0 0 0 26 0h5a18 18 '
        '0 0 1-15.500 17.800V52H44v5H20v-5h9.500v-6.200A18 18 0 0 1 14 28z"/>'
    ),
    "moon": '<path d="M38 10a22 22 0 1 0 16 31A20 20 0 0 1 38 10z"/><circle cx="48" cy="20" r="3"/>',
    "note": '<path d="M26 44V20l22-5v24a7 6 0 1 1-4-5.500V24l-14 3v21a7 6 0 1 1-4-4z"/>',
    "owl": (
        '<path d="M13 12c5 2 8 4 12 4h14c4 0 7-2 12-4v25c0 11-8 18-19 18s-19-7-19-18z"/><circle '
        'class="c" cx="24" cy="29" r="6"/><circle class="c" cx="40" cy="29" r="6"/><path class="c" '
        'd="M28 38h8l-4 6z"/>'
    ),
    "palette": (
        '<path d="M32 10C18 10 9 20 9 32s9 22 22 22c6 0 4-6 3-9s1-5 5-5h8c5 0 8-4 8-9 '
        '0-12-10-21-23-21z"/><circle class="c" cx="20" cy="30" r="4"/><circle class="c" cx="28" '
        'cy="20" r="4"/><circle class="c" cx="41" cy="22" r="4"/>'
    ),
    "paw": (
        '<ellipse cx="32" cy="43" rx="13" ry="11"/><circle cx="15" cy="32" r="5.500"/><circle cx="25" '
        'cy="20" r="6"/><circle cx="39" cy="20" r="6"/><circle cx="49" cy="32" r="5.500"/>'
    ),
    "pencil": '<path d="m42 10 12 12-32 32-14 2 2-14z"/>',
    "planet": '<circle cx="32" cy="32" r="14"/><path d="M8 43c8 6 44-13 48-22l3 3C52 36 17 52 7 46z"/>',
    "pulse": '<path d="M6 30h13l6-16 12 32 6-16h15v6H47l-10 25-12-32-2 7H6z"/>',
    "quill": '<path d="M50 10C32 12 20 26 16 44l-3 10h4l3-8c14 0 21-7 23-14l-6 1 9-6c3-5 5-10 5-16z"/>',
    "radio": (
        '<path d="m14 16 30-8 1 4-17 5h26v33H10V17h4z"/><circle class="c" cx="23" cy="34" r="8"/><path '
        'class="c" d="M36 25h12v4H36zm0 8h12v4H36z"/>'
    ),
    "record": (
        '<circle cx="32" cy="32" r="22"/><circle class="c" cx="32" cy="32" r="8"/><circle cx="32" '
        'cy="32" r="3"/>'
    ),
    "shield": (
        '<path d="M32 8 12 15v16c0 13 8 21 20 26 12-5 20-13 20-26V15z"/><path class="c" d="m21 32 4-4 '
        '5 5 10-11 4 4-14 15z"/>'
    ),
    "smile": (
        '<circle cx="32" cy="32" r="21"/><path class="c" d="M22 23h5v8h-5zm15 0h5v8h-5zM19 37h26c-1 '
        '8-6 11-13 11s-12-3-13-11z"/>'
    ),
    "snake": (
        '<path d="M14 14h28a10 10 0 0 1 0 20H24a3 3 0 0 0 0 6h28v10H23a13 13 0 0 1 0-26h18a1 1 0 0 0 '
        '0-2H14z"/>'
    ),
    "star": '<path d="m32 9 7 16 17 2-13 12 4 17-15-9-15 9 4-17L8 27l17-2z"/>',
    "ticket": (
        '<path d="M10 20h44v8a4 4 0 0 0 0 8v8H10v-8a4 4 0 0 0 0-8z"/><path class="c" d="M38 '
        '22h3v4h-3zm0 8h3v4h-3zm0 8h3v4h-3z"/>'
    ),
    "wave": '<path d="M10 26h6v12h-6zm10-10h6v32h-6zm10 6h6v20h-6zm10-12h6v44h-6zm10 14h6v16h-6z"/>',
}
"""Drawings on a square of 64 by 64. What has the class `c` is cut out of the others."""
GROUNDS = (
    *(("#6d4fc4", "#3d2c8d"), ("#1d78b8", "#123f7a"), ("#0f766e", "#134e4a"), ("#2f8f4e", "#14532d")),
    *(("#c2481d", "#7a2d12"), ("#b3246b", "#6b1d4f"), ("#d97706", "#8a3f0c"), ("#475569", "#1e293b")),
    *(("#be123c", "#6d0f2b"), ("#0e7490", "#0b3b5a"), ("#7e22ce", "#4a1480"), ("#4d7c0f", "#2b4a0d")),
)
"""The colours of a ground, from the upper left to the lower right."""
SKIN, HAIR = (
    ("#f4c8a8", "#d99a6c", "#8a5a3b", "#f1d3bd", "#b97a50"),
    ("#2b1b12", "#5b3a1e", "#c98a3a", "#3a3f55", "#8c2f39"),
)
FRINGES = (
    "M16 30c10-1 18-6 22-13 3 7 6 11 10 13 1-14-6-21-16-21s-17 7-16 21z",
    "M15 32c2-10 8-13 17-13s15 3 17 13c2-15-5-23-17-23S13 17 15 32z",
    "M12 50V30C12 16 20 8 32 8s20 8 20 22v20h-7V30c-7 0-15-3-19-9-2 5-4 8-7 9v20z",
)


def drawn(path: str, shape: str | None) -> str:
    """Return the picture of an address. Without a `shape`, the address chooses one."""
    digest = hashlib.sha256(path.encode()).digest()
    light, deep = _of(GROUNDS, digest[0])
    is_person = path.startswith(("avatars/", "embed/"))
    inside = (
        _face(digest)
        if is_person
        else f'<g fill="#fff">{SHAPES[shape or _of(sorted(SHAPES), digest[1])]}</g>'
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="256" height="256">'
        f'<linearGradient id="g" x2="1" y2="1"><stop stop-color="{light}"/>'
        f'<stop offset="1" stop-color="{deep}"/></linearGradient><style>.c{{fill:{deep}}}</style>'
        f'<path fill="url(#g)" d="M0 0h64v64H0z"/>{inside}</svg>'
    )


def _face(digest: bytes) -> str:
    skin, hair, fringe = _of(SKIN, digest[2]), _of(HAIR, digest[3]), _of(FRINGES, digest[4])
    shirt = f"hsl({digest[5] * 360 // 256} 55% 60%)"
    return (
        f'<path fill="{shirt}" d="M6 64c2-12 12-17 26-17s24 5 26 17z"/>'
        f'<path fill="{skin}" d="M26 40h12v9a6 6 0 0 1-12 0zM17 31a15 17 0 0 1 30 0 15 17 0 0 1-30 0z"/>'
        f'<path fill="{hair}" d="{fringe}"/>'
        '<path fill="none" stroke="#2b1b12" stroke-width="2" stroke-linecap="round" '
        'd="M25.500 32v2M38.500 32v2M27 40c3 2.500 7 2.500 10 0"/>'
    )


def _of(choices: Sequence[T], number: int) -> T:
    return choices[number % len(choices)]
