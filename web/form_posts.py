"""Posted forms. Law: a form is read as one browser would have sent it, or it is refused.

A body in `application/x-www-form-urlencoded` (URL Standard, 5.1) is the only kind: no form of ours sends
files. Of a field that comes twice, the last one counts.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl

from handlers.reply import BodyTooLarge, UnreadableForm

MOST_FIELDS = 200


class FormPost(Mapping[str, str]):
    """The fields of a posted form. Text is without the white space around it, as browsers add none."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> str:
        return self._fields[name][-1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def text(self, name: str) -> str:
        """Return what the field holds; "" if it was not sent."""
        return self.get(name, "").strip()

    def number(self, name: str) -> int | str | None:
        """Return the whole number in a field, the text if it is none, and None for an empty field.

        The rule of the field refuses the text, in its own words.
        """
        text = self.text(name)
        if not text:
            return None
        digits = text.replace(",", "").replace("\u202f", "")
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 19 else text


def read_form(body: bytes | None, max_body_bytes: int) -> FormPost:
    """Read a form. Raises BodyTooLarge and UnreadableForm."""
    if body is None:
        raise BodyTooLarge(max_body_bytes)
    fields: dict[str, list[str]] = {}
    try:
        pairs = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError:  # too many fields, or bytes that are no UTF-8
        raise UnreadableForm from None
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return FormPost(fields)
