"""The pages of API keys. Invariant: a key is on one page only, the one that made it.

.../keys                      the list, with a form for a new one
.../keys/{key_id}/rotate      asks when the old value stops, and shows the new one
.../keys/{key_id}/delete      asks for the key's name
"""

import shlex

from actions.keys import DELETE_KEY, ISSUE_KEY, LIST_KEYS, ROTATE_KEY, IssuedKey, KeyList, RotatedKey, index
from core.rows import Key
from languages.refusals import Refusal
from languages.texts import Text
from pages.dialogs import OVERLAPS, Question, Secret, question_page
from pages.page import Page, PageCall, Post, Shown
from pages.shared_texts import done

KEEP_IT = Text(
    "We keep no copy, so this is the only time you can see it. Save it where your bot keeps its secrets: "
    "anybody who has it speaks for your bot."
)


FIRST_NAME = "production"
"""The name that the form offers for the first key."""


def show(page: PageCall, secret: Secret | None = None) -> Shown[KeyList]:
    keys = index(page.call, None)
    html = {
        "name": page.typed("name", "" if keys.keys else FIRST_NAME),
        "secret": secret,
        "most": page.call.tools.keys_per_listing,
    }
    return Shown(keys, html=html, template="manage_keys")


def show_issued(page: PageCall, issued: IssuedKey) -> Shown[KeyList]:
    return _shown(page, Text("Here is the key {name}. Copy it now", name=issued.name), issued.key)


def ask_rotation(page: PageCall) -> Question:
    return Question(
        Text("Replace the key {name}?", name=_key(page).name),
        Text(
            "You get a new key, which the next page shows once. The old one can go on working for a while, "
            "so that nothing breaks while you change it. Choose “At once” if somebody else may know it."
        ),
        Text("Replace the key"),
        _list(page),
        asks_overlap=True,
    )


def show_rotated(page: PageCall, rotated: RotatedKey) -> Shown[KeyList]:
    overlap = page.visit.form().number("overlap_seconds")
    when = dict(OVERLAPS).get(overlap, Text("Later")) if isinstance(overlap, int) else Text("Later")
    title = Text("Here is the new key {name}. The old one stops: {when}", name=_key(page).name, when=when)
    return _shown(page, title, rotated.key)


def ask_deletion(page: PageCall) -> Question:
    key = _key(page)
    return Question(
        Text("Delete the key {name}?", name=key.name),
        Text("Every program that uses it stops working at once. This cannot be undone."),
        Text("Delete the key"),
        _list(page),
        typed=key.name,
        is_grave=True,
    )


def _list(page: PageCall) -> str:
    return f"{page.here}/keys"


def _key(page: PageCall) -> Key:
    """Return the key of the path. Raises Refusal."""
    key = page.row.key(page.call.ids[1])
    if key is None:
        raise Refusal("no_such_key")
    return key


def _shown(page: PageCall, title: Text, value: str) -> Shown[KeyList]:
    url = f"{page.site.addresses.public_url}/{page.row.ref}/voters/{page.person.id}"
    asks = f"curl -H {shlex.quote(f'Authorization: {value}')} {shlex.quote(url)}"
    example = asks if page.call.listing_kind.has("votes") else None
    return show(page, Secret(title, Text("API key"), value, KEEP_IT, example))


_KEYS = "/{kind}/{id}/manage/keys"
KEY_PAGES = (
    Page(
        path=_KEYS,
        tab="keys",
        access=LIST_KEYS.access,
        show=show,
        posts=(Post(action=ISSUE_KEY, reads=lambda _, form: {"name": form.text("name")}, then=show_issued),),
    ),
    question_page(
        path=f"{_KEYS}/{{key_id}}/rotate",
        tab="keys",
        asks=ask_rotation,
        post=Post(
            action=ROTATE_KEY,
            reads=lambda _, form: {"overlap_seconds": form.number("overlap_seconds")},
            then=show_rotated,
        ),
    ),
    question_page(
        path=f"{_KEYS}/{{key_id}}/delete",
        tab="keys",
        asks=ask_deletion,
        post=Post(action=DELETE_KEY, then=lambda page, _: done(_list(page), "key-deleted")),
    ),
)
