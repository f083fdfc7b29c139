"""web/carried_style.py: a page is packed around its styles, and every client unpacks it."""

import gzip

from hypothesis import given
from hypothesis import strategies as st

from web.carried_style import PLACE, CarriedStyle

STYLE = CarriedStyle("p { color: red; }\n" * 500)
ELEMENT = b"<style>" + b"p { color: red; }\n" * 500 + b"</style>"
pieces = st.binary(max_size=40) | st.text(max_size=40).map(str.encode) | st.sampled_from((PLACE, b"<style>"))
texts = st.tuples(st.lists(pieces, max_size=8), st.sampled_from((1, 2, 5_000))).map(
    lambda drawn: b"".join(drawn[0]) * drawn[1]
)
"""Parts of pages. Some are longer than the window of DEFLATE."""


@given(texts, texts)
def test_a_packed_page_is_the_page_with_the_styles_in_their_place(before: bytes, after: bytes) -> None:
    page = before + PLACE + after
    assert gzip.decompress(STYLE.pack(page)) == page.replace(PLACE, ELEMENT, 1)
