"""The usual tools for a webhook sender: bare loops around aiohttp's client and Node's fetch.

They post the same body and as many headers as the gateway does, and nothing else: no journal, no outbox, no
signing, no outcome that is written down. So they are the clients' own speed.
"""

import asyncio
import json
import shutil
import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

import aiohttp
import uvloop

from bench.load import SERVER_CORES, on_cores
from bench.state import in_process

BODY = '{"bot":"123456789012345678","user":"323456789012345678","test":false}'
HEADERS = {
    "Content-Type": "application/json",
    "Authorization": "a-token",
    "webhook-timestamp": "1750000000",
    "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
}
AIOHTTP, FETCH = "aiohttp's client", "Node's fetch"
NODE = """
const { urls, underWay, seconds, warm, body, headers } = JSON.parse(process.argv[1])
let sent = 0
async function worker (url, until) {
  while (performance.now() < until) {
    const id = `n${sent++}`
    const response = await fetch(url, { method: 'POST', body, headers: { ...headers, 'webhook-id': id } })
    await response.arrayBuffer()
    if (response.status !== 204) throw new Error(`status ${response.status}`)
  }
}
async function run (length) {
  const before = sent, started = performance.now()
  const until = started + length * 1000
  await Promise.all(Array.from({ length: underWay }, (_, i) => worker(urls[i % urls.length], until)))
  return (sent - before) / (performance.now() - started) * 1000
}
await run(warm)
const rate = await run(seconds)
console.log(JSON.stringify([sent, rate]))
"""


class Sent(NamedTuple):
    ids: list[str]
    """The ids of all webhooks sent, including those of the warming up."""
    rate: float
    """The webhooks a second while it was measured."""


def by_aiohttp(urls: Sequence[str], under_way: int, seconds: float, warm: float) -> Sent:
    with on_cores(SERVER_CORES):
        total, rate = in_process(_aiohttp, urls, under_way, seconds, warm)
    return Sent([f"a{number}" for number in range(total)], rate)


def by_fetch(urls: Sequence[str], under_way: int, seconds: float, warm: float) -> Sent | None:
    """Return None on a machine without Node."""
    if shutil.which("node") is None:
        return None
    arguments = {"urls": urls, "underWay": under_way, "seconds": seconds, "warm": warm}
    task = json.dumps({**arguments, "body": BODY, "headers": HEADERS})
    with on_cores(SERVER_CORES):
        said = subprocess.run(
            ["node", "--input-type=module", "-e", NODE, task], capture_output=True, text=True, check=False
        )
    if said.returncode:
        raise AssertionError(said.stderr)
    total, rate = json.loads(said.stdout)
    return Sent([f"n{number}" for number in range(total)], rate)


def _aiohttp(urls: Sequence[str], under_way: int, seconds: float, warm: float) -> tuple[int, float]:
    return uvloop.run(_posted(urls, under_way, seconds, warm))


async def _posted(urls: Sequence[str], under_way: int, seconds: float, warm: float) -> tuple[int, float]:
    sent = 0
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=5),
        headers=HEADERS,
    ) as session:

        async def worker(url: str, until: float) -> None:
            nonlocal sent
            while time.perf_counter() < until:
                headers = {"webhook-id": f"a{sent}"}
                sent += 1
                async with session.post(url, data=BODY, headers=headers, allow_redirects=False) as response:
                    await response.read()
                    if response.status != 204:
                        raise AssertionError(response.status)

        async def run(length: float) -> float:
            before, started = sent, time.perf_counter()
            workers = (worker(urls[number % len(urls)], started + length) for number in range(under_way))
            await asyncio.gather(*workers)
            return (sent - before) / (time.perf_counter() - started)

        await run(warm)
        rate = await run(seconds)
    return sent, rate
