"""Which HTTP client sends webhooks: aiohttp's or curl's, side by side against one receiver.

Needs pycurl beside the project's requirements: .venv/bin/python -m pip install pycurl==7.49.0
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from tornado.curl_httpclient import CurlAsyncHTTPClient
from tornado.httpclient import HTTPRequest

from bench.load import serving
from bench.servers import sink
from webhook.sender import open_sender

BODY = b'{"bot":"123456789012345678","user":"323456789012345678","test":false}'
REQUESTS = 5_000
IN_FLIGHT = 64


async def rate(post: Callable[[], Awaitable[object]]) -> float:
    """Requests per second with IN_FLIGHT of them under way."""
    left = iter(range(REQUESTS))

    async def worker() -> None:
        for _ in left:
            await post()

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return REQUESTS / (time.perf_counter() - started)


async def main(port: int) -> None:
    url = f"http://127.0.0.1:{port}/vote"
    curl = CurlAsyncHTTPClient(max_clients=IN_FLIGHT, force_instance=True)

    async def by_curl() -> None:
        request = HTTPRequest(
            url,
            method="POST",
            body=BODY,
            headers={"Content-Type": "application/json"},
            follow_redirects=False,
        )
        await curl.fetch(request, raise_error=False)

    async with open_sender(5, "bench") as sender:
        for name, post in (("curl", by_curl), ("aiohttp", lambda: sender.post(url, "secret", BODY))):
            await rate(post)  # warm
            rates = [await rate(post) for _ in range(3)]
            print(f"{name:8} {max(rates):8.0f} requests/s (best of 3 runs of {REQUESTS})")


if __name__ == "__main__":
    with serving(sink) as receiver:
        asyncio.run(main(receiver))
