"""Logos: a file is foreign input, so what is not listed is refused, with the reason."""

import re
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.logos import MOST_PNG_BYTES, MOST_SVG_BYTES, LogoRefused, read_logo
from tests.support.gateways import ROOT

XMLNS = 'xmlns="http://www.w3.org/2000/svg"'
SQUARE = '<path d="M4 4h24v24H4z"/>'


def svg(inside: str = SQUARE, root: str = 'viewBox="0 0 32 32"') -> bytes:
    return f"<svg {XMLNS} {root}>{inside}</svg>".encode()


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(
    width: int = 128,
    height: int = 128,
    *,
    head: bytes = b"\x08\x06\0\0\0",
    rows: int = -1,
    extra: bytes = b"",
) -> bytes:
    """A transparent picture, of `rows` rows of pixels."""
    pixels = zlib.compress(bytes((1 + 4 * width) * (height if rows < 0 else rows)))
    parts = chunk(b"IHDR", struct.pack(">II", width, height) + head) + extra + chunk(b"IDAT", pixels)
    return b"\x89PNG\r\n\x1a\n" + parts + chunk(b"IEND", b"")


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/brands/*.svg")), ids=lambda path: str(path.name))
def test_the_logos_of_the_examples_are_logos(path: object) -> None:
    assert read_logo((ROOT / str(path)).read_bytes()).media_type == "image/svg+xml"


@pytest.mark.parametrize(
    "content",
    [
        svg(),
        b"\xef\xbb\xbf" + svg(),
        b'<?xml version="1.0" encoding="UTF-8"?><!-- made by hand -->' + svg(),
        svg(
            '<g style="fill: rgb(1, 2, 3); stroke-width:2;" transform="rotate(45 16 16)"><circle r="3"/></g>'
        ),
        svg('<defs><linearGradient id="a"/><linearGradient id="b" href="#a"/></defs><path fill="url(#b)"/>'),
        svg(root='viewBox="-1.5,-1.5 3e1 30"'),
        svg("<title>@import url(x) is only a text here</title>"),
    ],
)
def test_a_drawing_of_paths_and_gradients_is_a_logo(content: bytes) -> None:
    assert read_logo(content).content == content


HOSTILE = {
    "a script": (svg("<script>alert(1)</script>"), "has <script>"),
    "a script of another namespace": (
        svg('<script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>'),
        "has <script>",
    ),
    "HTML": (svg("<foreignObject><body/></foreignObject>"), "has <foreignObject>"),
    "an event": (svg(root='viewBox="0 0 1 1" onload="alert(1)"'), "has the attribute onload at <svg>"),
    "a link": (svg('<a href="https://evil.example"/>'), "has <a>"),
    "an embedded picture": (svg('<image href="https://evil.example/a.png"/>'), "has <image>"),
    "a copy of a copy": (svg('<use href="#a"/>'), "has <use>"),
    "a style sheet": (svg("<style>@import 'https://evil.example'</style>"), "has <style>"),
    "a style sheet beside it": (b'<?xml-stylesheet href="a.css"?>' + svg(), "has the instruction <?xml-styl"),
    "an animation": (svg('<set attributeName="href" to="javascript:alert(1)"/>'), "has <set>"),
    "a filter": (svg("<filter/>"), "has <filter>"),
    "a font of the reader's machine": (svg("<text>A</text>"), "has <text>, which a logo may not have; turn"),
    "an address in a style": (
        svg('<path style="fill: url(https://evil.example)"/>'),
        "has fill with the value url(https://evil.example)",
    ),
    "an address in an attribute": (svg('<path fill="url(//evil.example#a)"/>'), "has fill with the value"),
    "an address beside a fragment": (svg('<path fill="url(#a) url(//evil.example)"/>'), "has fill with"),
    "an address where none belongs": (svg('<path d="url(#a)"/>'), "has d with the value"),
    "a property that loads": (svg('<path style="background: red"/>'), "has a style with background"),
    "a hidden function": (svg('<path style="fill: u\\72l(//evil.example)"/>'), "has fill with the value"),
    "a hidden comment": (svg('<path style="fill: ur/**/l(//evil.example)"/>'), "has fill with the value"),
    "a gradient of another file": (
        svg('<linearGradient href="https://evil.example/a.svg#b"/>'),
        "has a gradient with a link to another file",
    ),
    "entities": (
        b'<!DOCTYPE svg [<!ENTITY a "b">]>' + svg("<title>&a;</title>"),
        "has a DOCTYPE, which can define entities; remove that line",
    ),
    "an outer entity": (b'<!DOCTYPE svg SYSTEM "https://evil.example/a.dtd">' + svg(), "has a DOCTYPE"),
    "another encoding": (b'<?xml version="1.0" encoding="utf-7"?>' + svg(), "is written in utf-7"),
    "UTF-16": (svg().decode().encode("utf-16"), "is neither a PNG nor an SVG in UTF-8"),
    "another document": (b"<html xmlns='http://www.w3.org/1999/xhtml'/>", "has <html>"),
    "an SVG without its namespace": (b'<svg viewBox="0 0 1 1"/>', "has <svg>, which a logo may not have"),
    "another root": (f"<g {XMLNS}/>".encode(), "begins with <g>, not with <svg>"),
    "text after it": (svg() + b"<script/>", "is neither a PNG nor an SVG in UTF-8"),
    "nothing": (b"", "is neither a PNG nor an SVG in UTF-8"),
    "a GIF": (b"GIF89a", "is neither a PNG nor an SVG in UTF-8"),
    "no size": (svg(root='width="32" height="32"'), "has no viewBox"),
    "no area": (svg(root='viewBox="0 0 0 32"'), "has no viewBox"),
    "a long word": (svg(root='viewBox="0 0 500 100"'), "is too long: one side may be at most 4 times"),
    "too many elements": (svg("<g/>" * 2_001), "has more than 2000 elements"),
    "too deep": (svg("<g>" * 33 + "</g>" * 33), "has more than 2000 elements, or more than 32 in each other"),
    "too large": (svg("<!--" + "x" * MOST_SVG_BYTES + "-->"), "is larger than 64 KiB"),
}


