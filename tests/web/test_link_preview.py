"""web/link_preview.py: the pictures of links, drawn for many who ask at once."""

import asyncio

from core.failures import Unavailable
from tests.support.coroutines import run
from web.link_preview import MOST_WAITING, LinkPreview, LinkPreviews


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
