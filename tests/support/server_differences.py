"""Requests that our HTTP server and Tornado's answer differently, each with its reason, and rare requests
that they must answer alike."""

from typing import NamedTuple

from tests.support.gateways import OPERATOR_TOKEN, USER
from tests.support.generated_conversations import KEY, STATS, VOTES

HOST = "Host: g\r\n"
HEALTH = f"GET /healthz HTTP/1.1\r\n{HOST}"
OLD = f"GET /healthz HTTP/1.0\r\n{HOST}"
AUTHORIZED = f"{HOST}Authorization: {KEY}\r\n"
PATCH = f"PATCH {STATS} HTTP/1.1\r\n{AUTHORIZED}"
BODY = '{"server_count": 1200}'
VOTE = f"POST {VOTES} HTTP/1.1\r\n{HOST}Authorization: Bearer {OPERATOR_TOKEN}\r\n"
USER_BODY = f'{{"user":"{USER}"}}'
CHUNKED = f"Transfer-Encoding: chunked\r\n\r\n16\r\n{BODY}\r\n0\r\n\r\n"


class Difference(NamedTuple):
    """A request.

    The answers of both servers to it, and to `END` after it: statuses, and values of `Connection`.
    """

    why: str
    request: str
    wire: str
    tornado: str


DIFFERENCES = {
    "a method that nobody knows": Difference(
        "501 is for methods that a server does not know (RFC 9110, 9.1); llhttp cannot read on after one",
        f"BREW /healthz HTTP/1.1\r\n{HOST}\r\n",
        "501 close",
        "405",
    ),
    "a method of other applications": Difference(
        "Tornado answers before it has read the request, and so it closes without an announcement",
        f"QUERY /healthz HTTP/1.1\r\n{HOST}\r\n",
        "405, 200 close",
        "405",
    ),
    "CONNECT": Difference(
        "no request follows one that asks for a tunnel (RFC 9110, 9.3.6); Tornado does not say it",
        f"CONNECT /healthz HTTP/1.1\r\n{HOST}\r\n",
        "405 close",
        "405",
    ),
    "a target for a proxy": Difference(
        "must be accepted (RFC 9112, 3.2.2), and libraries with a proxy in their settings send it",
        f"GET http://g/healthz HTTP/1.1\r\n{HOST}\r\n",
        "200, 200 close",
        "404, 200 close",
    ),
    "a target for a proxy with a user in it": Difference(
        "http has no users in its URIs, and one that looks like a host deceives (RFC 9110, 4.2.4)",
        f"GET http://g@h/healthz HTTP/1.1\r\n{HOST}\r\n",
        "400 close",
        "404, 200 close",
    ),
    "an asterisk": Difference(
        "the asterisk is for OPTIONS alone (RFC 9112, 3.2.4)",
        f"GET * HTTP/1.1\r\n{HOST}\r\n",
        "400 close",
        "404, 200 close",
    ),
    "letters of no URI in a target": Difference(
        "it is invalid, and should be a 400 (RFC 9112, 3.2)",
        f"GET /caf\xe9 HTTP/1.1\r\n{HOST}\r\n",
        "400 close",
        "404, 200 close",
    ),
    "two spaces before a target": Difference(
        "both are allowed (RFC 9112, 3)",
        f"GET  /healthz HTTP/1.1\r\n{HOST}\r\n",
        "200, 200 close",
        "400 close",
    ),
    "empty lines before a request": Difference(
        "should be ignored (RFC 9112, 2.2)",
        f"\r\n\r\n{HEALTH}\r\n",
        "200, 200 close",
        "400 close",
    ),
    "bare line feeds": Difference(
        "may be recognized (RFC 9112, 2.2); behind a proxy that does not, requests could be smuggled",
        "GET /healthz HTTP/1.1\nHost: g\n\n",
        "400 close",
        "200, 200 close",
    ),
    "a newer HTTP/1": Difference(
        "should be read as HTTP/1.1 (RFC 9110, 2.5); llhttp refuses it, and no such version exists",
        HEALTH.replace("1.1", "1.2") + "\r\n",
        "400 close",
        "200",
    ),
    "more fields than the settings allow": Difference(
        "server.max_headers is a setting of our server",
        HEALTH + "a: b\r\n" * 100 + "\r\n",
        "431 close",
        "200, 200 close",
    ),
    "two equal lengths": Difference(
        "may be refused (RFC 9112, 6.3)",
        f"{PATCH}Content-Length: 22\r\nContent-Length: 22\r\n\r\n{BODY}",
        "400 close",
        "200, 200 close",
    ),
    "a list of equal lengths": Difference(
        "may be refused (RFC 9112, 6.3)",
        f"{PATCH}Content-Length: 22, 22\r\n\r\n{BODY}",
        "400 close",
        "200, 200 close",
    ),
    "a length that no integer holds": Difference(
        "both refuse; our server does not know how long the body is, so it does not answer 413",
        f"{PATCH}Content-Length: 99999999999999999999\r\n\r\n",
        "400 close",
        "413",
    ),
    "chunk extensions": Difference(
        "must be ignored (RFC 9112, 7.1.1)",
        PATCH + CHUNKED.replace("16", "16;a=b"),
        "200, 200 close",
        "400 close",
    ),
    "trailers": Difference(
        "may be dropped (RFC 9112, 7.1.2)",
        PATCH + CHUNKED.removesuffix("\r\n") + "a: b\r\n\r\n",
        "200, 200 close",
        "400 close",
    ),
    "chunks in HTTP/1.0": Difference(
        "the framing is faulty (RFC 9112, 6.1)",
        PATCH.replace("1.1", "1.0") + CHUNKED,
        "400 close",
        "200",
    ),
    "a list with close in it": Difference(
        "Connection is a list of tokens (RFC 9110, 7.6.1)",
        f"{HEALTH}Connection: te, close\r\n\r\n",
        "200 close",
        "200, 200 close",
    ),
    "two Connection fields": Difference(
        "they are one list (RFC 9110, 5.3)",
        f"{HEALTH}Connection: te\r\nConnection: close\r\n\r\n",
        "200 close",
        "200, 200 close",
    ),
    "both keep-alive and close": Difference(
        "close has precedence over keep-alive (RFC 9112, 9.3)",
        f"{HEALTH}Connection: keep-alive, close\r\n\r\n",
        "200 close",
        "200, 200 close",
    ),
    "HTTP/1.0": Difference(
        "a server need not announce that it closes; ours does",
        f"{OLD}\r\n",
        "200 close",
        "200",
    ),
    "HTTP/1.0 with a list": Difference(
        "Connection is a list of tokens (RFC 9112, 9.3)",
        f"{OLD}Connection: keep-alive, te\r\n\r\n",
        "200 keep-alive, 200 close",
        "200",
    ),
    "HTTP/1.0 without a length": Difference(
        "a request without a length has no body (RFC 9112, 6.3); Tornado says keep-alive and closes",
        f"{OLD}Connection: keep-alive\r\n\r\n".replace("GET", "OPTIONS"),
        "204 keep-alive, 200 close",
        "204 keep-alive",
    ),
}
ALIKE = {
    "an offer of another protocol": f"{HEALTH}Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
    "an offer of another protocol with a body": (
        f"{PATCH}Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 22\r\n\r\n{BODY}"
    ),
    "an offer of another protocol with an empty body": (
        f"{HEALTH}Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 0\r\n\r\n{HEALTH}\r\n"
    ),
    "an offer of another protocol with chunks": f"{PATCH}Connection: upgrade\r\nUpgrade: h2c\r\n{CHUNKED}",
    "OPTIONS for the server": f"OPTIONS * HTTP/1.1\r\n{HOST}\r\n",
    "a user who votes twice": 2 * f"{VOTE}Content-Length: {len(USER_BODY)}\r\n\r\n{USER_BODY}",
}
