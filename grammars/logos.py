"""Logos: SVG and PNG files that are safe to send to browsers. Invariant: a logo runs nothing, loads nothing,
and is small.

The type follows from the bytes, not from the name of the file. An SVG may have only the elements, attributes
and functions that are listed here. A PNG is checked whole: its chunks, their checksums, and the size of its
unpacked pixels.
"""

import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple
from xml.parsers import expat

LogoType = Literal["image/svg+xml", "image/png"]
MOST_SVG_BYTES, MOST_PNG_BYTES = 65_536, 262_144
LEAST_PIXELS, MOST_PIXELS = 128, 1_024
MOST_RATIO = 4
"""The greatest ratio of the longer side of a logo to the shorter one."""
MOST_ELEMENTS, MOST_DEPTH = 2_000, 32

_PNG_BEGINS = b"\x89PNG\r\n\x1a\n"


class LogoRefused(ValueError):
    """The reason why a file is no logo. It follows the name of the file."""


class Logo(NamedTuple):
    """The content of a logo, with its width and height in units of its own."""

    content: bytes
    media_type: LogoType
    width: float
    height: float


def read_logo(content: bytes) -> Logo:
    """Return the logo in a file. Raises LogoRefused."""
    logo = _read_png(content) if content.startswith(_PNG_BEGINS) else _read_svg(content)
    if max(logo.width, logo.height) > MOST_RATIO * min(logo.width, logo.height):
        raise LogoRefused(f"is too long: one side may be at most {MOST_RATIO} times the other")
    return logo


# -- PNG (https://www.w3.org/TR/png-3/) ----------------------------------------------------------------

_HEAD = struct.Struct(">IIBBBBB")
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""The channels of each colour type."""
_PALETTE = 3
_DEPTHS = {0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}
"""The bits of a channel that each colour type may have."""
_FILTERS = frozenset(range(5))
_FRAME_BYTES, _SUM_BYTES = 8, 4


def _read_png(content: bytes) -> Logo:
    if len(content) > MOST_PNG_BYTES:
        raise LogoRefused(f"is larger than {MOST_PNG_BYTES // 1_024} KiB")
    chunks = [*_chunks(content)]
    kinds = [kind for kind, _ in chunks]
    if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"] or len(chunks[0][1]) != _HEAD.size:
        raise LogoRefused("is a damaged PNG")
    if b"acTL" in kinds:
        raise LogoRefused("is an animation; a logo stands still")
    width, height, depth, colour, packing, filtering, interlace = _HEAD.unpack(chunks[0][1])
    if depth not in _DEPTHS.get(colour, ()) or packing or filtering:
        raise LogoRefused("is a damaged PNG")
    if colour == _PALETTE and b"PLTE" not in kinds:
        raise LogoRefused("is a damaged PNG")
    if interlace:
        raise LogoRefused("is an interlaced PNG; save it without interlacing")
    if not LEAST_PIXELS <= min(width, height) <= max(width, height) <= MOST_PIXELS:
        raise LogoRefused(
            f"has {width} x {height} pixels; each side must have {LEAST_PIXELS} to {MOST_PIXELS}"
        )
    row_bytes = 1 + (width * depth * _CHANNELS[colour] + 7) // 8
    _check_pixels(b"".join(part for kind, part in chunks if kind == b"IDAT"), row_bytes, height)
    return Logo(content, "image/png", width, height)


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the type and the content of each chunk. Raises LogoRefused."""
    at = len(_PNG_BEGINS)
    while at < len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        kind, end = content[at + 4 : at + 8], at + _FRAME_BYTES + length
        part, found = content[at + _FRAME_BYTES : end], content[end : end + _SUM_BYTES]
        if len(found) < _SUM_BYTES or zlib.crc32(kind + part) != int.from_bytes(found, "big"):
            raise LogoRefused("is a damaged PNG")
        yield kind, part
        at = end + _SUM_BYTES


def _check_pixels(packed: bytes, row_bytes: int, rows: int) -> None:
    """Raise LogoRefused if the pixels do not unpack to the expected rows. Never unpack more than that."""
    unpacking, size = zlib.decompressobj(), row_bytes * rows
    try:
        pixels = unpacking.decompress(packed, size + 1)
    except zlib.error:
        pixels = b""
    if len(pixels) != size or not unpacking.eof or not _FILTERS.issuperset(pixels[::row_bytes]):
        raise LogoRefused("is a damaged PNG")


# -- SVG -----------------------------------------------------------------------------------------------

