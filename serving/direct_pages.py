"""Kept answers without Tornado: the quick way to what `kept_pages.py` keeps.

Invariant: the bytes equal those of the slow way, but for the id of the request and the Date. A request that
is unusual in any way is left to the slow way.

There are two look-ups. Browsers repeat their requests byte by byte, so requests that were answered before are
known as a whole. From any other, the lines are removed that differ between visitors with the same browser and
do not change the answer: cookies of other programs, the address behind a proxy, the referring page. The
remaining bytes behind the target are known for all pages together. If they are new, one expression reads
them: it takes only heads that the parser takes, too (`wire/parser.py`), and far fewer. Neither look-up
remembers a session: the answer to its request is not kept.

Both remember at most `LONGEST` bytes a request. The oldest is forgotten first. So strangers with heads of
their own can only force others to be read again.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from tornado.escape import parse_qs_bytes

from core.clock import Clock
from handlers.reply import Reply
from handlers.route import OUR_COOKIES, AnswerVariant
from ratelimit.address import Proxy, client_address
from serving.application import HTTPS_ALONE
from serving.direct import SERVER, WORD, Answered, next_number
from serving.kept_pages import KeptAddress, KeptAnswer, KeptPages, address_of

K = TypeVar("K")
T = TypeVar("T")
Choose = Callable[[Mapping[str, str]], AnswerVariant | None]
"""`AnswerKeeping.variant`: a few functions choose for all addresses."""
KNOWN = 4_096
KNOWN_CHOICES = 2_048
LONGEST = 1_536
"""The numbers of requests and of heads that are known, and the bytes of the longest one."""
MOST_PARAMETERS = 8
_START = len(b"GET ")
_HEAD_END = b"\r\n\r\n"
_HEAD = re.compile(
    rb"GET /[!-~]*+ HTTP/1\.1\r\n((?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t -~]*+\r\n)++)\r\n", re.DOTALL
)
_LINE = rb"\r\n(?i:X-Forwarded-For:([\t -~]*+)|(?:%b)[\t -~]*+)(?=\r\n)"
_OF_VISITOR = re.compile(_LINE % b"Referer:|X-Real-IP:|Cookie:")
_BUT_COOKIES = re.compile(_LINE % b"Referer:|X-Real-IP:")
"""A line that differs between visitors with the same browser, and does not change the answer."""
_OURS = OUR_COOKIES.encode()
_TARGET = re.compile(rb"/[!-~]*+")
_FIELD = re.compile(rb"([^:\r\n]++):([^\r\n]*+)\r\n")
_HOST = re.compile(rb"[A-Za-z0-9\-._~!$&'()*+;=\[\]:]++")
_QUERY = re.compile(rb"[A-Za-z0-9\-._~!$'()*+,;:@/?%&=]*")
_UNUSUAL = frozenset(
    {
        *(b"authorization", b"content-length", b"expect", b"hx-request", b"http2-settings", b"if-range"),
        *(b"proxy-connection", b"range", b"transfer-encoding", b"upgrade"),
    }
)
"""The fields of requests that are left to the slow way."""
_READ = {
    b"accept-encoding": "Accept-Encoding",
    b"accept-language": "Accept-Language",
    b"cookie": "Cookie",
    b"sec-fetch-site": "Sec-Fetch-Site",
}
"""The fields that choose a variant, by the names that `AnswerKeeping.variant` looks for."""
OF_CONTENT = ("content-encoding", "content-length", "content-type")
"""The fields that a 304 leaves out, as with Tornado."""
_START_OF_HEAD = b"Server: %b\r\nX-Request-Id: %b" % (SERVER.encode(), WORD)


class KnownRequest(NamedTuple):
    """A request that can be answered by a slot. `tags` is its condition, if it has one."""

    slot: KeptAnswer
    path: str
    forwarded_for: str | None
    tags: frozenset[str] | None


class KnownChoice(NamedTuple):
    """The variant and the condition that the bytes behind a target ask for."""

    variant: AnswerVariant
    tags: frozenset[str] | None


class DirectPages:
    """Answers requests for kept answers.

    Args:
        most_headers: the headers of a request; with more, it is refused.
    """

    def __init__(
        self,
        kept: KeptPages,
        clock: Clock,
        trusted_proxies: Sequence[Proxy],
        answered: Answered | None,
        most_headers: int,
        *,
        is_https: bool,
    ) -> None:
        self._kept = kept
        self._addresses = kept.addresses
        self._monotonic_ns = clock.monotonic_ns
        self._trusted_proxies = trusted_proxies
        self._answered = answered
        self._most_headers = most_headers
        self._is_https = is_https
        self._known = OrderedDict[bytes, KnownRequest]()
        self._choices = OrderedDict[tuple[bytes, Choose], KnownChoice]()

    def answer(self, data: bytes, peer: str) -> tuple[int, bytes, bytes] | None:
        """Return status, head and body of the answer to the bytes of one request; None if the application is
        to answer."""
        began_ns = self._monotonic_ns()
        try:
            known = self._known.get(data)
            if known is None or known.slot.reply is None:
                known = self._learned(data)
                if known is None:
                    return None
            slot, path, forwarded_for, tags = known
            if began_ns >= slot.fresh_until_ns and not self._kept.may_send(slot, is_claim=True):
                return None
            status, (start, end), body = self._parts(slot, tags)
        except Exception:
            return None  # the application meets the same bug, and logs it
        number = next_number()
        self._kept.used(slot)
        taken_ns = self._monotonic_ns() - began_ns
        slot.address.traffic.add(status, taken_ns)
        if self._answered is not None:
            address = client_address(peer, forwarded_for, self._trusted_proxies)
            self._answered(status, "GET", path, address, taken_ns, number)
        return status, b"%b%d%b" % (start, number, end), body

    def _parts(self, slot: KeptAnswer, tags: frozenset[str] | None) -> tuple[int, tuple[bytes, bytes], bytes]:
        """Return the status, the head around the number of the request, and the body."""
        reply = slot.reply
        if reply is None:
            raise TypeError("an empty slot has no answer")
        if tags is not None and not tags.isdisjoint((reply.headers["etag"], "*")):
            return 304, self._head(reply, is_whole=False), b""
        if slot.head is None:
            slot.head = self._head(reply, is_whole=True)
        return 200, slot.head, reply.body

    def _head(self, reply: Reply, *, is_whole: bool) -> tuple[bytes, bytes]:
        named = {"cache-control": "no-store"}
        if self._is_https:
            named["strict-transport-security"] = HTTPS_ALONE
        named |= {**reply.headers, "content-type": reply.content_type, "content-length": str(len(reply.body))}
        left_out = () if is_whole else OF_CONTENT
        lines = "".join(
            f"{name.title()}: {value}\r\n" for name, value in named.items() if name not in left_out
        )
        return _START_OF_HEAD, f"\r\n{lines}\r\n".encode("latin-1")

    # Requests that are not known.

    def _learned(self, data: bytes) -> KnownRequest | None:
        """Read a request, and know it from now on; None if no kept answer is for it."""
        end = data.find(b" ", _START)
        target = data[_START:end]
        address = self._addresses.get(target) or self._with_query(target)
        if address is None or _TARGET.fullmatch(target) is None:
            return None
        shared = without_visitor(data[end:], self._most_headers)
        choice = self._choice(shared[0], address.keeping.variant) if shared is not None else None
        slot = address.slots.get(address.key(choice.variant)) if choice is not None else None
        if shared is None or choice is None or slot is None:
            return None
        path = target.partition(b"?")[0].decode("latin-1")
        known = KnownRequest(slot, path, shared[1], choice.tags)
        if len(data) <= LONGEST:
            _keep(self._known, data, known, KNOWN)
        return known

    def _choice(self, rest: bytes, choose: Choose) -> KnownChoice | None:
        """Return the choice of the bytes behind a target; None if they are left to the slow way."""
        key = (rest, choose)
        choice = self._choices.get(key)
        if choice is not None:
            return choice
        named = usual_fields(b"GET /%b" % rest, self._most_headers)
        if named is None:
            return None
        headers = {name: named[field].decode("latin-1") for field, name in _READ.items() if field in named}
        variant = choose(headers)
        if variant is None:
            return None
        choice = KnownChoice(variant, _tags(named.get(b"if-none-match")))
        if len(rest) <= LONGEST:
            _keep(self._choices, key, choice, KNOWN_CHOICES)
        return choice

    def _with_query(self, target: bytes) -> KeptAddress | None:
        """Return the address of a target whose query is written in another way."""
        path, mark, query = target.partition(b"?")
        if not mark or query.count(b"&") >= MOST_PARAMETERS or _QUERY.fullmatch(query) is None:
            return None
        found = parse_qs_bytes(query, keep_blank_values=True)
        last = {name: values[-1].decode("utf-8", "replace") for name, values in found.items()}
        return self._addresses.get(address_of(path.decode("latin-1"), last))


def _keep(known: OrderedDict[K, T], key: K, value: T, most: int) -> None:
    known[key] = value
    if len(known) > most:
        known.popitem(last=False)


def without_visitor(rest: bytes, most_headers: int) -> tuple[bytes, str | None] | None:
    """Return the bytes behind a target without the lines of its visitor, and the value of `X-Forwarded-For`.

    None unless the bytes end one head, with one such value at most. The head is a usual one if the returned
    bytes are.
    """
    if rest.find(_HEAD_END) != len(rest) - len(_HEAD_END) or rest.count(b"\n") > most_headers + 2:
        return None
    lines = _OF_VISITOR if _OURS not in rest else _BUT_COOKIES
    first, *others = lines.split(rest)  # behind each line: X-Forwarded-For or None, bytes
    addresses = [each for each in others[::2] if each is not None]
    if len(addresses) > 1:
        return None
    forwarded_for = addresses[0].strip(b"\t ").decode("latin-1") if addresses else None
    return b"".join((first, *others[1::2])), forwarded_for


def usual_fields(data: bytes, most_headers: int) -> Mapping[bytes, bytes] | None:
    """Return the fields of a request by their names in lower case; None unless it is one usual request."""
    head = _HEAD.fullmatch(data)
    if head is None:
        return None
    fields = _FIELD.findall(head[1])
    named = {name.lower(): value.strip(b"\t ") for name, value in fields}
    if len(named) != len(fields) or len(fields) > most_headers:
        return None
    if not _UNUSUAL.isdisjoint(named) or _HOST.fullmatch(named.get(b"host", b"")) is None:
        return None
    return named if named.get(b"connection", b"keep-alive").lower() == b"keep-alive" else None


def _tags(value: bytes | None) -> frozenset[str] | None:
    """Return the tags of `If-None-Match`, as `is_known` compares them."""
    if value is None:
        return None
    return frozenset(each.strip().removeprefix("W/") for each in value.decode("latin-1").split(","))
