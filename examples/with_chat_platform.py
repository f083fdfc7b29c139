"""A gateway beside a stand-in for the chat platform, on this machine: `make run`.

python examples/with_chat_platform.py [--port PORT] [--platform-port PORT] [--known FILE] [OPTION]...

All other options are those of `server.py serve`. Ctrl-C stops both. When one of them ends, the other one is
stopped. The stand-in lets everybody sign in as anyone, so it is for this machine alone: see chat_platform.py.
"""

import argparse
import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path

from stand_in.answers import API
from stand_in.known import BOT_TOKEN, CLIENT_ID, CLIENT_SECRET, READY_BOT, USERS
from tornado.httpclient import AsyncHTTPClient, HTTPClientError

ROOT = Path(__file__).parent.parent
HOST = "127.0.0.1"
MODERATOR = next(each["id"] for each in USERS.values() if each["username"] == "cleo")
LOOK_SECONDS = 0.1
PORTS_BETWEEN = 10
SEEN_FIRST = ("/", "/bots", "/servers")
ENDING = """
A stand-in for the chat platform answers at {platform_url}. Ctrl-C stops both.
"""
GREETING = f"""
Open {{url}} and sign in, without an account anywhere:
  as Ada, who owns bots: submit the bot {READY_BOT}
  as Cleo, who moderates: approve it

Then read what Ada was told: {{platform_url}}/stand-in/messages
"""
GREETING_OF_KNOWN = """
Open {url} and look around. Sign in as one of those who are offered.
The gateway asks for icons one by one, so they are all there after half a minute.
To see webhooks come in, use the endpoint {platform_url}/stand-in/receiver
"""
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the last one comes when a terminal is closed


class Ended(Exception):
    """One of the two has ended, although nobody stopped it."""


async def started(*command: str, environment: Mapping[str, str], stdout: int | None = None) -> Process:
    # A group of its own, because Ctrl-C is for this process, which stops the others in order.
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=stdout,
        process_group=0,
    )


async def stopped(process: Process) -> None:
    """Terminate the process and wait for its end."""
    if process.returncode is None:
        process.terminate()
    await process.wait()


async def url_of(platform: Process) -> str:
    """Return the address that the stand-in prints as soon as it answers. Raises Ended."""
    line = await platform.stdout.readline() if platform.stdout is not None else b""
    if not line:
        raise Ended("the stand-in for the chat platform did not start")
    return line.decode().split()[-1]


def site(public_url: str, platform_url: str) -> dict[str, str]:
    """Return the settings of a gateway that knows the stand-in."""
    return {
        "VOTEGATE_WEB__PUBLIC_URL": public_url,
        "VOTEGATE_WEB__MODERATORS": MODERATOR,
        "VOTEGATE_CHAT_PLATFORM__AUTHORIZE_URL": f"{platform_url}/oauth2/authorize",
        "VOTEGATE_CHAT_PLATFORM__API_URL": platform_url + API,
        "VOTEGATE_CHAT_PLATFORM__CDN_URL": platform_url,
        "VOTEGATE_CHAT_PLATFORM__INVITE_URL": f"{platform_url}/join",
        "VOTEGATE_CHAT_PLATFORM__CLIENT_ID": CLIENT_ID,
        "VOTEGATE_CHAT_PLATFORM__CLIENT_SECRET": CLIENT_SECRET,
        "VOTEGATE_CHAT_PLATFORM__BOT_TOKEN": BOT_TOKEN,
    }


async def is_ready(port: int) -> bool:
    try:
        await AsyncHTTPClient().fetch(f"http://{HOST}:{port}/readyz")
    except (OSError, HTTPClientError):
        return False
    return True


async def greet(greeting: str, port: int, platform_url: str) -> None:
    """Print what to try, once both programs answer. Load pages first, so that the gateway asks for icons."""
    while not await is_ready(port):  # noqa: ASYNC110 (the gateway writes to the terminal, not to here)
        await asyncio.sleep(LOOK_SECONDS)
    for page in SEEN_FIRST:
        await AsyncHTTPClient().fetch(f"http://{HOST}:{port}{page}")
    sys.stdout.write(greeting.format(url=f"http://{HOST}:{port}", platform_url=platform_url))
    sys.stdout.flush()


async def serve(port: int, platform_port: int, known: str | None, options: Sequence[str]) -> None:
    """Serve until a signal stops it. `known` is a file for the stand-in. Raises Ended."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in STOPPING:
        loop.add_signal_handler(number, stop.set)
    public_url = f"http://{HOST}:{port}"
    own = ("--port", str(platform_port), "--redirect-uri", f"{public_url}/signin/callback")
    more = ("--known", known) if known is not None else ()
    platform = await started("examples/chat_platform.py", *own, *more, environment={}, stdout=PIPE)
    both = [platform]
    try:
        platform_url = await url_of(platform)
        command = ("server.py", "serve", "--port", str(port), *options)
        gateway = await started(*command, environment=site(public_url, platform_url))
        both.insert(0, gateway)  # it goes first, because it may have a question under way
        said = (GREETING if known is None else GREETING_OF_KNOWN) + ENDING
        greeting = loop.create_task(greet(said, port, platform_url))
        endings = [loop.create_task(each.wait()) for each in both]
        await asyncio.wait([loop.create_task(stop.wait()), *endings], return_when=asyncio.FIRST_COMPLETED)
        greeting.cancel()
        if not stop.is_set():
            name, ended = ("gateway", gateway) if gateway.returncode is not None else ("stand-in", platform)
            raise Ended(f"the {name} has ended with status {ended.returncode}")
    finally:
        for each in both:
            await stopped(each)


def main() -> None:
    parser = argparse.ArgumentParser(
        description="A gateway beside a stand-in for the chat platform.", allow_abbrev=False
    )
    own_port = os.environ.get("VOTEGATE_SERVER__PORT", "8080")
    parser.add_argument("--port", type=int, default=own_port, help="of the gateway")
    further = f"of the stand-in, {PORTS_BETWEEN} above that of the gateway by default; 0 is any"
    parser.add_argument("--platform-port", type=int, help=further)
    parser.add_argument("--known", help="a JSON file with more that the stand-in knows")
    given, options = parser.parse_known_args()
    platform_port = given.port + PORTS_BETWEEN if given.platform_port is None else given.platform_port
    try:
        asyncio.run(serve(given.port, platform_port, given.known, options))
    except Ended as ended:
        raise SystemExit(f"stopped: {ended}") from None


if __name__ == "__main__":
    main()