_SVG = "http://www.w3.org/2000/svg"
_XLINK_HREF, _XML_SPACE = "http://www.w3.org/1999/xlink href", "http://www.w3.org/XML/1998/namespace space"
_GRADIENTS = frozenset({"linearGradient", "radialGradient"})
ELEMENTS = frozenset(
    {
        *("svg", "g", "defs", "title", "desc", "path", "rect", "circle", "ellipse", "line", "polyline"),
        *("polygon", "stop", "clipPath"),
        *_GRADIENTS,
    }
)
_PAINTED = frozenset({"fill", "stroke", "clip-path"})
"""The attributes that may name another element of the file."""
_LOOKS = frozenset(
    {
        *("clip-rule", "color", "display", "fill-opacity", "fill-rule", "opacity", "paint-order"),
        *("shape-rendering", "stop-color", "stop-opacity", "stroke-dasharray", "stroke-dashoffset"),
        *("stroke-linecap", "stroke-linejoin", "stroke-miterlimit", "stroke-opacity", "stroke-width"),
        *("vector-effect", "visibility"),
        *_PAINTED,
    }
)
"""The attributes that may also be in a `style`."""
ATTRIBUTES = frozenset(
    {
        *(
            "aria-hidden",
            "aria-label",
            "class",
            "clipPathUnits",
            "cx",
            "cy",
            "d",
            "data-name",
            "fr",
            "fx",
            "fy",
        ),
        *("gradientTransform", "gradientUnits", "height", "id", "offset", "pathLength", "points"),
        *("preserveAspectRatio", "r", "role", "rx", "ry", "spreadMethod", "transform", "version", "viewBox"),
        *("width", "x", "x1", "x2", "y", "y1", "y2"),
        _XML_SPACE,
        *_LOOKS,
    }
)
_FUNCTIONS = frozenset(
    {*("rgb", "rgba", "hsl", "hsla"), *("matrix", "translate", "scale", "rotate", "skewX", "skewY")}
)
_FREE_TEXT = frozenset({"aria-label", "class", "data-name", "id"})
"""The attributes whose value nothing reads as a function."""
_CALLED = re.compile(r"([^\s,()]*)\s*\(")
_WITHIN = re.compile(r"url\(#[A-Za-z_][\w.-]*\)")
_FRAGMENT = re.compile(r"#[A-Za-z_][\w.-]*")
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
_VIEW_BOX = re.compile(
    rf"\s*{_NUMBER}[\s,]+{_NUMBER}[\s,]+(?P<width>{_NUMBER})[\s,]+(?P<height>{_NUMBER})\s*"
)
_AS_PLAIN = "export it as plain SVG"


def _read_svg(content: bytes) -> Logo:
    if len(content) > MOST_SVG_BYTES:
        raise LogoRefused(f"is larger than {MOST_SVG_BYTES // 1_024} KiB")
    reading = _Svg()
    try:
        reading.over(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, expat.ExpatError):
        raise LogoRefused("is neither a PNG nor an SVG in UTF-8") from None
    width, height = reading.size
    return Logo(content, "image/svg+xml", width, height)


class _Svg:
    """One reading of an SVG. It refuses the first part that is not listed."""

    def __init__(self) -> None:
        self.size = (0.0, 0.0)
        self._open: list[str] = []
        self._elements = 0

    def over(self, text: str) -> None:
        """Raise LogoRefused or ExpatError if the text is no logo."""
        parser = expat.ParserCreate(encoding="utf-8", namespace_separator=" ")
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._document_type
        parser.ProcessingInstructionHandler = self._instruction
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.Parse(text.encode(), True)  # noqa: FBT003 (expat takes no name)

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in {"utf-8", "us-ascii"}:
            raise LogoRefused(f"is written in {encoding[:40]}; save it in UTF-8")

    def _document_type(self, *_: object) -> None:
        raise LogoRefused("has a DOCTYPE, which can define entities; remove that line")

    def _instruction(self, target: str, _: str) -> None:
        raise LogoRefused(f"has the instruction <?{target[:40]}?>; remove it")

    def _start(self, qualified: str, attributes: Mapping[str, str]) -> None:
        namespace, _, name = qualified.rpartition(" ")
        if namespace != _SVG or name not in ELEMENTS:
            hint = "turn texts into paths" if name in {"text", "tspan", "style"} else _AS_PLAIN
            raise LogoRefused(f"has <{name[:40]}>, which a logo may not have; {hint}")
        if not self._open:
            if name != "svg":
                raise LogoRefused(f"begins with <{name}>, not with <svg>")
            self.size = _size(attributes)
        self._open.append(name)
        self._elements += 1
        if self._elements > MOST_ELEMENTS or len(self._open) > MOST_DEPTH:
            raise LogoRefused(
                f"has more than {MOST_ELEMENTS} elements, or more than {MOST_DEPTH} in each other"
            )
        for attribute, value in attributes.items():
            _check_attribute(name, attribute, value)

    def _end(self, _: str) -> None:
        self._open.pop()


def _size(attributes: Mapping[str, str]) -> tuple[float, float]:
    """Return the width and height that a view box has."""
    box = _VIEW_BOX.fullmatch(attributes.get("viewBox", ""))
    if box is None or not (float(box["width"]) > 0 and float(box["height"]) > 0):
        raise LogoRefused("has no viewBox with a width and a height, so it cannot be scaled")
    return float(box["width"]), float(box["height"])


def _check_attribute(element: str, attribute: str, value: str) -> None:
    if attribute in {"href", _XLINK_HREF} and element in _GRADIENTS:
        if _FRAGMENT.fullmatch(value) is None:
            raise LogoRefused(f"has a gradient with a link to another file: {value[:80]}")
    elif attribute == "style":
        for name, part in _declarations(value):
            if name not in _LOOKS:
                raise LogoRefused(f"has a style with {name[:40]}, which a logo may not have; {_AS_PLAIN}")
            _check_value(name, part)
    elif attribute not in ATTRIBUTES:
        shown = attribute.rpartition(" ")[2][:40]
        raise LogoRefused(f"has the attribute {shown} at <{element}>, which a logo may not have; {_AS_PLAIN}")
    elif attribute not in _FREE_TEXT:
        _check_value(attribute, value)


def _declarations(style: str) -> Iterator[tuple[str, str]]:
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        if declaration.strip():
            yield name.strip().lower(), value.strip()


def _check_value(name: str, value: str) -> None:
    """Refuse functions that could load or compute something. A backslash or a comment could hide one."""
    if name in _PAINTED and _WITHIN.fullmatch(value) is not None:
        return
    if any(sign in value for sign in ("\\", "/*", "@")) or not _FUNCTIONS.issuperset(_CALLED.findall(value)):
        raise LogoRefused(f"has {name} with the value {value[:80]}, which a logo may not have; {_AS_PLAIN}")
