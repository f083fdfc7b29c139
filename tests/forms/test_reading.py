"""forms/reading.py: a form that was read breaks no rule, and every wrong field is reported at once."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest

from forms.fields import Form, Snowflake
from forms.reading import read, read_query
from forms.rules import ON_ONE_LINE, UNIQUE, Beside, Between, OneOf, Says, Size
from languages.refusals import Invalid
from languages.said import Fault, in_words
from languages.texts import Text

USER, OTHER = "111111111111111111", "222222222222222222"


def _after(until: int | None, before: Mapping[str, Any]) -> Fault | None:
    since = before.get("since")
    return Fault("end_alone") if until is not None and since is None else None


class Span(Form, frozen=True):
    """Two times."""

    since: Annotated[int, Between(0, 10)] | None = None
    until: Annotated[Annotated[int, Between(0, 10)] | None, Beside(_after)] = None
    page: Annotated[int, Between(1), Says(Fault("not_a_cursor"))] = 1


Colour = Annotated[str, OneOf({"red": Text("Red"), "blue": Text("Blue")})]


class Order(Form, frozen=True):
    """An order."""

    user: Snowflake
    title: Annotated[str, Size(1, 5), ON_ONE_LINE]
    colours: Annotated[tuple[Colour, ...], UNIQUE] = ()
    size: Literal["small", "large"] = "small"
    gift: bool = False
    span: Span | None = None


GOOD: dict[str, Any] = {"user": USER, "title": "tea"}


def faults(form: type[Form], body: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(Invalid) as refused:
        read(form, body)
    return {name: in_words(*fault) for name, fault in refused.value.faults.items()}


def test_a_form_has_what_its_body_has_and_the_defaults_of_the_rest() -> None:
    assert read(Order, GOOD) == Order(user=USER, title="tea")
    body = {**GOOD, "colours": ["red"], "size": "large", "gift": True, "span": {"since": 1.0, "until": 2}}
    assert read(Order, body) == Order(
        user=USER, title="tea", colours=("red",), size="large", gift=True, span=Span(since=1, until=2)
    )


def test_every_wrong_field_is_reported_at_once_in_the_order_of_the_fields() -> None:
    body = {"zeal": 1, "colours": ["red", "green"], "title": "two\nlines", "gift": 1, "span": {"since": 11}}
    assert list(faults(Order, body)) == ["user", "title", "colours.1", "gift", "span.since", "zeal"]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("user", "1", "must be a snowflake: 17 to 20 digits"),
        ("title", 5, "input should be a valid string"),
        ("title", "\ud800", "input should be a valid string"),
        ("title", "", "string should have at least 1 character"),
        ("title", "a\nb", "must be on one line, without U+000A"),
        ("title", "\u200b", "must have a character that can be seen"),
        ("title", "a\u202eb", "must not change the direction of text with U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("title", "a\x07", "must have no control characters, such as U+0007"),
        ("colours", "red", "input should be a valid list"),
        ("colours", ["red", "red"], "must not name one twice"),
        ("size", 5, "input should be 'small' or 'large'"),
        ("gift", 1, "input should be a valid boolean"),
        ("span", 5, "input should be a valid dictionary or instance of Span"),
    ],
)
def test_a_fault_says_which_rule_is_broken(name: str, value: object, reason: str) -> None:
    assert faults(Order, {**GOOD, name: value}) == {name: reason}


@pytest.mark.parametrize("value", [True, 1.5, "1", [], float("nan"), float("inf")])
def test_no_value_is_converted_but_a_whole_float(value: object) -> None:
    assert faults(Span, {"since": value}) == {"since": "input should be a valid integer"}
    assert read(Span, {"since": 5.0}).since == 5


def test_a_rule_beside_other_fields_sees_those_before_it_with_their_defaults() -> None:
    assert list(faults(Span, {"until": 5})) == ["until"]
    assert list(faults(Span, {"until": 5, "since": None})) == ["until"]
    read(Span, {"until": 5, "since": 1})


def test_a_query_is_read_by_the_same_rules_and_may_have_other_parameters() -> None:
    assert read_query(Span, {"since": "5", "pages": "2"}) == Span(since=5)
    for wrong in ("-1", "11", "five", "", "٥", "9" * 99):
        with pytest.raises(Invalid):
            read_query(Span, {"since": wrong})


@pytest.mark.parametrize("value", [0, -1, "x", None, 1.5])
def test_a_field_may_have_one_fault_for_all_that_it_may_break(value: object) -> None:
    assert faults(Span, {"page": value}) == {"page": "must be the `next` of another page"}
