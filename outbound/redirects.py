"""Bodies behind redirects. Invariant: each step passes the guard like the first, and goes over https."""

import asyncio
from urllib.parse import urljoin

from outbound.client import HttpClient
from outbound.result import HttpResult

MOST_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})


async def whole_body(client: HttpClient, url: str, *, timeout_seconds: float) -> bytes | None:
    """Return the body of a successful answer at the end of at most `MOST_REDIRECTS` redirects.

    Returns None for every failure, and for a body that the client did not read to its end.

    Args:
        timeout_seconds: the time for all steps together.
    """
    try:
        async with asyncio.timeout(timeout_seconds):
            result = await _followed(client, url)
    except TimeoutError:
        return None
    is_whole = result is not None and result.error is None and result.is_whole
    return result.body if result is not None and is_whole else None


async def _followed(client: HttpClient, url: str) -> HttpResult | None:
    for _ in range(MOST_REDIRECTS + 1):
        if not url.lower().startswith("https://"):
            return None
        result = await client.get(url, {})
        if result.status not in REDIRECTS:
            return result
        try:
            url = urljoin(url, result.headers.get("location", ""))
        except ValueError:
            return None
    return None
