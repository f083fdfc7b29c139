"""Users, servers and applications that clients look up, and pictures of the CDN."""

import html
from typing import Any

from stand_in.answers import (
    NO_ACCESS,
    UNKNOWN_INVITE,
    UNKNOWN_MEMBER,
    UNKNOWN_SERVER,
    UNKNOWN_TEMPLATE,
    Api,
    Handler,
    Refusal,
)
from stand_in.known import (
    ADA,
    BOT,
    GUILD,
    MANAGE_GUILD,
    OWN_APPLICATION,
    ROLE,
    SHOWN,
    VIEW_CHANNEL,
    public_user,
)
from stand_in.pictures import drawn


class Me(Api):
    def get(self) -> None:
        shown = dict(self.platform.users[self.user_id("identify")])
        if "email" not in self.platform.tokens[self._token][1].split():
            shown.pop("email")
        self.show(shown)

    @property
    def _token(self) -> str:
        return self.request.headers["Authorization"].partition(" ")[2]


class MyServers(Api):
    def get(self) -> None:
        user_id = self.user_id("guilds")
        with_counts = self.get_query_argument("with_counts", "false") == "true"
        shown = []
        for each in self.platform.servers.values():
            is_owner = each["owner_id"] == user_id
            one = {name: each[name] for name in SHOWN}
            if not with_counts:
                one = {name: value for name, value in one.items() if not name.startswith("approximate")}
            own = MANAGE_GUILD if user_id in each["managers"] else 0
            permissions = "2251799813685247" if is_owner else str(VIEW_CHANNEL | own)
            shown.append({**one, "banner": None, "owner": is_owner, "permissions": permissions})
        self.show(shown)


class Server(Api):
    """`GET /guilds/{id}`, for a bot that is in it."""

    def get(self, server_id: str) -> None:
        found = self.inside(server_id)
        with_counts = self.get_query_argument("with_counts", "false") == "true"
        named = SHOWN if with_counts else SHOWN[:4]
        role = {**ROLE, "id": server_id, "permissions": str(found["everyone"])}
        more = {name: found[name] for name in (*named, "owner_id", "mfa_level", "nsfw_level")}
        self.show({**GUILD, **more, "roles": [role]})

    def inside(self, server_id: str) -> dict[str, Any]:
        self.only_bot()
        found = self.platform.servers.get(server_id)
        if found is None:
            raise UNKNOWN_SERVER
        if not found["bot"]:
            raise NO_ACCESS
        return found


class ServerChannels(Server):
    """`GET /guilds/{id}/channels`."""

    def get(self, server_id: str) -> None:
        shown = []
        for position, each in enumerate(self.inside(server_id)["channels"]):
            overwrite = {"id": server_id, "type": 0, "allow": "0", "deny": str(each["denied"])}
            one = {name: value for name, value in each.items() if name != "denied"}
            one |= {"guild_id": server_id, "position": position, "flags": 0, "parent_id": None, "topic": None}
            one |= {"last_message_id": None, "rate_limit_per_user": 0}
            shown.append({**one, "permission_overwrites": [overwrite] if each["denied"] else []})
        self.show(shown)


class Member(Server):
    """`GET /guilds/{id}/members/{user}`."""

    def get(self, server_id: str, user_id: str = "") -> None:
        found = self.inside(server_id)
        if user_id not in {found["owner_id"], *found["managers"], *found["members"]}:
            raise UNKNOWN_MEMBER
        self.show({"user": {"id": user_id}, "roles": [], "joined_at": "2024-01-31T12:00:00+00:00"})


class Invite(Api):
    """`GET /invites/{code}`, for everyone."""

    def get(self, code: str) -> None:
        found = self.platform.invites.get(code)
        if found is None:
            raise UNKNOWN_INVITE
        server = self.platform.servers.get(found["server"] or "")
        shown: dict[str, Any] = {"type": 0 if server is not None else 1, "code": code}
        if server is not None:
            named = {name: server[name] for name in (*SHOWN[:4], "nsfw_level")}
            shown["guild"] = {**named, "description": None, "verification_level": 1, "vanity_url_code": None}
            shown["channel"] = {name: server["channels"][0][name] for name in ("id", "name", "type")}
            if self.get_query_argument("with_counts", "false") == "true":
                shown |= {name: server[name] for name in SHOWN if name.startswith("approximate")}
        if self.get_query_argument("with_expiration", "false") == "true":
            shown["expires_at"] = found["expires_at"]
        self.show(shown)


class Join(Handler):
    """The page of an invite, to which the button Join leads."""

    def get(self, code: str) -> None:
        server = self.platform.servers.get(self.platform.invites.get(code, {}).get("server") or "")
        name = html.escape(server["name"]) if server is not None else "Nothing"
        head = f'<link rel="icon" href="data:,"><title>{name}</title>'
        self.finish(f'<!doctype html><html lang="en">{head}<h1>{name}</h1></html>')


class Template(Api):
    """`GET /guilds/templates/{code}`, for everyone."""

    def get(self, code: str) -> None:
        found = self.platform.templates.get(code)
        if found is None:
            raise UNKNOWN_TEMPLATE
        creator = self.platform.users.get(found["creator_id"])
        self.show({**found, "creator": public_user(creator) if creator is not None else None})


class UseTemplate(Handler):
    """The page of a template, to which the button Use this template leads."""

    def get(self, code: str) -> None:
        name = html.escape(self.platform.templates.get(code, {}).get("name", "Nothing"))
        head = f'<link rel="icon" href="data:,"><title>{name}</title>'
        self.finish(f'<!doctype html><html lang="en">{head}<h1>{name}</h1></html>')


class ApplicationRpc(Api):
    def get(self, application_id: str) -> None:
        found = self.platform.applications.get(application_id)
        if found is None:
            raise Refusal(404, {"message": "Unknown Application", "code": 10_002})
        self.show(found)


class DirectoryApplication(Api):
    """`GET /application-directory-static/applications/{id}`, for everyone."""

    def get(self, application_id: str) -> None:
        listed = self.platform.directory.get(application_id)
        if listed is None:
            raise Refusal(404, {"message": "Unknown Application", "code": 10_002})
        entry = {"guild_count": listed, "short_description": "", "supported_locales": ["en-US"]}
        self.show({**self.platform.applications[application_id], "directory_entry": entry})


class OwnApplication(Api):
    """`GET /applications/@me`, for the bot of the application."""

    def get(self) -> None:
        self.only_bot()
        servers = sum(each["bot"] for each in self.platform.servers.values())
        own = {
            "id": self.platform.client_id,
            "name": "Votegate",
            "owner": public_user(self.platform.users[ADA]),
            "bot": BOT,
        }
        self.show({**OWN_APPLICATION, **own, "approximate_guild_count": servers})


class Picture(Handler):
    """Any picture of the CDN."""

    def get(self, path: str) -> None:
        known_as = path.rpartition("/")[2].removesuffix(".png")
        self.set_header("Content-Type", "image/svg+xml")
        self.set_header("Cache-Control", "public, max-age=31536000")
        self.finish(drawn(path, self.platform.shapes.get(known_as)))
