"""People as visitors of pages. Invariant: a visitor who is signed in is a person, or also a moderator."""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from core.actors import user_actor
from handlers.reply import NO_HEADERS
from kinds.registry import KINDS
from languages.language_names import DEFAULT_LANGUAGE, OWN_NAMES, Language, accepted, named
from languages.refusals import Refusal
from languages.texts import Text
from web.audiences import Audience
from web.cookies import Cookie, PeopleCookies
from web.cross_origin import origin_of_site
from web.error_pages import ErrorText, ErrorTexts
from web.notice_cookie import Notices
from web.page_policy import page_headers
from web.pages import Done, Notice, Visit
from web.people.user_limit import UserLimit
from web.people.visitors import Person

HOME, SIGN_IN = "/", "/signin"
NOTICES: Mapping[str, Notice] = {
    "signed-out": Notice(Text("You are signed out.")),
    "erased": Notice(Text("You are forgotten. Nothing here knows you any more.")),
    "saved": Notice(Text("It is saved.")),
    "changed": Notice(Text("It is saved, and everybody sees it. A moderator looks at it, too.")),
    "proposed": Notice(Text("It is saved. Everybody sees it once a moderator agrees to it.")),
    "submitted": Notice(
        Text("It is submitted. A moderator looks at it, and you read here what became of it.")
    ),
    "listed": Notice(Text("It is listed: users can vote for it.")),
    "checked": Notice(Text("It is checked. The conditions are as the chat platform tells them now.")),
    "sent-again": Notice(Text("It is saved, and waits for another look of a moderator.")),
    "proven": Notice(Text("It is proven that the bot is yours. You can take the code out again.")),
    "taken-over": Notice(
        Text("It is yours now. Its API keys and its webhook were removed: make new ones if you need them.")
    ),
    "invited": Notice(
        Text("The person is invited. Send them the link below: this site sends them no message.")
    ),
    "co-owner-removed": Notice(Text("This person has no rights on the listing any more.")),
    "offered": Notice(
        Text(
            "The ownership is offered. Send the link below to the new owner: this site sends them no message."
        )
    ),
    "offer-withdrawn": Notice(Text("The offer is withdrawn. You stay the owner.")),
    "keys-revoked": Notice(Text("The keys are deleted. They do not work any more.")),
    "joined": Notice(Text("You are a co-owner now.")),
    "inherited": Notice(Text("The listing is yours now.")),
    "declined": Notice(Text("You declined. Nothing has changed.")),
    "left": Notice(Text("You have left the listing.")),
    "removed": Notice(Text("It is removed, with all that belonged to it.")),
    "key-deleted": Notice(Text("The key is deleted. It opens nothing any more.")),
    "webhook-saved": Notice(Text("The webhook is saved.")),
    "webhook-removed": Notice(Text("The webhook is removed. Votes are counted, and nobody is told.")),
    "probe-arrived": Notice(Text("The probe arrived. Votes flow again.")),
    "probe-failed": Notice(Text("The probe failed. The webhook stays suspended."), is_problem=True),
    "resumed": Notice(Text("The webhook is resumed. What waited is on its way.")),
    "failed-again": Notice(Text("What failed is on its way again. The log shows what becomes of it.")),
    "nothing-failed": Notice(Text("Nothing has failed since then.")),
    "approved": Notice(Text("It is approved: users can vote for it. Its owner is told.")),
    "denied": Notice(Text("It is denied. Its owner reads the reason, and can send it again.")),
    "withdrawn": Notice(
        Text("The approval is withdrawn. Its owner reads the reason, and can send it again.")
    ),
    "agreed": Notice(Text("The change is agreed to: everybody sees it. Its owner is told.")),
    "refused": Notice(Text("The change is refused. Its owner reads the reason.")),
    "claimed": Notice(Text("You are at it. Other moderators see that.")),
    "released": Notice(Text("You are not at it any more.")),
    "noted": Notice(Text("Your note is kept. Moderators alone see it.")),
    "quarantined": Notice(Text("The user is under quarantine, and sees the reason.")),
    "struck": Notice(Text("The votes are struck out. Its owner reads why.")),
    "struck-some": Notice(
        Text("Votes are struck out, and there are more within that time: do it again."), is_problem=True
    ),
    "name-on": Notice(Text("Owners, moderators and operators may see your name now.")),
    "name-off": Notice(Text("Nobody sees your name among top voters any more.")),
    "reminder-on": Notice(Text("You are reminded when you can vote for it again.")),
    "reminder-off": Notice(Text("You are not reminded of it any more.")),
    "reminders-full": Notice(
        Text("You have as many reminders as one can have. Turn one off, then try again."), is_problem=True
    ),
    "lifted": Notice(Text("The quarantine is lifted.")),
}
"""The notices of all actions, by name."""

