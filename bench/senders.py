"""HTTP clients that send webhooks: aiohttp's, and ours on httptools, side by side against one receiver."""

import time
from asyncio import gather
from collections.abc import Awaitable, Callable

import aiohttp
import uvloop

from bench.load import serving
from bench.servers import sink
from outbound.client import open_client
from outbound.targets import TargetGuard

BODY = b'{"bot":"123456789012345678","user":"323456789012345678","test":false}'
HEADERS = {
    "Authorization": "secret",
    "webhook-id": "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W",
    "webhook-timestamp": "1750000000",
    "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
}
REQUESTS = 20_000
IN_FLIGHT = 64
RUNS = 5

Post = Callable[[], Awaitable[object]]


async def rate(post: Post) -> float:
    """Return the requests per second, with IN_FLIGHT of them under way."""
    left = iter(range(REQUESTS))

    async def worker() -> None:
        for _ in left:
            await post()

    started = time.perf_counter()
    await gather(*(worker() for _ in range(IN_FLIGHT)))
    return REQUESTS / (time.perf_counter() - started)


async def main(port: int) -> None:
    url = f"http://127.0.0.1:{port}/vote"
    guard = TargetGuard(allow_private=True, allow_http=True)
    async with (
        open_client(guard, timeout_seconds=5, user_agent="bench") as sender,
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=5),
            headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
        ) as session,
    ):

        async def by_aiohttp() -> None:
            async with session.post(url, data=BODY, headers=HEADERS, allow_redirects=False) as response:
                await response.read()

        posts: dict[str, Post] = {"aiohttp": by_aiohttp, "ours": lambda: sender.post(url, HEADERS, BODY)}
        for post in posts.values():
            await rate(post)  # warm
        rates: dict[str, list[float]] = {name: [] for name in posts}
        for _ in range(RUNS):  # by turns, so that both meet the same machine
            for name, post in posts.items():
                rates[name].append(await rate(post))
    for name, measured in rates.items():
        ratio = max(measured) / max(rates["aiohttp"])
        print(f"{name:8} {max(measured):8.0f} requests/s {ratio:6.2f} (best of {RUNS} runs of {REQUESTS})")


if __name__ == "__main__":
    with serving(sink) as receiver:
        uvloop.run(main(receiver))
