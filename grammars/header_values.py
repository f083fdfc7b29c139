"""The value of a header that we send for somebody (RFC 9110, 5.5). Law: visible ASCII, on one line.

`HEADER_VALUE` is the rule and its JSON Schema at once.
"""

import re

HEADER_VALUE = r"^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$"

_HEADER_VALUE = re.compile(HEADER_VALUE)


def is_header_value(text: str) -> bool:
    """Return True for a text that can be sent as it is."""
    return _HEADER_VALUE.fullmatch(text) is not None