FIELD_LABELS: Mapping[str, Text] = {
    **{name: label for kind in reversed(KINDS) for name, label in kind.labels.items()},
    "words": Text("In your words"),
    "withdraw_reason": Text("Reason"),
    "withdraw_words": Text("In your words"),
    "note": Text("Note"),
    "reason": Text("Reason"),
    "ids": Text("Ids of voters"),
    "user": Text("User ID of the new co-owner"),
    "heir": Text("User ID of the new owner"),
}
"""The fields of the forms of long texts, by their names."""

PersonVisit = Visit[Person]

_AGAIN = ErrorText(
    Text("Something went wrong here"),
    Text("Try again in a moment. If it stays, tell the team of this site, with the number if there is one."),
)
ERROR_TEXTS = ErrorTexts(
    {
        401: ErrorText(Text("You are not signed in"), Text("Sign in, and come back. Nothing has changed.")),
        403: ErrorText(
            Text("This was refused"),
            Text(
                "Go back to the page that you came from. If you should see this one, ask the team of "
                "this site. Nothing has changed."
            ),
        ),
        404: ErrorText(
            Text("There is nothing here"),
            Text("Look at the address again. It may have been removed, or never existed."),
        ),
        429: ErrorText(Text("That was too often"), Text("Wait, then try once more.")),
        500: _AGAIN,
        503: ErrorText(
            Text("It cannot be done right now"), Text("Nothing was saved. Try again in a moment.")
        ),
    },
    _AGAIN,
)


def signed_in(visit: PersonVisit) -> Person:
    """Return who is signed in. Raises Refusal; the row of a page refuses strangers before."""
    if visit.visitor is None:
        raise Refusal("sign_in_required")
    return visit.visitor


def done(
    path: str, notice: str, headers: Mapping[str, str] = NO_HEADERS, cookies: tuple[str, ...] = ()
) -> Done:
    """Return the outcome of a form that leads to a page. `notice` is a name in `NOTICES`."""
    return Done(path, NOTICES[notice], headers, cookies)


def people_audience(
    cookies: PeopleCookies,
    notices: Notices,
    known: Callable[[str | None], Person | None],
    acts: UserLimit,
    public_url: str,
    authorize_url: str,
    cdn_url: str,
) -> Audience[Person]:
    """Return the audience.

    Args:
        known: returns who has a session of this value.
        acts: how often a person may change something, whatever it is.
        public_url: where browsers reach the site.
        authorize_url: the chat platform's page to which the sign-in leads.
        cdn_url: where the chat platform has its pictures.
    """
    return Audience(
        cookie=cookies.session,
        known=known,
        actor=lambda person: user_actor(person.id),
        language=lambda person, request: _language(cookies.language, person, request.headers),
        rules={"signed in": lambda _: True, "moderator": lambda person: person.is_moderator},
        act=lambda person: acts.take(person.id),
        stranger="sign_in_required",
        origins=origin_of_site(public_url),
        notices=notices,
        sign_in=SIGN_IN,
        home=HOME,
        home_link=Text("To the first page"),
        is_closed=False,
        rest="/{rest*}",
        frame="people/frame.html",
        headers=page_headers((origin(cdn_url),), (origin(authorize_url),), ("Accept-Language",)),
        error_texts=ERROR_TEXTS,
        values={"public_url": public_url, "own_names": OWN_NAMES, "field_labels": FIELD_LABELS},
    )


def origin(url: str) -> str:
    """Return the scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _language(cookie: Cookie, person: Person | None, headers: Mapping[str, str]) -> Language:
    """Return the language of a page: as chosen here, else that of the account, else that of the browser."""
    chosen = named(cookie.value(headers))
    account = person.language if person is not None else None
    return chosen or account or accepted(headers.get("Accept-Language", "")) or DEFAULT_LANGUAGE
