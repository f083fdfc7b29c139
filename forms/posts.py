"""Forms as browsers post them, read by the widgets of their fields.

A typed text goes into the body as it is, and comes back to the form if it is refused. Only the white space
around a text goes, unless a widget keeps it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from forms.rules import Display, Widget


class Posted(Protocol):
    """The fields of a posted form."""

    def get(self, name: str, default: str, /) -> str: ...
    def text(self, name: str) -> str: ...
    def texts(self, name: str) -> list[str]: ...
    def lines(self, name: str) -> list[str]: ...


_READ: Mapping[Widget, Callable[[Posted, str], Any]] = {
    "line": lambda post, name: post.text(name),
    "text": lambda post, name: post.get(name, ""),
    "choice": lambda post, name: post.text(name),
    "choices": lambda post, name: post.texts(name),
    "lines": lambda post, name: post.lines(name),
    "url": lambda post, name: post.text(name) or None,
}


def posted(shown: Mapping[str, Display], post: Posted) -> dict[str, Any]:
    """Return the fields of a posted form as the body of a call has them."""
    return {name: _READ[field.widget](post, name) for name, field in shown.items()}
