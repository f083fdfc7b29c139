"""The recorded form of an answer: its status, its headers and its body."""

from collections.abc import Mapping

CHANGING = {"date", "x-request-id", "content-length", "connection", "vary", "server"}
"""Headers that tell nothing, or nothing that stays."""


def headers_of(headers: Mapping[str, str]) -> list[str]:
    """Return the headers in the order of their names. Of a cookie, only its name is kept."""
    kept = {name.lower(): value for name, value in headers.items() if name.lower() not in CHANGING}
    if "set-cookie" in kept:
        kept["set-cookie"] = kept["set-cookie"].partition("=")[0]
    return [f"{name}: {value}" for name, value in sorted(kept.items())]
