"""Posted forms are read in one way, or refused."""

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from forms.reading import posted
from kinds.bots import BOTS
from kinds.kind import Kind
from kinds.sound_clips import SOUNDS
from languages.refusals import Refusal
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
    with pytest.raises(Refusal, match="unreadable_form"):
        read_form(body, 10_000)


def test_a_body_that_was_too_large_to_be_kept_is_refused() -> None:
    with pytest.raises(Refusal, match="body_too_large"):
        read_form(None, 100)


def test_a_field_that_comes_several_times_has_several_texts() -> None:
    form = read_form(b"colour=red&colour=+&colour=blue", 100)
    assert (form.texts("colour"), form.texts("shape"), form.text("colour")) == (["red", "blue"], [], "blue")


def test_a_field_has_lines_without_empty_ones() -> None:
    assert read_form(b"owners=1%0D%0A%0D%0A+2+", 100).lines("owners") == ["1", "2"]


def multipart(fields: list[tuple[str, tuple[str | None, str]]]) -> tuple[bytes, str]:
    prepared = requests.Request("POST", "http://localhost/", files=fields).prepare()
    assert isinstance(prepared.body, bytes)
    return prepared.body, prepared.headers["Content-Type"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")), min_size=1))
def test_a_form_in_parts_says_what_the_same_form_says_in_one_piece(texts: list[str]) -> None:
    body, content_type = multipart([("text", (None, text)) for text in texts])
    form = read_form(body, 100, content_type)
    assert (form["text"], form.texts("text")) == (texts[-1], [each.strip() for each in texts if each.strip()])


@pytest.mark.parametrize(
    ("cut", "content_type"),
    [(-1, "multipart/form-data"), (-9, None), (-1, "multipart/form-data; boundary=other")],
)
def test_parts_that_no_browser_sends_are_refused(cut: int, content_type: str | None) -> None:
    body, own = multipart([("text", (None, "hello"))])
    with pytest.raises(Refusal, match="unreadable_form"):
        read_form(body[:cut], 100, content_type or own)


@pytest.mark.parametrize("name", ["a.txt", "b.png"])
def test_a_file_in_a_form_is_refused(name: str) -> None:
    body, content_type = multipart([("text", (name, "hello"))])
    with pytest.raises(Refusal, match="unreadable_form"):
        read_form(body, 100, content_type)


@pytest.mark.parametrize("name", ["a.txt", "../../etc/passwd", "C:\\x.png"])
def test_a_form_that_takes_files_has_their_bytes_without_their_names(name: str) -> None:
    body, content_type = multipart([("text", (None, "hello")), ("file", (name, "\0content"))])
    form = read_form(body, 1_000, content_type, takes_files=True)
    assert (dict(form), form.files) == ({"text": "hello"}, {"file": [b"\0content"]})


def test_an_input_without_a_file_is_an_empty_text() -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\n\r\n--x--\r\n'
    form = read_form(body, 1_000, "multipart/form-data; boundary=x", takes_files=True)
    assert (form.texts("file"), form.files) == ([], {})


@pytest.mark.parametrize(("kind", "name"), [(BOTS, "banner"), (SOUNDS, "sound")], ids=["banner", "sound"])
def test_a_file_stays_if_the_input_beside_it_has_none_and_a_new_one_replaces_it(
    kind: Kind, name: str
) -> None:
    shown = {name: kind.shown[name]}
    form = read_form(f"{name}={'a' * 64}&{name}=".encode(), 1_000)
    assert posted(shown, form) == {name: "a" * 64}
    assert posted(shown, form.with_text(name, "b" * 64)) == {name: "b" * 64}
    assert posted(shown, read_form(f"{name}=".encode(), 1_000)) == {name: None}


def test_bytes_of_a_part_that_are_no_text_are_refused() -> None:
    body, content_type = multipart([("text", (None, "hello"))])
    with pytest.raises(Refusal, match="unreadable_form"):
        read_form(body.replace(b"hello", b"h\xffllo"), 100, content_type)
