"""The images in descriptions, which visitors get from us: a caching proxy for what public listings name.

    description -> names of its images -> cached? -> guarded request -> decoder -> served from memory

Invariants: nobody but a public listing's description names what is fetched. An image is fetched once for all
visitors, with nothing of theirs in the request. It is served as the decoder has drawn it again, never as it
came. One that cannot be shown is not fetched again for some time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from core.clock import NS_PER_SECOND, Clock
from core.rows import Policy
from forms.file_fields import Decoded, Files
from handlers.visitor_limit import VisitorLimit
from languages.refusals import Invalid, Refusal
from web.made_once import MadeOnce
from web.markdown import ImagePlace, ImageSize, Markdown, with_sizes

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, HEIGHT = 1_600, 6_400
"""The sides into which an image is fitted: the column of a description on a sharp screen."""
MOST_FRAMES = 200
FAILED_BYTES = 512
"""The memory that an image without content takes in the cache, with its address."""
MOST_WAITING = 256
SHARES = 4
"""A listing has one of so many parts of the requests that are under way."""
ROUNDS_PER_MINUTE = 2
"""The number of times that all images of a listing may be fetched in a minute: descriptions change."""

Fetch = Callable[[str], Awaitable[bytes | None]]
"""Returns the whole body at a URL, or None."""


class ImageLimits(NamedTuple):
    """The bounds of images.

    Args:
        each: the number of images that a description shows.
        most_bytes: of an image.
        cache_bytes: of all images in memory.
        at_once: the requests that are under way.
        kept_seconds: the time for which an image is kept, here and by browsers.
        retry_seconds: the time after which one that could not be shown is fetched again.
    """

    each: int
    most_bytes: int
    cache_bytes: int
    at_once: int
    kept_seconds: float
    retry_seconds: float


class ShownImage(NamedTuple):
    """An image as it is served. `decoded` is None for one that cannot be shown."""

    decoded: Decoded | None
    until_ns: int


class DescriptionImages:
    """The images of a gateway."""

    def __init__(
        self,
        fetch: Fetch,
        decode: Callable[[bytes, Files], Awaitable[Decoded]],
        clock: Clock,
        limits: ImageLimits,
    ) -> None:
        self._fetch = fetch
        self._decode = decode
        self._clock = clock
        self.limits = limits
        types = ("image/png", "image/gif", "image/webp", "image/jpeg")
        self._rules = Files("picture", types, limits.most_bytes, WIDTH, HEIGHT, MOST_FRAMES)
        self._cached = MadeOnce[str, ShownImage](limits.cache_bytes, _size, MOST_WAITING, limits.at_once)
        self._fetches = VisitorLimit(Policy(ROUNDS_PER_MINUTE * limits.each, 60), clock)
        self._turns = WeakValueDictionary[str, asyncio.Semaphore]()
        """The images of each listing that may be under way, so that slow ones hold up no other listing."""
        self._decoding = asyncio.Lock()  # so that uploads wait for one image at most

    async def html(self, markdown: Markdown, listing: str, text: str) -> "Markup":
        """Return the HTML of a public listing's description. `listing` is its ref."""
        return with_sizes(await markdown.drawn(text, self._place(listing)), self._size)

    async def get(self, markdown: Markdown, listing: str, text: str, name: str) -> Decoded | None:
        """Return an image that a description names; None if it cannot be shown.

        Raises TooManyRequests and Unavailable, and Refusal for a name that the description does not have.
        """
        drawn = await markdown.drawn(text, self._place(listing))
        url = drawn.images.get(name)
        if url is None:
            raise Refusal("no_such_path")
        turns = self._turns.setdefault(listing, asyncio.Semaphore(-(-self.limits.at_once // SHARES)))
        async with turns:
            image = self._known(url) or await self._cached.get(url, partial(self._made, url, listing))
        return image.decoded

    def _place(self, listing: str) -> ImagePlace:
        return ImagePlace(f"/{listing}/images", self.limits.each)

    def _known(self, url: str) -> ShownImage | None:
        image = self._cached.kept(url)
        if image is not None and image.until_ns <= self._clock.monotonic_ns():
            self._cached.forget(url)
            return None
        return image

    def _size(self, url: str) -> ImageSize | None:
        image = self._known(url)
        if image is None:
            return None
        if image.decoded is None:
            return ImageSize(0, 0)
        return ImageSize(image.decoded.file.width, image.decoded.file.height)

    async def _made(self, url: str, listing: str) -> ShownImage:
        self._fetches.take(listing)
        decoded = await self._decoded(await self._fetch(url))
        seconds = self.limits.kept_seconds if decoded is not None else self.limits.retry_seconds
        return ShownImage(decoded, self._clock.monotonic_ns() + round(seconds * NS_PER_SECOND))

    async def _decoded(self, content: bytes | None) -> Decoded | None:
        if content is None:
            return None
        async with self._decoding:
            try:
                return await self._decode(content, self._rules)
            except (Invalid, Refusal):
                return None


def _size(url: str, image: ShownImage) -> int:
    content = image.decoded.content if image.decoded is not None else b""
    return len(url) + FAILED_BYTES + len(content)
