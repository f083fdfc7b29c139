"""The removal of a listing. Invariant: its owner removes it, after a fresh sign-in, by typing its name."""

from actions.listings import REMOVE, remove
from actions.views import Success
from languages.texts import Text
from pages.page import Again, Page, PageCall, Post, Shown
from pages.shared_texts import done

OTHER_NAME = Text("This is another name. Nothing has been removed.")


def show(page: PageCall) -> Shown[None]:
    return Shown(None, html={"labels": {"name": Text("Name")}, "typed": page.typed("name")})


async def confirm(page: PageCall, _: None) -> Success:
    """Remove the listing with all that belongs to it, if its name was typed."""
    if _as_shown(page.visit.form().text("name")) != _as_shown(page.row.profile.name):
        raise Again(errors={"name": OTHER_NAME}, status=400)
    return await remove(page.call, None)


def _as_shown(name: str) -> str:
    """Return a name as a browser shows it: white space is one space there."""
    return " ".join(name.split())


REMOVAL = Page(
    path="/{kind}/{id}/manage/danger",
    tab="danger",
    access=REMOVE.access,
    show=show,
    has_json=False,
    posts=(
        Post(
            action=REMOVE,
            reads=lambda _, form: {"name": form.text("name")},
            run=confirm,
            then=lambda _, __: done("/me", "removed"),
        ),
    ),
)
