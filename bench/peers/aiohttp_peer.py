"""The vote check in aiohttp's server, on uvloop."""

import uvloop
from aiohttp import web

from bench.peers.work import BACKLOG, IDLE_SECONDS, given_work, listening

WORK = given_work()


async def voters(request: web.Request) -> web.Response:
    bot, user = request.match_info["bot"], request.match_info["user"]
    status, content, headers = WORK.check(bot, user, request.headers.get("Authorization"))
    return web.json_response(content, status=status, headers=headers)


app = web.Application()
app.router.add_get("/bots/{bot}/voters/{user}", voters)
web.run_app(
    app,
    sock=listening(),
    loop=uvloop.new_event_loop(),
    access_log=None,
    print=None,
    keepalive_timeout=IDLE_SECONDS,
    backlog=BACKLOG,
)
