"""Posted forms. Invariant: a body that no browser sends for a form of ours is refused.

A body is `application/x-www-form-urlencoded` (URL Standard, 5.1), or `multipart/form-data` (RFC 7578) for
forms with long texts and files: the former writes a letter in nine bytes that takes three in UTF-8. The name
of a file on its sender's machine is not read. If a field comes twice, the last one counts, unless a caller
asks for all of them.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl

from tornado.httputil import (
    HTTPFile,
    HTTPInputError,
    ParseBodyConfig,
    ParseMultipartConfig,
    parse_body_arguments,
)

from languages.refusals import Refusal

MOST_FIELDS = 200
NO_FILES: Mapping[str, list[bytes]] = {}
MULTIPART = "multipart/form-data"
_MULTIPART = ParseBodyConfig(multipart=ParseMultipartConfig(max_parts=MOST_FIELDS))


class FormPost(Mapping[str, str]):
    """The fields of a posted form, and its files by the names of their fields."""

    def __init__(self, fields: Mapping[str, list[str]], files: Mapping[str, list[bytes]] = NO_FILES) -> None:
        self._fields = fields
        self.files = files

    def __getitem__(self, name: str) -> str:
        return self._fields[name][-1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield every field with each of its values, as the browser sent them."""
        for name, values in self._fields.items():
            yield from ((name, value) for value in values)

    def with_text(self, name: str, text: str) -> "FormPost":
        """Return the form with one more text in a field."""
        return FormPost({**self._fields, name: [*self._fields.get(name, ()), text]}, self.files)

    def text(self, name: str) -> str:
        """Return the text of a field, without white space around it; "" for a field that was not sent."""
        return self.get(name, "").strip()

    def texts(self, name: str) -> list[str]:
        """Return the texts of all fields of a name, but for empty ones."""
        return [text for each in self._fields.get(name, ()) if (text := each.strip())]

    def lines(self, name: str) -> list[str]:
        """Return the lines of a field, but for empty ones."""
        return [line for each in self.get(name, "").split("\n") if (line := each.strip())]

    def number(self, name: str) -> int | str | None:
        """Return the whole number in a field, the text if it is no number, and None for an empty field.

        The rule of the field refuses the text.
        """
        text = self.text(name)
        if not text:
            return None
        digits = text.replace(",", "").replace("\u202f", "")
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 19 else text


def read_form(
    body: bytes | None, max_body_bytes: int, content_type: str = "", *, takes_files: bool = False
) -> FormPost:
    """Read a form. Raises Refusal, also for files in a form that takes none."""
    if body is None:
        raise Refusal("body_too_large", most=max_body_bytes)
    is_multipart = content_type.startswith(MULTIPART)
    if not body and not is_multipart:  # of a button alone
        return FormPost({})
    fields: dict[str, list[str]] = {}
    files: dict[str, list[HTTPFile]] = {}
    try:
        for name, value in _parts(body, content_type, files) if is_multipart else _pairs(body):
            fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    except (ValueError, HTTPInputError):  # too many fields, or bytes that are no UTF-8
        raise Refusal("unreadable_form") from None
    if files and not takes_files:
        raise Refusal("unreadable_form")
    return FormPost(fields, {name: [each.body for each in several] for name, several in files.items()})


def _pairs(body: bytes) -> Iterator[tuple[str, str]]:
    text = body.decode("ascii")
    yield from parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)


def _parts(body: bytes, content_type: str, files: dict[str, list[HTTPFile]]) -> Iterator[tuple[str, str]]:
    arguments: dict[str, list[bytes]] = {}
    parse_body_arguments(content_type, body, arguments, files, config=_MULTIPART)
    for name, values in arguments.items():
        yield from ((name, value.decode("utf-8")) for value in values)
