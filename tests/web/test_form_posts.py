"""Posted forms are read in one way, or refused."""

import pytest

from handlers.reply import BodyTooLarge, UnreadableForm
from web.form_posts import MOST_FIELDS, read_form


def test_fields_are_text_with_their_white_space_cut_off() -> None:
    form = read_form(b"name=%20Ada+L%C3%B6w%20&empty=", 100)
    assert (form.text("name"), form.text("empty"), form.text("missing")) == ("Ada Löw", "", "")


def test_lines_end_as_they_do_here() -> None:
    assert read_form(b"reason=one%0D%0Atwo", 100)["reason"] == "one\ntwo"


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("12", 12),
        ("1,200", 1_200),
        ("", None),
        ("-1", "-1"),
        ("1.5", "1.5"),
        ("²", "²"),
        ("9" * 20, "9" * 20),
    ],
)
def test_a_number_is_read_as_people_write_it_and_anything_else_is_left_to_its_rule(
    sent: str, read: int | str | None
) -> None:
    assert (
        read_form(
            f"n={sent}".encode("ascii", "xmlcharrefreplace") if sent.isascii() else b"n=%C2%B2", 99
        ).number("n")
        == read
    )


@pytest.mark.parametrize("body", [b"a=%FF", "a=ä".encode(), b"&".join([b"a=1"] * (MOST_FIELDS + 1))])
def test_a_body_that_no_browser_sends_is_refused(body: bytes) -> None:
    with pytest.raises(UnreadableForm):
        read_form(body, 10_000)


def test_a_body_that_was_too_large_to_be_kept_is_refused() -> None:
    with pytest.raises(BodyTooLarge):
        read_form(None, 100)
