"""languages/texts.py: a text is a value."""

from languages.texts import Text


def test_equal_texts_are_equal_values() -> None:
    assert Text("Rotate {name}", name="a") == Text("Rotate {name}", name="a")
    assert hash(Text("Rotate {name}", name="a")) == hash(Text("Rotate {name}", name="a"))
    assert len({Text("Rotate {name}", name="a"), Text("Rotate {name}", name="b"), Text("Rotate")}) == 3


def test_a_text_is_no_word_of_somebody_else() -> None:
    assert Text("Saved") != "Saved"
    assert "Saved" in repr(Text("Saved"))
