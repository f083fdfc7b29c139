"""Invites of the chat platform, which are kept as codes.

People copy an invite as a URL or as a code. The chat platform is asked about the code alone, so the host is
ignored.
"""

import re

CODE = "[A-Za-z0-9-]{2,64}"
INVITE = rf"^(?:(?:[Hh][Tt][Tt][Pp][Ss]?://)?[A-Za-z0-9.-]{{1,253}}/(?:invite/)?)?{CODE}/?$"
"""An invite as people write it: `https://discord.gg/CODE`, `discord.com/invite/CODE` or `CODE`."""
_CODE = re.compile(f"({CODE})/?$")


def invite_code(text: str) -> str:
    """Return the code of an invite that matches `INVITE`."""
    found = _CODE.search(text)
    return found[1] if found is not None else text
