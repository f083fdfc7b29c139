"""Views take the fields of other structs."""

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from actions.views import Success, View, including


class _Profile(Struct):
    name: str
    motto: str = ""


@including(_Profile, after="id")
class _Shown(View):
    """Shown."""

    id: str
    state: str


@including(_Shown)
class _Answer(Success):
    """Answered."""


def test_included_fields_come_behind_the_one_named() -> None:
    assert [field.name for field in fields(_Shown)] == ["id", "name", "motto", "state"]
    assert [field.name for field in fields(_Answer)] == ["success", "id", "name", "motto", "state"]


def test_an_answer_is_written_in_the_order_of_its_fields() -> None:
    answer = msgspec.convert({"id": "1", "name": "n", "state": "s"}, _Answer)
    assert msgspec.json.encode(answer) == b'{"success":true,"id":"1","name":"n","motto":"","state":"s"}'


def test_a_view_keeps_its_name_and_its_text() -> None:
    assert (_Answer.__name__, _Answer.__module__, _Answer.__doc__) == ("_Answer", __name__, "Answered.")
