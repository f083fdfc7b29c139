"""API keys and the operator token, taken out of what is logged. Law: no line of any log holds one, however it
was percent-encoded on its way here.

What is shaped like a key counts as one, and so does the greater part of it.
"""

import json
import logging
import re
from urllib.parse import unquote

from listings.keys import PREFIX

HIDDEN = "[secret]"
ROUNDS = 8
"""How often a word may be percent-encoded; one that is so more often is hidden unread."""
_KEY = re.escape(PREFIX) + "[A-Za-z0-9_-]{16,}"
_WORD = re.compile(r"\S+")


class Redactor:
    """Rewrites texts without secrets."""

    def __init__(self, *secrets: str) -> None:
        self._shapes = re.compile(_KEY)
        for secret in secrets:
            self.hide(secret)

    def hide(self, secret: str) -> None:
        """Takes one more secret out from now on, also as it looks in quotes."""
        written = {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1]}
        # Longest first: what is written longer may begin with what is written shorter.
        shapes = sorted(map(re.escape, written), key=len, reverse=True)
        self._shapes = re.compile("|".join([*shapes, self._shapes.pattern]))

    def __call__(self, text: str) -> str:
        """The text, in which a word with an encoded secret is hidden whole."""
        if "%" in text:
            text = _WORD.sub(self._of_word, text)
        return self._shapes.sub(HIDDEN, text)

    def _of_word(self, found: "re.Match[str]") -> str:
        word = decoded = found[0]
        for _ in range(ROUNDS):
            encoded, decoded = decoded, unquote(decoded)
            if decoded == encoded:
                return word
            if self._shapes.search(decoded):
                return HIDDEN
        return HIDDEN


class RedactingFormatter(logging.Formatter):
    """Redacts lines as they are written, tracebacks and all."""

    def __init__(self, form: str, redactor: Redactor) -> None:
        super().__init__(form)
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor(super().format(record))
