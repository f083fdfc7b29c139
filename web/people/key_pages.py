"""A bot's API keys: listed, made, rotated, deleted. Law: a key is on one page only, the answer that made it.

.../keys                      the list, with a form for a new one
.../keys/{key_id}/rotate      asks when the old value stops, and shows the new one
.../keys/{key_id}/delete      asks for the key's name
"""

import shlex

from core.refusals import NotFound
from core.rows import Key
from handlers.key_views import IssuedKey, KeyList, RotatedKey
from languages.texts import Text
from web.json_answers import JsonAnswers
from web.pages import PageRow, Shown
from web.people.listing_access import Access, ListingAccess
from web.people.listing_tabs import tab_page
from web.people.people_audience import PersonVisit, done
from web.people.questions import (
    NOT_REFUSED,
    OVERLAPS,
    REFUSALS,
    FormRefusal,
    Question,
    asked,
    not_confirmed,
    refused_by,
)
from web.people.shown_once import ShownOnce, shown_once

TAB = "keys"
KEEP_IT = Text(
    "Save it now where your bot keeps its secrets. It is a password: whoever has it speaks for your bot."
)


class KeyPages:
    """The pages.

    Args:
        public_url: where bots reach this gateway.
    """

    def __init__(self, access: ListingAccess, answers: JsonAnswers, public_url: str) -> None:
        self._access = access
        self._answers = answers
        self._public_url = public_url

    async def show(self, visit: PersonVisit) -> Shown:
        return await self._list(visit, self._of(visit))

    async def twin(self, visit: PersonVisit) -> Shown:
        return await self._answers.reply("listKeys", visit.request, self._of(visit).row.id)

    async def issue(self, visit: PersonVisit) -> Shown:
        access = self._fresh(visit)
        name = visit.form().text("name")
        try:
            issued = await self._answers.ask(
                IssuedKey, "issueKey", visit.request, access.row.id, body={"name": name}
            )
        except REFUSALS as error:
            return await self._list(visit, access, refused_by(error), name)
        return self._shown(access, Text("The key {name} is made", name=issued.name), issued.key)

    def ask_rotation(self, visit: PersonVisit) -> Shown:
        access = self._fresh(visit)
        return asked(access, TAB, _rotation(access, _key(access, visit)))

    async def rotate(self, visit: PersonVisit) -> Shown:
        access = self._fresh(visit)
        key = _key(access, visit)
        overlap = visit.form().number("overlap_seconds")
        try:
            rotated = await self._answers.ask(
                RotatedKey,
                "rotateKey",
                visit.request,
                access.row.id,
                key.id,
                body={"overlap_seconds": overlap},
            )
        except REFUSALS as error:
            return asked(access, TAB, _rotation(access, key), refused_by(error), overlap)
        when = dict(OVERLAPS).get(overlap, Text("Later")) if isinstance(overlap, int) else Text("Later")
        title = Text("The key {name} has a new value. The old one stops: {when}", name=key.name, when=when)
        return self._shown(access, title, rotated.key)

    def ask_deletion(self, visit: PersonVisit) -> Shown:
        access = self._fresh(visit)
        return asked(access, TAB, _deletion(access, _key(access, visit)), value="")

    async def delete(self, visit: PersonVisit) -> Shown:
        access = self._fresh(visit)
        key = _key(access, visit)
        question, typed = _deletion(access, key), visit.form().text("confirmation")
        if not question.is_confirmed(typed):
            return asked(access, TAB, question, not_confirmed(question), typed)
        try:
            await self._answers.reply("deleteKey", visit.request, access.row.id, key.id)
        except REFUSALS as error:
            return asked(access, TAB, question, refused_by(error), typed)
        return done(_here(access), "key-deleted")

    def _of(self, visit: PersonVisit) -> Access:
        return self._access.of(visit, "bots", "keys")

    def _fresh(self, visit: PersonVisit) -> Access:
        return self._access.fresh(visit, "bots", "keys")

    async def _list(
        self, visit: PersonVisit, access: Access, refused: FormRefusal = NOT_REFUSED, name: str = ""
    ) -> Shown:
        listed = await self._answers.ask(KeyList, "listKeys", visit.request, access.row.id)
        values = {"keys": listed.keys, "errors": refused.errors, "name": name}
        return tab_page(access, TAB, values, refused.status)

    def _shown(self, access: Access, title: Text, value: str) -> Shown:
        url = f"{self._public_url}/bots/{access.row.id}/voters/{access.person.id}"
        header = shlex.quote(f"Authorization: {value}")
        example = f"curl -H {header} {shlex.quote(url)}"
        return shown_once(
            access, TAB, ShownOnce(title, Text("API key"), value, KEEP_IT, _here(access), example)
        )


def _here(access: Access) -> str:
    return f"/{access.row.ref}/manage/keys"


def _key(access: Access, visit: PersonVisit) -> Key:
    """Return the key of the page's second parameter. Raises NotFound."""
    key = access.row.key(visit.request.params[1])
    if key is None:
        raise NotFound("key")
    return key


def _rotation(access: Access, key: Key) -> Question:
    return Question(
        Text("Rotate the key {name}", name=key.name),
        Text(
            "The key gets a new value, which the next page shows once. The old value can go on working for "
            "a while, so that your bot is never without a key. Choose “At once” if somebody else may know it."
        ),
        Text("Make a new value"),
        _here(access),
        asks_overlap=True,
    )


def _deletion(access: Access, key: Key) -> Question:
    return Question(
        Text("Delete the key {name}", name=key.name),
        Text(
            "The key stops at once, and so does its old value if there is one. Whatever uses it gets 401 "
            "from then on. It cannot be undone."
        ),
        Text("Delete the key"),
        _here(access),
        typed=key.name,
        is_grave=True,
    )


_KEYS = "/bots/{id}/manage/keys"
KEY_PAGES = (
    PageRow("GET", _KEYS, lambda to: to.keys.show, "signed in"),
    PageRow("GET", f"{_KEYS}.json", lambda to: to.keys.twin, "signed in"),
    PageRow("POST", _KEYS, lambda to: to.keys.issue, "signed in"),
    PageRow("GET", f"{_KEYS}/{{key_id}}/rotate", lambda to: to.keys.ask_rotation, "signed in"),
    PageRow("POST", f"{_KEYS}/{{key_id}}/rotate", lambda to: to.keys.rotate, "signed in"),
    PageRow("GET", f"{_KEYS}/{{key_id}}/delete", lambda to: to.keys.ask_deletion, "signed in"),
    PageRow("POST", f"{_KEYS}/{{key_id}}/delete", lambda to: to.keys.delete, "signed in"),
)
