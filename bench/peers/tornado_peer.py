"""The vote check in a Tornado handler."""

import asyncio

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from bench.peers.work import IDLE_SECONDS, given_work, listening

WORK = given_work()


class Voters(RequestHandler):
    def get(self, bot: str, user: str) -> None:
        status, content, headers = WORK.check(bot, user, self.request.headers.get("Authorization"))
        self.set_status(status)
        for name, value in headers.items():
            self.set_header(name, value)
        self.finish(content)

    def compute_etag(self) -> None:
        """Compute no ETag: nobody asks for these answers again."""


async def main() -> None:
    application = Application([(r"/bots/([^/]+)/voters/([^/]+)", Voters)], log_function=lambda _: None)
    HTTPServer(application, idle_connection_timeout=IDLE_SECONDS).add_socket(listening())
    await asyncio.Event().wait()


asyncio.run(main())
