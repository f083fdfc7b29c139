"""What only a stand-in has: changes of what it knows, faults to come, and a look at what it got."""

import html
import json

from tornado.web import HTTPError

from stand_in.answers import FAULTS, Handler
from stand_in.known import USERS

INBOXES = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>Direct messages</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 1rem/1.5 system-ui; max-width: 40rem; margin: 3rem auto; padding: 0 1rem }}
pre {{ white-space: pre-wrap }}</style></head>
<body><main><h1>Direct messages</h1>{shown}</main></body></html>"""


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
        messages = self.platform.messages[::-1]
        if as_json is not None:
            self.answer(
                {"messages": [{"to": each.to, "content": each.shown["content"]} for each in messages]}
            )
            return
        shown = "".join(
            f"<h2>{html.escape(USERS[each.to]['global_name'] or USERS[each.to]['username'])}</h2>"
            f"<p>{html.escape(each.shown['timestamp'])}</p><pre>{html.escape(each.shown['content'])}</pre>"
            for each in messages
        )
        self.finish(INBOXES.format(shown=shown or "<p>Nobody has got a message yet.</p>"))


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
