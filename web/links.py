"""Addresses in pages. Law: a link leads to https or to a path of ours; a way back stays on this host."""

import re

_OWN_PATH = re.compile(r"/(?![/\\])[^\s\\\x00-\x1f]*")
_WAY_BACK = re.compile(r"/debug(?:/[A-Za-z0-9_./-]*)?(?:\?[A-Za-z0-9_.=&%+-]*)?")
NOWHERE = "#"


def link(address: str) -> str:
    """Return an address that may stand in a link, else one that leads nowhere."""
    is_ours = _OWN_PATH.fullmatch(address) is not None
    return address if is_ours or address.startswith("https://") else NOWHERE


def way_back(path: str, otherwise: str) -> str:
    """Return the page that a visitor wanted before the sign-in, if it is one of ours."""
    return path if _WAY_BACK.fullmatch(path) and "/sign-" not in path and "//" not in path else otherwise
