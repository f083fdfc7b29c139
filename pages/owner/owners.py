"""The pages about the owners of a listing. Its owner decides about them, and a co-owner may leave.

.../owners   a form for each action: invite a co-owner or remove one, offer the listing to another owner, and
             revoke keys that former owners made
.../leave    asks a co-owner
.../danger   removes the listing, once its name was typed
"""

from collections.abc import Awaitable, Callable
from typing import Any

from actions.action import Access, AnyAction, Call
from actions.keys import delete
from actions.listings import REMOVE, remove
from actions.owners import OFFER, end_co_owner, end_offer, invite, offer
from actions.views import Success
from forms.fields import Nothing
from grammars.patterns import is_snowflake
from languages.refusals import Invalid, Refusal
from languages.said import Fault
from languages.texts import Text
from listings.owners import keys_of_others, most_co_owners, open_offer
from pages.dialogs import Question, question_page
from pages.page import Again, Answer, Page, PageCall, Post, Shown
from pages.shared_texts import done
from pages.visitors import faces_of
from web.pages import see_other

OTHER_NAME = Text("This is another name. Nothing has been removed.")
LEAVING = Text(
    "You lose your rights on this listing at once. API keys that you made still work: the owner sees them, "
    "and can revoke them. To come back, you need a new invitation."
)


def show(page: PageCall) -> Shown[None]:
    row = page.row
    keys, most = keys_of_others(row), most_co_owners(row.ref)
    makers = {maker.removeprefix("users/") for key in keys for maker in key.makers}
    html = {
        "co_owners": row.extra_owners,
        "invited": row.invited,
        "offered": open_offer(row, page.call.now_ms),
        "keys": keys,
        "has_room": len(row.extra_owners) + len(row.invited) < most,
        "most": most,
        "faces": faces_of(
            *(
                page.call.state,
                page.site.addresses.cdn_url,
                {row.owner_id, *row.extra_owners, *row.asked, *makers},
            )
        ),
        "typed": {"user": page.typed("user"), "heir": page.typed("heir")},
    }
    return Shown(None, html=html)


async def revoke_keys(page: PageCall) -> Success:
    """Delete a key that a former owner made, or all of them."""
    wanted = page.visit.form().text("key")
    for key in keys_of_others(page.row):
        if wanted in {"all", key.id}:
            await delete(page.call.with_id(key.id), None)
    return Success()


def ask_to_leave(page: PageCall) -> Question:
    title = Text("Leave {listing}", listing=page.row.profile.name)
    return Question(title, LEAVING, Text("Leave"), page.here, is_grave=True)


def leave(page: PageCall, _: object) -> Awaitable[Success]:
    return end_co_owner(page.call.with_id(page.person.id), None)


def show_removal(page: PageCall) -> Shown[None]:
    return Shown(None, html={"labels": {"name": Text("Name")}, "typed": page.typed("name")})


async def remove_named(page: PageCall, _: None) -> Success:
    """Remove the listing with all that belongs to it, if its name was typed."""
    if _as_shown(page.visit.form().text("name")) != _as_shown(page.row.profile.name):
        raise Again(errors={"name": OTHER_NAME}, status=400)
    return await remove(page.call, None)


def _as_shown(name: str) -> str:
    """Return a name as a browser shows it: white space is one space there."""
    return " ".join(name.split())


def _on_co_owner(page: PageCall) -> Call:
    """Return the call on the user whom the form names. Raises Refusal for a kind without co-owners."""
    user = page.visit.form().text("user")
    if not page.call.listing_kind.has("co_owners"):
        raise Refusal("no_such_listing")
    if not is_snowflake(user):
        raise Invalid({"user": Fault("no_snowflake")})
    return page.call.with_id(user)


def _form(
    button: str,
    notice: str,
    run: Callable[[PageCall, Any], Awaitable[Success]],
    *,
    field: str = "",
    action: AnyAction | None = None,
) -> Post[Any]:
    """Return a form of the owner. It is no error if another window has sent it before.

    Args:
        field: the field that the owner fills in.
        action: the action that checks the form.
    """

    async def run_once(page: PageCall, form: Any) -> Success | None:
        try:
            return await run(page, form)
        except Refusal as error:
            if error.status != 404:
                raise
            return None

    def then(page: PageCall, made: Success | None) -> Answer:
        here = f"{page.here}/owners"
        return done(here, notice) if made is not None else see_other(here)

    reads = (lambda _, form: {field: form.text(field)}) if field else None
    return Post(action=action, access=_OWNER, run=run_once, then=then, reads=reads, button=button)


_OWNER = Access("own", fresh=True)
OWNER_PAGES = (
    Page(
        path="/{kind}/{id}/manage/owners",
        tab="owners",
        access=_OWNER,
        show=show,
        has_json=False,
        gives_back=True,
        posts=(
            _form("invite", "invited", lambda page, _: invite(_on_co_owner(page), Nothing()), field="user"),
            _form("remove", "co-owner-removed", lambda page, _: end_co_owner(_on_co_owner(page), None)),
            _form("offer", "offered", lambda page, form: offer(page.call, form), field="heir", action=OFFER),
            _form("withdraw", "offer-withdrawn", lambda page, _: end_offer(page.call, None)),
            _form("revoke", "keys-revoked", lambda page, _: revoke_keys(page)),
        ),
    ),
    question_page(
        path="/{kind}/{id}/manage/leave",
        tab="leave",
        asks=ask_to_leave,
        post=Post(access=Access("leave"), run=leave, then=lambda *_: done("/me", "left")),
    ),
    Page(
        path="/{kind}/{id}/manage/danger",
        tab="danger",
        access=REMOVE.access,
        show=show_removal,
        has_json=False,
        posts=(
            Post(
                action=REMOVE,
                reads=lambda _, form: {"name": form.text("name")},
                run=remove_named,
                then=lambda _, __: done("/me", "removed"),
            ),
        ),
    ),
)
