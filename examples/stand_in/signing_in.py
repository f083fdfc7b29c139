"""Signing in: the page on which a user says yes or no, and the token for the code that it gives."""

import base64
import hashlib
import html
import secrets
import time
from urllib.parse import urlencode

from tornado.web import HTTPError

from stand_in.answers import Api, Handler, Refusal
from stand_in.known import Grant

CODE_SECONDS, TOKEN_SECONDS = 60, 604_800
SCOPES = {"identify", "email", "guilds"}
COOKIE = "stand-in-user"
"""The cookie with the user that a browser chose last. The gateway uses other names: ports share cookies."""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>Sign in</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body {{ font: 1rem/1.5 system-ui; max-width: 28rem; margin: 3rem auto; padding: 0 1rem }}
button {{ font: inherit; padding: .4rem 1rem }} label {{ display: block; padding: .3rem 0 }}</style></head>
<body><main><h1>Stand-in for the chat platform</h1>
<p>Somebody asks for: {scopes}. Who are you?</p>
<form method="post">{users}
<p><button name="decision" value="approve">Approve</button>
<button name="decision" value="cancel">Cancel</button></p></form></main></body></html>"""


class Authorize(Handler):
    """`/oauth2/authorize`: the page on which a user says yes or no."""

    def get(self) -> None:
        self._check()
        known = self.get_cookie(COOKIE, "")
        if self.get_query_argument("prompt", "consent") == "none" and known in self.platform.allowed:
            self._approve(known)
            return
        choices = "".join(
            f'<label><input type="radio" name="user" value="{user_id}"{" checked" * (not number)}> '
            f"{html.escape(label)}</label>"
            for number, (user_id, label) in enumerate(self.platform.offered.items())
        )
        scopes = html.escape(", ".join(self.get_query_argument("scope", "").split()))
        self.finish(PAGE.format(scopes=scopes, users=choices))

    def post(self) -> None:
        self._check()
        if self.get_body_argument("decision", "") != "approve":
            self._back(error="access_denied", error_description="The resource owner denied the request")
            return
        user_id = self.get_body_argument("user", "")
        if user_id not in self.platform.users:
            raise HTTPError(400)
        self._approve(user_id)

    def _check(self) -> None:
        """An address that is not registered is never gone back to."""
        platform = self.platform
        if (
            self.get_query_argument("client_id", "") != platform.client_id
            or self.get_query_argument("redirect_uri", "") not in platform.redirect_uris
            or self.get_query_argument("response_type", "") != "code"
            or not set(self.get_query_argument("scope", "").split()) <= SCOPES
            or self.get_query_argument("code_challenge_method", "S256") != "S256"
        ):
            raise HTTPError(400)

    def _approve(self, user_id: str) -> None:
        code = secrets.token_urlsafe(22)
        self.platform.allowed.add(user_id)
        self.set_cookie(COOKIE, user_id, httponly=True, samesite="Lax")
        self.platform.codes[code] = Grant(
            user_id,
            self.get_query_argument("redirect_uri"),
            self.get_query_argument("scope", ""),
            self.get_query_argument("code_challenge", None),
            time.monotonic() + CODE_SECONDS,
        )
        self._back(code=code)

    def _back(self, **query: str) -> None:
        state = self.get_query_argument("state", None)
        if state is not None:
            query["state"] = state
        self.redirect(f"{self.get_query_argument('redirect_uri')}?{urlencode(query)}")


class Token(Api):
    """`POST /oauth2/token`: takes a form, and nothing else."""

    def post(self) -> None:
        kind = self.request.headers.get("Content-Type", "").partition(";")[0]
        if kind != "application/x-www-form-urlencoded":
            raise Refusal(400, {"error": "invalid_request", "error_description": "The body is no form."})
        if not self._is_our_client():
            raise Refusal(401, {"error": "invalid_client"})
        if self.get_body_argument("grant_type", "") != "authorization_code":
            raise Refusal(400, {"error": "unsupported_grant_type"})
        grant = self.platform.codes.pop(self.get_body_argument("code", ""), None)  # used once, right or wrong
        if grant is None or not self._is_for(grant):
            raise Refusal(400, {"error": "invalid_grant", "error_description": 'Invalid "code" in request.'})
        token = secrets.token_urlsafe(22)
        self.platform.tokens[token] = (grant.user_id, grant.scope)
        body = {"access_token": token, "token_type": "Bearer", "expires_in": TOKEN_SECONDS}
        self.show({**body, "refresh_token": secrets.token_urlsafe(22), "scope": grant.scope})

    def _is_our_client(self) -> bool:
        scheme, _, encoded = self.request.headers.get("Authorization", "").partition(" ")
        known = f"{self.platform.client_id}:{self.platform.client_secret}"
        if scheme == "Basic":
            return secrets.compare_digest(encoded, base64.b64encode(known.encode()).decode())
        given = f"{self.get_body_argument('client_id', '')}:{self.get_body_argument('client_secret', '')}"
        return secrets.compare_digest(given.encode(), known.encode())

    def _is_for(self, grant: Grant) -> bool:
        if time.monotonic() > grant.until or self.get_body_argument("redirect_uri", "") != grant.redirect_uri:
            return False
        verifier = self.get_body_argument("code_verifier", "")
        if grant.challenge is None:
            return not verifier
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        return 43 <= len(verifier) <= 128 and digest == grant.challenge
