"""pages/secrets_shown.py: the page that shows a secret."""

from core.rows import Listing, Reviewed
from languages.texts import Text
from pages.secrets_shown import ShownOnce, shown_once
from pages.tabs import tab_values
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER
from web.templates import load_drawing

ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))
SHOWN = ShownOnce(
    Text("It is made"), Text("API key"), "vg_<secret>", Text("Keep it."), f"/{BOT_REF}/manage/keys"
)


def drawn(shown: ShownOnce) -> str:
    page = shown_once(shown)
    assert not callable(page.html)
    values = {**tab_values(ROW, "keys", frozenset({"see", "keys"})), **page.html}
    return load_drawing("en").fragment(f"people/{page.template}.html", values)


def test_a_secret_is_one_text_that_is_selected_as_a_whole_and_copied_by_a_button() -> None:
    text = drawn(SHOWN)
    assert '<pre class="written whole" id="secret">vg_&lt;secret&gt;</pre>' in text
    assert '<button type="button" class="quiet" data-copy="secret"' in text
    assert text.count("vg_&lt;secret&gt;") == 1
    assert f'href="/{BOT_REF}/manage/keys">I have saved it' in text


def test_an_example_is_beside_it_only_if_there_is_one() -> None:
    assert 'data-copy="example"' not in drawn(SHOWN)
    assert 'data-copy="example"' in drawn(SHOWN._replace(example="curl"))
