"""web/link_preview.py: the pictures of links, drawn for many who ask at once."""

import asyncio
import io

import pytest
from PIL import Image

from core.failures import Unavailable
from tests.support.coroutines import run
from web.link_preview import MOST_WAITING, LinkPreview, LinkPreviews, preview_png


def preview(number: int) -> LinkPreview:
    return LinkPreview("111111111111111111", f"Bot {number}", "It plays music.", "Bots")


async def asked(*numbers: int) -> list[bytes | BaseException]:
    previews = LinkPreviews()
    return await asyncio.gather(
        *(previews.picture(preview(number)) for number in numbers), return_exceptions=True
    )


def test_any_number_of_visitors_may_wait_for_one_picture() -> None:
    (picture,) = {*run(asked(*[1] * 3 * MOST_WAITING))}
    assert isinstance(picture, bytes)


def test_only_so_many_pictures_wait() -> None:
    found = run(asked(*range(MOST_WAITING + 2)))
    assert all(isinstance(each, bytes) for each in found[:MOST_WAITING])
    assert [type(each) for each in found[MOST_WAITING:]] == [Unavailable] * 2


@pytest.mark.parametrize("text", ["Sunset", "غروب"])
def test_a_theme_is_drawn_in_both_of_its_colours(text: str) -> None:
    shown = LinkPreview("3c9a51e07f24", text, "", "Themes", ("#1a1033", "#ff7a59"))
    picture = Image.open(io.BytesIO(preview_png(shown))).convert("RGB")
    assert picture.size == (1_200, 630)
    assert [picture.getpixel((x, 10)) for x in (0, 1_199)] == [(26, 16, 51), (255, 122, 89)]
    colours = {colour for _, colour in picture.crop((72, 150, 248, 318)).getcolors(1 << 16) or ()}
    assert {(26, 16, 51), (255, 122, 89)} <= colours, "the letter is in one on the other"
