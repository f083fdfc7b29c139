"""web/people/listing_forms.py: the fields of a form say what is wrong with them."""

from tests.support.english import english
from web.people.listing_forms import by_field


def test_what_is_wrong_in_a_list_stands_at_the_list_and_names_the_entry() -> None:
    errors = by_field({"name": "too long", "keywords.1": "is blank", "keywords.2": "is long"})
    assert {name: english(reason) for name, reason in errors.items()} == {
        "name": "too long",
        "keywords": "entry 2 is blank",
    }
