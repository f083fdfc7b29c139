"""What a text may look like, as patterns. Law: one pattern is both the rule and its JSON Schema.

So they are written in what Python's `re` and ECMA-262 read alike: classes whose meaning differs between the
two, such as digits and white space, are spelt out.
"""

from core.snowflake import MAX

_WHITE = r"\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
ONE_LINE = rf"^[{_WHITE}]*[^{_WHITE}\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$"
PROSE = rf"^[\t\n\r{_WHITE}]*[^{_WHITE}\x00-\x1f\x7f-\x9f][^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
TEXT = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]*$"
HEADER_VALUE = r"^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$"
# The contract's form of a chat platform's webhook URL, with the API version some clients put in.
CHAT_WEBHOOK_URL = r"^[^/]+//[^/?#]*/api/(?:v[0-9]+/)?webhooks/[0-9]+/[^/?#]+/?(?:[?#]|$)"


def _snowflake_pattern() -> str:
    """17 to 20 digits without a leading zero, up to 2^64 - 1."""
    top = str(MAX)
    lower = (f"{top[:i]}[0-{int(top[i]) - 1}][0-9]{{{19 - i}}}" for i in range(1, 20) if top[i] != "0")
    return rf"^(?:[1-9][0-9]{{16,18}}|{'|'.join(lower)}|{top})$"


def _http_url_pattern() -> str:
    """http or https, a name or an IP address, perhaps a port, and any visible ASCII but a backslash."""
    group = "[0-9A-Fa-f]{1,4}"
    short = (f"(?:{group}:){{{i}}}(?::{group}){{1,{7 - i}}}" for i in range(1, 7))
    ipv6 = rf"(?:{group}:){{7}}{group}|(?:{group}:){{1,7}}:|:(?::{group}){{1,7}}|::|{'|'.join(short)}"
    port = "6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}"
    return (
        rf"^[Hh][Tt][Tt][Pp][Ss]?://(?:[A-Za-z0-9._-]+|\[(?:{ipv6})\])(?::(?:{port}))?(?:[/?#][!-\[\]-~]*)?$"
    )


SNOWFLAKE = _snowflake_pattern()
HTTP_URL = _http_url_pattern()
