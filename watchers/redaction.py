"""Redaction of secrets in logs. Invariant: no log line holds one, percent-encoded or not.

The gateway's own secrets are hidden by their values. The secrets of others have forms: an API key, the
signing secret of a webhook, and the end of a chat platform's URL. Every text in such a form counts as one,
and so does the greater part of a key.
"""

import json
import re
from urllib.parse import unquote

from listings.keys import PREFIX

HIDDEN = "[secret]"
ROUNDS = 8
"""The most times that a word may be percent-encoded. A word with more rounds is hidden whole."""
_FORMS = re.compile(
    re.escape(PREFIX) + "[A-Za-z0-9_-]{16,}"
    "|whsec_[A-Za-z0-9+/_-]{16,}=*"  # webhook/messages.py
    r"|(?<=/api/webhooks/)\d+/[A-Za-z0-9_-]+"  # the id and the token of a chat platform's URL
)
_WORD = re.compile(r"\S+")


class Redactor:
    """Replaces the secrets in a text."""

    def __init__(self, *secrets: str) -> None:
        self._written: tuple[str, ...] = ()
        """The secrets that are known by value, as they may be written, the longest first."""
        for secret in secrets:
            self.hide(secret)

    def hide(self, secret: str) -> None:
        """Hide one more secret from now on, also in the forms that repr and JSON give it."""
        written = {secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], *self._written}
        # Longest first, because a longer form may begin with a shorter one.
        self._written = tuple(sorted(written, key=len, reverse=True))

    def __call__(self, text: str) -> str:
        """Return the text without secrets. A word with an encoded secret is hidden whole."""
        if "%" in text:
            text = _WORD.sub(self._of_word, text)
        for secret in self._written:
            text = text.replace(secret, HIDDEN)
        return _FORMS.sub(HIDDEN, text)

    def _of_word(self, found: "re.Match[str]") -> str:
        word = decoded = found[0]
        for _ in range(ROUNDS):
            encoded, decoded = decoded, unquote(decoded)
            if decoded == encoded:
                return word
            if any(secret in decoded for secret in self._written) or _FORMS.search(decoded):
                return HIDDEN
        return HIDDEN
