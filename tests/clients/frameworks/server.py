"""A receiver in one web framework, as a process: `server.py FRAMEWORK SOCKET DATABASE REWARDS`.

It runs in an environment of its own, which has the frameworks and not the tests. SOCKET is the number of a
listening socket. The secret is in WEBHOOK_SECRET. Each reward is a line of the file REWARDS.
"""

import asyncio
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from votegate_client import Receiver, SQLiteStore, Test, Vote

PATH = "/votes"
HUNG = "answered before the handler ended"


def starlette(receiver: Receiver, listening: socket.socket) -> None:
    from starlette.applications import Starlette
    from starlette.routing import Route

    from votegate_client.adapters.asgi import WebhookApp

    serve_with_uvicorn(Starlette(routes=[Route(PATH, WebhookApp(receiver))]), listening)


def fastapi(receiver: Receiver, listening: socket.socket) -> None:
    from fastapi import FastAPI

    from votegate_client.adapters.asgi import WebhookApp

    app = FastAPI()
    app.add_route(PATH, WebhookApp(receiver))
    serve_with_uvicorn(app, listening)


def asgi_alone(receiver: Receiver, listening: socket.socket) -> None:
    from votegate_client.adapters.asgi import WebhookApp

    serve_with_uvicorn(WebhookApp(receiver), listening)


def quart(receiver: Receiver, listening: socket.socket) -> None:
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from hypercorn.middleware import DispatcherMiddleware
    from quart import Quart

    from votegate_client.adapters.asgi import WebhookApp

    config = Config()
    config.bind = [f"fd://{listening.detach()}"]
    app = DispatcherMiddleware({PATH: WebhookApp(receiver), "": Quart("bot")})
    asyncio.run(serve(app, config))


def aiohttp(receiver: Receiver, listening: socket.socket) -> None:
    from aiohttp import web

    from votegate_client.adapters.aiohttp import webhook_handler

    app = web.Application()
    app.router.add_post(PATH, webhook_handler(receiver))
    web.run_app(app, sock=listening, print=None)


def flask(receiver: Receiver, listening: socket.socket) -> None:
    from flask import Flask

    from votegate_client.adapters.flask import webhook_view

    app = Flask("bot")
    app.add_url_rule(PATH, view_func=webhook_view(receiver), methods=["POST"])
    serve_with_waitress(app, listening)


def django(receiver: Receiver, listening: socket.socket) -> None:
    set_up_django(receiver)
    from django.core.wsgi import get_wsgi_application

    serve_with_waitress(get_wsgi_application(), listening)


def django_asgi(receiver: Receiver, listening: socket.socket) -> None:
    set_up_django(receiver)
    from django.core.asgi import get_asgi_application

    serve_with_uvicorn(get_asgi_application(), listening)


def tornado(receiver: Receiver, listening: socket.socket) -> None:
    from tornado.httpserver import HTTPServer
    from tornado.web import Application

    from votegate_client.adapters.tornado import WebhookHandler

    async def serve() -> None:
        listening.setblocking(False)
        server = HTTPServer(Application([(PATH, WebhookHandler, {"receiver": receiver})]))
        server.add_socket(listening)
        await asyncio.Event().wait()

    asyncio.run(serve())


def serve_with_uvicorn(app: Any, listening: socket.socket) -> None:
    import uvicorn

    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


def serve_with_waitress(app: Any, listening: socket.socket) -> None:
    from waitress import serve

    serve(app, sockets=[listening], threads=8, _quiet=True)


def set_up_django(receiver: Receiver) -> None:
    """Configure a project in this module, with the middleware that a new project has."""
    from django.conf import settings
    from django.urls import path

    from votegate_client.adapters.django import webhook_view

    middleware = ("security.SecurityMiddleware", "common.CommonMiddleware", "csrf.CsrfViewMiddleware")
    settings.configure(
        ALLOWED_HOSTS=["127.0.0.1"],
        MIDDLEWARE=[f"django.middleware.{name}" for name in middleware],
        ROOT_URLCONF=(path(PATH.lstrip("/"), webhook_view(receiver)),),
        SECRET_KEY="of-the-tests",
    )


FRAMEWORKS: dict[str, Callable[[Receiver, socket.socket], None]] = {
    each.__name__: each
    for each in (starlette, fastapi, asgi_alone, quart, aiohttp, flask, django, django_asgi, tornado)
}


def main(framework: str, descriptor: str, database: str, rewards: str) -> None:
    receiver = Receiver(secret=os.environ["WEBHOOK_SECRET"], store=SQLiteStore(database))
    written = os.open(rewards, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    @receiver.on_vote
    async def reward(vote: Vote) -> None:
        os.write(written, f"{vote.id}\n".encode())

    @receiver.on_test
    def hang(_: Test) -> None:
        """Wait until the test has seen the answer."""
        while not Path(rewards).with_suffix(".answered").exists():
            time.sleep(0.01)
        os.write(written, f"{HUNG}\n".encode())

    FRAMEWORKS[framework](receiver, socket.socket(fileno=int(descriptor)))


if __name__ == "__main__":
    main(*sys.argv[1:])
