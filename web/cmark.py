"""Markdown read by cmark-gfm. Law: raw HTML is dropped, and all that was taken is given back.

The package cmarkgfm is the library with Python functions around it. They free neither the tree nor the
HTML, so a text of 8 KiB would cost half a megabyte for ever. This module calls the functions of the library
itself.

The library keeps the special characters of its extensions in one table of the process, and takes them out
after each text. So there is one text at a time.
"""

import ctypes
import threading
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from typing import Any

SAFE = 0
"""The library's default options: raw HTML is left out, and `javascript:` and its like lead nowhere."""
EXTENSIONS = (b"table", b"strikethrough", b"autolink")

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cmark_gfm_core_extensions_ensure_registered": (None,),
    "cmark_find_syntax_extension": (c_void_p, c_char_p),
    "cmark_parser_new": (c_void_p, c_int),
    "cmark_parser_attach_syntax_extension": (c_int, c_void_p, c_void_p),
    "cmark_parser_get_syntax_extensions": (c_void_p, c_void_p),
    "cmark_parser_feed": (None, c_void_p, c_char_p, c_size_t),
    "cmark_parser_finish": (c_void_p, c_void_p),
    "cmark_render_html": (c_void_p, c_void_p, c_int, c_void_p),
    "cmark_node_free": (None, c_void_p),
    "cmark_parser_free": (None, c_void_p),
    "free": (None, c_void_p),
}
"""What each function gives and takes."""
_one_at_a_time = threading.Lock()


@cache
def _library() -> ctypes.CDLL:
    from cmarkgfm import _cmark

    library = ctypes.CDLL(_cmark.__file__)
    for name, (gives, *takes) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = gives, takes
    library.cmark_gfm_core_extensions_ensure_registered()
    return library


def html_of(text: str) -> str:
    """Return the HTML of a text. Blocking; other threads run meanwhile."""
    written = text.encode("utf-8", "replace")
    with _one_at_a_time:
        library = _library()
        parser = library.cmark_parser_new(SAFE)
        try:
            for name in EXTENSIONS:
                found = library.cmark_find_syntax_extension(name)
                library.cmark_parser_attach_syntax_extension(parser, found)
            library.cmark_parser_feed(parser, written, len(written))
            tree = library.cmark_parser_finish(parser)
            html = library.cmark_render_html(tree, SAFE, library.cmark_parser_get_syntax_extensions(parser))
            try:
                return ctypes.string_at(html).decode()
            finally:
                library.free(html)
                library.cmark_node_free(tree)
        finally:
            library.cmark_parser_free(parser)
