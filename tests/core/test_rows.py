"""core/rows.py: equal rows have equal bytes."""

import inspect
from types import ModuleType

import msgspec
import pytest
from hypothesis import given

from core import rows, user_rows
from core.packing import pack, unpack
from core.rows import Listing, MapRow
from tests.support.examples import examples
from tests.support.generated_rows import LISTINGS


def map_rows(module: ModuleType) -> list[type[MapRow]]:
    return [each for _, each in inspect.getmembers(module, inspect.isclass) if issubclass(each, MapRow)]


@pytest.mark.parametrize("row_type", [*map_rows(rows), *map_rows(user_rows)], ids=lambda row: row.__name__)
def test_the_defaults_of_a_row_are_values_of_which_there_is_one_object(row_type: type[MapRow]) -> None:
    """msgspec omits others by identity, so a row that was read would have other bytes than an equal one."""
    defaults = [field.default for field in msgspec.structs.fields(row_type)]
    known = [default for default in defaults if default is not msgspec.NODEFAULT]
    assert all(any(default is each for each in (None, (), 0, "", b"", False, True)) for default in known)


@examples(200)
@given(LISTINGS)
def test_equal_rows_have_equal_bytes(row: Listing) -> None:
    again = unpack(pack(row))
    assert again == row
    assert pack(again) == pack(row)
