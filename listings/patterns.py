"""What a text may look like, as patterns. Law: one pattern is both the rule and its JSON Schema.

So they are written in what Python's `re` and ECMA-262 read alike: classes whose meaning differs between the
two, such as digits and white space, are spelt out. URLs are read by `core.urls`, which gives the reasons;
their patterns take what it takes and nothing else.
"""

from core.snowflake import MAX

_WHITE = r"\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
ONE_LINE = rf"^[{_WHITE}]*[^{_WHITE}\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
PROSE = rf"^[\t\n\r{_WHITE}]*[^{_WHITE}\x00-\x1f\x7f-\x9f][^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
TEXT = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
HEADER_VALUE = r"^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$"


def _snowflake_pattern() -> str:
    """17 to 20 digits without a leading zero, up to 2^64 - 1."""
    top = str(MAX)
    lower = (f"{top[:i]}[0-{int(top[i]) - 1}][0-9]{{{19 - i}}}" for i in range(1, 20) if top[i] != "0")
    return rf"^(?:[1-9][0-9]{{16,18}}|{'|'.join(lower)}|{top})$"


def _any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter}]" for letter in word)


def _ipv6_pattern(ipv4: str) -> str:
    """Every form of RFC 4291, 2.2: whole, with a gap, with an IPv4 address for the last two groups."""
    group = "[0-9A-Fa-f]{1,4}"

    def gap_after(groups: int) -> str:
        return f"(?:{group}:){{{groups}}}:" if groups else "::"

    short = (f"{gap_after(i)}(?:(?:{group}:){{0,{6 - i}}}{group})?" for i in range(7))
    before_ipv4 = (f"{gap_after(i)}(?:{group}:){{0,{5 - i}}}" for i in range(6))
    return (
        f"(?:{group}:){{7}}(?:{group}|:)|{'|'.join(short)}|"
        f"(?:(?:{group}:){{6}}|{'|'.join(before_ipv4)}){ipv4}"
    )


def _url_pattern() -> str:
    """An http or https URL as `core.urls.read_url` reads it, its length aside."""
    octet = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
    ipv4 = rf"(?:{octet}\.){{3}}{octet}"
    label = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
    number = "(?:[0-9]+|0[Xx][0-9A-Fa-f]*)(?:[:/?#]|$)"
    name = rf"(?![A-Za-z0-9._-]{{254}})(?:{label}\.)*(?!{number}){label}"
    host = rf"(?:{ipv4}|{name}|\[(?:{_ipv6_pattern(ipv4)})\])"
    return rf"^[Hh][Tt][Tt][Pp][Ss]?://{host}(?::(?:{_PORT}))?(?:[/?#][!-\[\]-~]*)?$"


_PORT = "6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}"
SNOWFLAKE = _snowflake_pattern()
HTTP_URL = _url_pattern()
# A URL on a chat platform's host, and one of its webhooks; a deployment may know more hosts than these.
_CANARY, _PTB, _DISCORD, _APP, _COM = map(_any_case, ("canary", "ptb", "discord", "app", "com"))
_CHAT_HOST = rf"(?:(?:{_CANARY}|{_PTB})\.)?{_DISCORD}(?:{_APP})?\.{_COM}"
CHAT_URL = rf"^[A-Za-z]+://{_CHAT_HOST}(?:[:/?#]|$)"
CHAT_WEBHOOK_URL = (
    rf"^[A-Za-z]+[Ss]://{_CHAT_HOST}(?::443)?/api(?:/v[1-9][0-9]?)?/webhooks/[0-9]{{1,20}}/[A-Za-z0-9_-]+/?"
    r"(?:[?#]|$)"
)
