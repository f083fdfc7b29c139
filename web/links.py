"""Addresses in pages. Law: a link leads to https or to a path of ours; a way back stays on this host."""

import re
from urllib.parse import unquote, urlsplit, urlunsplit

_OWN_PATH = re.compile(r"/(?![/\\])[^\s\\\x00-\x1f]*")
_ON_THIS_MACHINE = re.compile(r"http://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?/[^\s\\\x00-\x1f]*")
_WRITTEN_OUT = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*")
"""A path with a query as RFC 3986 writes it: browsers change nothing of it but dot segments."""
MOST_CHARACTERS = 1_024
"""A way back has its place in a cookie."""
NOWHERE = "#"


def link(address: str) -> str:
    """Return an address that may stand in a link, else one that leads nowhere.

    Of plain http only this machine is allowed, where a stand-in for the chat platform may be.
    """
    is_ours = _OWN_PATH.fullmatch(address) is not None
    is_safe = address.startswith("https://") or _ON_THIS_MACHINE.fullmatch(address) is not None
    return address if is_ours or is_safe else NOWHERE


def way_back(wanted: str, home: str) -> str:
    """Return the page that a visitor wanted before the sign-in; `home` if it is none of the pages there.

    The text comes from an address or a form. It is a path at or below `home`, in which a browser and a server
    can see nothing else: without empty and dot segments, however they are written. The pages of the sign-in
    and the sign-out are no way back.
    """
    if len(wanted) > MOST_CHARACTERS or not _WRITTEN_OUT.fullmatch(wanted):
        return home
    _, _, path, query, _ = urlsplit(f"//host{wanted}")
    plain, top = unquote(path), home.rstrip("/")
    *folders, last = plain.split("/")[1:]
    if {"", ".", ".."} & {*folders} or last in {".", ".."} or "\\" in plain:
        return home
    below = plain.removeprefix(top)
    if not path.startswith(top) or below[:1] not in {"", "/"} or below.startswith("/sign"):
        return home
    return urlunsplit(("", "", path, query, ""))
