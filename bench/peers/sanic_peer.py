"""The vote check in Sanic, in a single process and without an access log."""

from sanic import HTTPResponse, Request, Sanic, json

from bench.peers.work import BACKLOG, IDLE_SECONDS, given_work, listening

WORK = given_work()


async def voters(request: Request, bot: str, user: str) -> HTTPResponse:
    status, content, headers = WORK.check(bot, user, request.headers.get("authorization"))
    return json(content, status, headers)


app = Sanic("votes")
app.config.KEEP_ALIVE_TIMEOUT = IDLE_SECONDS
app.add_route(voters, "/bots/<bot:str>/voters/<user:str>")
app.run(sock=listening(), single_process=True, access_log=False, motd=False, backlog=BACKLOG)
