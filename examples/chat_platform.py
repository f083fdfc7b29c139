"""A stand-in for the chat platform: signing in, and the part of its API that Votegate uses, on this machine.

.venv/bin/python examples/chat_platform.py [--port PORT] [--client-id ID] [--redirect-uri URI]...

Nobody needs an account: a visitor who signs in chooses one of its users. It answers as the platform's
reference says, and refuses what the platform would refuse. It is for first steps and for tests, never for the
public.

`POST /stand-in/faults` with {"path": ..., "fault": ..., "times": ...} lets the next answers go wrong;
`POST /stand-in/applications/{id}` with {"description": ...} writes what an owner would write there, and with
{"guild_count": ...} puts it into the directory, or takes it out of it (null);
`POST /stand-in/servers/{id}` with {"approximate_member_count": ..., "bot": true, ...} changes a server;
`POST /stand-in/invites/{code}` with {"server": ..., "expires_at": ...} makes an invite, and with
{"server": "gone"} ends it; of those that it begins with, `server-1` leads to the first server;
`POST /stand-in/templates/{code}` with {"usage_count": ...} makes or changes a template; null ends it;
`GET /stand-in/messages` shows the direct messages that its users got, and `/stand-in/messages.json` as JSON;
`POST /stand-in/known` tells of more users, applications and servers, as the file of `--known` does;
`POST /stand-in/receiver` takes webhooks, for owners who have no bot at hand, and `GET` shows the last ones;
`GET /stand-in/seen` shows how often each path was asked for.
"""

import argparse
import asyncio
import html
import json
import sys
from pathlib import Path

