"""Codes of invites and of templates of servers at the chat platform.

People copy them as a URL or as a code. They are kept as codes: the chat platform is asked about the code
alone, so the host is ignored.
"""

import re
from typing import NamedTuple


class LinkedCode(NamedTuple):
    """A code, and the links that end with it.

    Args:
        code: the pattern of the code.
        word: the word that may be before the code in the path of a link.
    """

    code: str
    word: str

    @property
    def link(self) -> str:
        """The pattern of a code as people write it, such as `https://discord.gg/CODE` or `CODE`."""
        host = rf"(?:[Hh][Tt][Tt][Pp][Ss]?://)?[A-Za-z0-9.-]{{1,253}}/(?:{self.word}/)?"
        return rf"^(?:{host})?{self.code}/?$"

    def of(self, text: str) -> str:
        """Return the code in a text that matches `link`."""
        found = re.search(f"({self.code})/?$", text)
        return found[1] if found is not None else text


INVITE = LinkedCode("[A-Za-z0-9-]{2,64}", "invite")
TEMPLATE = LinkedCode("[A-Za-z0-9]{10,32}", "template")
"""Today the platform makes codes of 12 characters."""
