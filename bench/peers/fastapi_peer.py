"""The vote check in FastAPI, on uvicorn with uvloop and httptools and without an access log."""

from typing import Annotated

import uvicorn
from fastapi import FastAPI, Header
from fastapi.responses import JSONResponse

from bench.peers.work import BACKLOG, IDLE_SECONDS, given_work, listening

WORK = given_work()


async def voters(bot: str, user: str, authorization: Annotated[str | None, Header()] = None) -> JSONResponse:
    status, content, headers = WORK.check(bot, user, authorization)
    return JSONResponse(content, status, headers)


app = FastAPI()
app.add_api_route("/bots/{bot}/voters/{user}", voters, methods=["GET"])
config = uvicorn.Config(
    app,
    loop="uvloop",
    http="httptools",
    access_log=False,
    log_level="warning",
    backlog=BACKLOG,
    timeout_keep_alive=IDLE_SECONDS,
)
uvicorn.Server(config).run(sockets=[listening()])