from stand_in.answers import API, FAULTS, Handler
from stand_in.direct_messages import Channels, Messages
from stand_in.emojis import Emojis
from stand_in.known import ADA, CLIENT_ID, Platform, name_of, template
from stand_in.lookups import (
    ApplicationRpc,
    DirectoryApplication,
    Invite,
    Join,
    Me,
    Member,
    MyServers,
    OwnApplication,
    Picture,
    Server,
    ServerChannels,
    Template,
    UseTemplate,
)
from stand_in.signing_in import Authorize, Token
from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 1rem/1.5 system-ui; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }}
pre {{ white-space: pre-wrap }}</style></head>
<body><main><h1>{title}</h1>{shown}</main></body></html>"""


class Faults(Handler):
    def post(self) -> None:
        wanted = json.loads(self.request.body)
        if wanted["fault"] not in FAULTS:
            raise HTTPError(400)
        self.platform.faults += [(wanted["path"], wanted["fault"])] * wanted.get("times", 1)
        self.answer({"faults": len(self.platform.faults)})


class Inboxes(Handler):
    """The direct messages that each user got, the newest first."""

    def get(self, as_json: str | None) -> None:
        messages, users = self.platform.messages[::-1], self.platform.users
        if as_json is not None:
            self.answer(
                {"messages": [{"to": each.to, "content": each.shown["content"]} for each in messages]}
            )
            return
        shown = "".join(
            f"<h2>{html.escape(name_of(users[each.to]))}</h2>"
            f"<p>{html.escape(each.shown['timestamp'])}</p><pre>{html.escape(each.shown['content'])}</pre>"
            for each in messages
        )
        nothing = "<p>Nobody has got a message yet.</p>"
        self.finish(PAGE.format(title="Direct messages", shown=shown or nothing))


class Receiver(Handler):
    """An endpoint for webhooks that takes everything."""

    def post(self) -> None:
        self.platform.received.append(self.request.body.decode())
        self.set_status(204)
        self.finish()

    def get(self) -> None:
        shown = "".join(f"<pre>{html.escape(each)}</pre>" for each in reversed(self.platform.received))
        self.finish(PAGE.format(title="Webhooks", shown=shown or "<p>No webhook has come yet.</p>"))


class Known(Handler):
    def post(self) -> None:
        self.platform.learn(json.loads(self.request.body))
        self.answer({})


class Seen(Handler):
    def get(self) -> None:
        self.answer({"asked": self.platform.asked})


class ApplicationChange(Handler):
    def post(self, application_id: str) -> None:
        told, platform = json.loads(self.request.body), self.platform
        if "description" in told:
            platform.applications[application_id]["description"] = told["description"]
        if "guild_count" in told:
            platform.directory[application_id] = told["guild_count"]
        self.answer({})


class ServerChange(Handler):
    def post(self, server_id: str) -> None:
        self.platform.servers[server_id] |= json.loads(self.request.body)
        self.answer({})


class InviteChange(Handler):
    def post(self, code: str) -> None:
        told = json.loads(self.request.body)
        if told["server"] == "gone":
            self.platform.invites.pop(code, None)
        else:
            self.platform.invites[code] = {"expires_at": None, **told}
        self.answer({})


class TemplateChange(Handler):
    def post(self, code: str) -> None:
        told, known = json.loads(self.request.body), self.platform.templates
        if told is None:
            known.pop(code, None)
        else:
            known[code] = {**template(code, "Made here", ADA), **known.get(code, {}), **told}
        self.answer({})


def make_app(platform: Platform) -> Application:
    return Application(
        [
            ("/oauth2/authorize", Authorize),
            (f"{API}/oauth2/token", Token),
            (f"{API}/users/@me", Me),
            (f"{API}/users/@me/guilds", MyServers),
            (f"{API}/users/@me/channels", Channels),
            (rf"{API}/channels/(\d+)/messages", Messages),
            (rf"{API}/guilds/(\d+)", Server),
            (rf"{API}/guilds/(\d+)/channels", ServerChannels),
            (rf"{API}/guilds/(\d+)/emojis", Emojis),
            (rf"{API}/guilds/(\d+)/members/(\d+)", Member),
            (rf"{API}/guilds/templates/([^/]+)", Template),
            (rf"{API}/invites/([^/]+)", Invite),
            (r"/use/([^/]+)", UseTemplate),
            (r"/join/([^/]+)", Join),
            (rf"{API}/applications/@me", OwnApplication),
            (rf"{API}/applications/(\d+)/rpc", ApplicationRpc),
            (rf"{API}/application-directory-static/applications/(\d+)", DirectoryApplication),
            (r"/((?:avatars|app-icons|icons|embed)/.+\.png)", Picture),
            ("/stand-in/faults", Faults),
            (r"/stand-in/messages(\.json)?", Inboxes),
            ("/stand-in/known", Known),
            ("/stand-in/receiver", Receiver),
            ("/stand-in/seen", Seen),
            (r"/stand-in/applications/(\d+)", ApplicationChange),
            (r"/stand-in/servers/(\d+)", ServerChange),
            (r"/stand-in/invites/([^/]+)", InviteChange),
            (r"/stand-in/templates/([^/]+)", TemplateChange),
        ],
        platform=platform,
        log_function=lambda _: None,
    )


def listen(platform: Platform, port: int) -> tuple[HTTPServer, str]:
    """Begin to serve on loopback. Return the server and its address; port 0 takes any that is free."""
    server = HTTPServer(make_app(platform))
    sockets = bind_sockets(port, "127.0.0.1")
    server.add_sockets(sockets)
    return server, f"http://127.0.0.1:{sockets[0].getsockname()[1]}"


async def serve(platform: Platform, port: int) -> None:
    _, url = listen(platform, port)
    sys.stdout.write(f"the stand-in for the chat platform is at {url}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    arguments = argparse.ArgumentParser(description="A stand-in for the chat platform")
    arguments.add_argument("--port", type=int, default=8090)
    arguments.add_argument("--client-id", default=CLIENT_ID)
    arguments.add_argument("--redirect-uri", action="append", default=[])
    arguments.add_argument("--known", type=Path, help="a JSON file with more users, applications and servers")
    given = arguments.parse_args()
    back = tuple(given.redirect_uri) or ("http://127.0.0.1:8080/signin/callback",)
    platform = Platform(back, client_id=given.client_id)
    if given.known is not None:
        platform.learn(json.loads(given.known.read_text()))
    asyncio.run(serve(platform, given.port))


if __name__ == "__main__":
    main()
