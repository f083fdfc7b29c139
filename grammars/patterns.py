"""The patterns of texts and ids. Invariant: one pattern is both the rule and its JSON Schema.

So the patterns use only syntax that Python's `re` and ECMA-262 read alike, and spell out classes that differ
between the two, such as digits and white space. URLs have a file of their own.

A text on one line must have a visible character, and no control, line separator or Bidi_Control. Otherwise a
name could be invisible, or change the direction of the sentence around it. Joiners, variation selectors and
tags are allowed, as parts of emoji. A longer text may have line breaks, and the marks that right-to-left
languages need, but no embedding, override or isolate: an open one affects the page behind the text.

A snowflake is an id of the chat platform: an unsigned 64-bit number in 17 to 20 ASCII digits without a
leading zero. An id has one spelling, so that equal ids are equal strings.
"""

import re

MAX_SNOWFLAKE = (1 << 64) - 1
HEADER_VALUE = r"^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$"
"""The value of a header that we send for somebody (RFC 9110, 5.5): visible ASCII, on one line."""
_ATEXT, _HOST_LABEL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+", r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
MAIL_ADDRESS = rf"^(?=.{{3,254}}$)(?=[^@]{{1,64}}@){_ATEXT}(?:\.{_ATEXT})*@{_HOST_LABEL}(?:\.{_HOST_LABEL})*$"
"""The address of a mailbox (RFC 5321, 4.1.2) in ASCII, without quotes. So it is one word of a header, and can
neither end the header nor name a second mailbox."""

_CONTROLS, _ALL_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f", r"\x00-\x1f\x7f-\x9f"
_LINE_SEPARATORS = r"\u2028\u2029"
# Unicode's Bidi_Control: the marks, then embeddings, overrides and isolates with their ends.
_BIDI_MARKS, _BIDI_EMBEDDINGS = r"\u061c\u200e\u200f", r"\u202a-\u202e\u2066-\u2069"
# White space; format characters (Cf) and other Default_Ignorable_Code_Points, without Bidi_Control; and two
# symbols that are blank by design (U+2800, U+1D159).
_BLANK = (
    r"\u0020\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u206a-\u206f\u2800\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
)
_BLANK_BEYOND_FFFF = (
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D159, 0x1D159),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)


def _beyond_ffff(first: int, last: int) -> str:
    """Match one character of a range beyond U+FFFF.

    Python and ECMA-262 escape such characters differently, so they stand for themselves. Engines that read
    ECMA-262 without its flag `u` take each for two characters, so that no range may begin with one: it begins
    at 0, and what lies before the range is taken out.
    """
    return rf"(?![\x00-{chr(first - 1)}])[\x00-{chr(last)}]"


def _seen(blank: str, refused: str) -> str:
    """Match a text with a character that is not blank, and with none that is refused.

    The match takes linear time for any text.
    """
    beyond = "|".join(_beyond_ffff(first, last) for first, last in _BLANK_BEYOND_FFFF)
    return f"^(?!(?:[{blank}]|{beyond})*$)[^{refused}]*$"


NOT_ON_ONE_LINE = _ALL_CONTROLS + _LINE_SEPARATORS + _BIDI_MARKS + _BIDI_EMBEDDINGS
NOT_IN_PROSE = _CONTROLS + _BIDI_EMBEDDINGS
ONE_LINE = _seen(_BLANK, NOT_ON_ONE_LINE)
PROSE = _seen(_BLANK + r"\t\n\r" + _LINE_SEPARATORS + _BIDI_MARKS, NOT_IN_PROSE)
TEXT = f"^[^{NOT_IN_PROSE}]*$"
PAIR = r"^(?! |: )[^\n]{1,60}?: [^\n]+$"
"""A name and what it means, such as `/play: Plays a song`: the first colon with a space splits the line."""


def _snowflake_pattern() -> str:
    """Match 17 to 20 digits without a leading zero, up to 2^64 - 1."""
    top = str(MAX_SNOWFLAKE)
    lower = (f"{top[:i]}[0-{int(top[i]) - 1}][0-9]{{{19 - i}}}" for i in range(1, 20) if top[i] != "0")
    return rf"^(?:[1-9][0-9]{{16,18}}|{'|'.join(lower)}|{top})$"


def _any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter}]" for letter in word)


SNOWFLAKE = _snowflake_pattern()
# A URL on a chat platform's host, and one of its webhooks; a deployment may know more hosts than these.
_CANARY, _PTB, _DISCORD, _APP, _COM = map(_any_case, ("canary", "ptb", "discord", "app", "com"))
_CHAT_HOST = rf"(?:(?:{_CANARY}|{_PTB})\.)?{_DISCORD}(?:{_APP})?\.{_COM}"
CHAT_URL = rf"^[A-Za-z]+://{_CHAT_HOST}(?:[:/?#]|$)"
CHAT_WEBHOOK_URL = (
    rf"^[A-Za-z]+[Ss]://{_CHAT_HOST}(?::443)?/api(?:/v[1-9][0-9]?)?/webhooks/[0-9]{{1,20}}/[A-Za-z0-9_-]+/?"
    r"(?:[?#]|$)"
)
_HEADER_VALUE = re.compile(HEADER_VALUE)
_MAIL_ADDRESS = re.compile(MAIL_ADDRESS)


def is_header_value(text: str) -> bool:
    """Return true for a text that a header can have as it is."""
    return _HEADER_VALUE.fullmatch(text) is not None


def is_mail_address(text: str) -> bool:
    """Return true for the address of a mailbox that mails can be sent to."""
    return _MAIL_ADDRESS.fullmatch(text) is not None


def is_snowflake(text: str) -> bool:
    """Return true for an id of the chat platform, without a regular expression: vote checks ask it."""
    return (
        17 <= len(text) <= 20
        and text.isascii()
        and text.isdigit()
        and text[0] != "0"
        and (len(text) < 20 or int(text) <= MAX_SNOWFLAKE)
    )