@pytest.mark.parametrize(("content", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
def test_what_an_svg_may_not_have_is_refused_by_name(content: bytes, reason: str) -> None:
    with pytest.raises(LogoRefused, match=re.escape(reason)):
        read_logo(content)


def test_a_png_is_a_logo_with_its_size() -> None:
    logo = read_logo(png(256, 128, extra=chunk(b"tEXt", b"Author\0Ada")))
    assert logo[1:] == ("image/png", 256, 128)


DAMAGED = "is a damaged PNG"
BAD_PNGS = {
    "too small": (png(64, 64), "has 64 x 64 pixels; each side must have 128 to 1024"),
    "too wide": (png(1_025, 512), "has 1025 x 512 pixels"),
    "too long": (png(1_024, 128), "is too long"),
    "cut off": (png()[:-20], DAMAGED),
    "a wrong sum": (png().replace(b"IEND", b"IENX"), DAMAGED),
    "something behind it": (png() + b"<script>", DAMAGED),
    "no head": (b"\x89PNG\r\n\x1a\n" + chunk(b"IEND", b""), DAMAGED),
    "a head of another length": (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", b"") + chunk(b"IEND", b""), DAMAGED),
    "a depth that colours do not have": (png(head=b"\x01\x06\0\0\0"), DAMAGED),
    "a palette that is missing": (png(head=b"\x08\x03\0\0\0"), DAMAGED),
    "too few pixels": (png(rows=100), DAMAGED),
    "too many pixels": (png(rows=200), DAMAGED),
    "a bomb": (png(rows=20_000), DAMAGED),
    "an unknown packing": (png(head=b"\x08\x06\1\0\0"), DAMAGED),
    "interlaced": (png(head=b"\x08\x06\0\0\1"), "is an interlaced PNG; save it without interlacing"),
    "moving": (png(extra=chunk(b"acTL", bytes(8))), "is an animation; a logo stands still"),
    "too large": (png(extra=chunk(b"tEXt", bytes(MOST_PNG_BYTES))), "is larger than 256 KiB"),
}


@pytest.mark.parametrize(("content", "reason"), BAD_PNGS.values(), ids=BAD_PNGS.keys())
def test_a_png_that_browsers_might_not_show_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(LogoRefused, match=re.escape(reason)):
        read_logo(content)


@given(st.binary(max_size=300), st.integers(0, 400), st.sampled_from([svg(), png()]))
def test_no_bytes_are_anything_but_a_logo_or_refused(noise: bytes, at: int, whole: bytes) -> None:
    for content in (noise, whole[:at] + noise + whole[at:], whole[:at]):
        try:
            read_logo(content)
        except LogoRefused as refused:
            assert str(refused).startswith(("is ", "has ", "begins "))  # noqa: PT017 (both outcomes are right)
