"""Texts that several pages share: notices, labels of fields, conditions of servers, and errors."""

from collections.abc import Mapping

from handlers.reply import NO_HEADERS
from kinds.kind import CheckName
from kinds.registry import KINDS
from languages.texts import Text
from web.error_pages import ErrorText, ErrorTexts
from web.pages import Done, Notice

_NOTICE_TEXTS: Mapping[str, Text] = {
    "signed-out": Text("You are signed out."),
    "erased": Text("Your account and your data are erased."),
    "saved": Text("It is saved."),
    "changed": Text("It is saved, and everybody sees it. A moderator looks at it, too."),
    "proposed": Text("It is saved. Everybody sees it once a moderator approves it."),
    "submitted": Text("It is submitted. A moderator will review it. This page will show the decision."),
    "listed": Text("It is listed: everybody can see it."),
    "seen": Text("It is there: everybody can see it."),
    "checked": Text("The conditions were checked just now."),
    "sent-again": Text("It is saved. A moderator will review it again."),
    "proven": Text("The ownership is verified. You can remove the code now."),
    "taken-over": Text(
        "It is yours now. Its API keys and its webhook were removed: make new ones if you need them."
    ),
    "invited": Text("The person is invited. Send them the link below: this site sends them no message."),
    "co-owner-removed": Text("This person has no rights on the listing any more."),
    "offered": Text(
        "The ownership is offered. Send the link below to the new owner: this site sends them no message."
    ),
    "offer-withdrawn": Text("The offer is withdrawn. You stay the owner."),
    "keys-revoked": Text("The keys are deleted. They do not work any more."),
    "joined": Text("You are a co-owner now."),
    "inherited": Text("The listing is yours now."),
    "declined": Text("You declined. Nothing has changed."),
    "left": Text("You have left the listing."),
    "removed": Text("It is removed, with all that belonged to it."),
    "key-deleted": Text("The key is deleted. It no longer works."),
    "webhook-saved": Text("The webhook is saved."),
    "webhook-removed": Text("The webhook is removed. Votes still count, but you get no message about them."),
    "probe-arrived": Text("The probe arrived. Votes flow again."),
    "probe-failed": Text("The probe failed. The webhook stays suspended."),
    "resumed": Text("The webhook is resumed. The waiting deliveries are sent now."),
    "failed-again": Text("The failed deliveries are sent again. The log shows their outcome."),
    "nothing-failed": Text("Nothing has failed since then."),
    "approved": Text("It is approved: everybody can see it. Its owner is told."),
    "denied": Text("It is denied. Its owner reads the reason, and can send it again."),
    "withdrawn": Text("The approval is withdrawn. Its owner reads the reason, and can send it again."),
    "agreed": Text("The change is approved: everybody sees it. Its owner is told."),
    "refused": Text("The change is refused. Its owner reads the reason."),
    "claimed": Text("You have claimed it. Other moderators see that."),
    "released": Text("Your claim has ended."),
    "noted": Text("Your note is saved. Only moderators see it."),
    "quarantined": Text("The user is under quarantine, and sees the reason."),
    "struck": Text("They are removed. The owner of the listing reads why."),
    "struck-some": Text("Some are removed, and there are more within that time: do it again."),
    "emojis-added": Text("Done: your server has the emojis now."),
    "liked": Text("You like it."),
    "unliked": Text("Your like is taken back."),
    "not-liked": Text("A moderator removed your like, so you cannot give it again yet. Try again tomorrow."),
    "too-young-to-like": Text(
        "Your account is too young to like listings here. Nothing has changed. Come back when it is older."
    ),
    "rated": Text("Your review is there: everybody can read it."),
    "rating-gone": Text("Your review is deleted."),
    "answered": Text("Your answer is there: everybody can read it."),
    "answer-gone": Text("Your answer is deleted."),
    "rating-removed": Text("The review is removed. Its author and the owners read why."),
    "name-on": Text("Owners, moderators and operators may see your name now."),
    "name-off": Text("Nobody sees your name among top voters any more."),
    "mail-on": Text("You get e-mails about what you chose."),
    "mail-off": Text("You get no e-mails any more. Your address is deleted."),
    "reminder-on": Text("You are reminded when you can vote for it again."),
    "reminder-off": Text("You are not reminded of it any more."),
    "reminders-full": Text("You have as many reminders as one can have. Turn one off, then try again."),
    "lifted": Text("The quarantine is lifted."),
    "reported": Text("Thank you. The moderators have your report."),
    "kept": Text("The reports are settled. The listing stays as it is."),
    "approved-next": Text("Approved, and its owner is told. This is the next one."),
    "denied-next": Text("Denied, and its owner reads the reason. This is the next one."),
    "withdrawn-next": Text(
        "The approval is withdrawn, and its owner reads the reason. This is the next one."
    ),
    "agreed-next": Text("The change is approved, and everybody sees it. This is the next one."),
    "refused-next": Text("The change is refused, and its owner reads the reason. This is the next one."),
    "kept-next": Text("The reports are settled. This is the next one."),
}
NOT_IN_LIST = Text(
    "You do not manage this server, or the list of your servers is too old. You need the permission Manage "
    "Server there. Read the list again."
)
AWAY = Text("The chat platform gives no answer that can be used right now. Try again in a moment.")
_PROBLEMS = {"probe-failed", "struck-some", "reminders-full", "not-liked", "too-young-to-like"}
NOTICES: Mapping[str, Notice] = {
    name: Notice(text, name in _PROBLEMS) for name, text in _NOTICE_TEXTS.items()
}
"""The notices of all actions, by name."""

FIELD_LABELS: Mapping[str, Text] = {
    **{name: label for kind in reversed(KINDS) for name, label in kind.labels.items()},
    "words": Text("In your words"),
    "withdraw_reason": Text("Reason"),
    "withdraw_words": Text("In your words"),
    "note": Text("Note"),
    "reason": Text("Reason"),
    "text": Text("In your words"),
    "ids": Text("IDs of voters"),
    "user": Text("User ID of the new co-owner"),
    "heir": Text("User ID of the new owner"),
}
"""The fields of the forms of long texts, by their names."""
CONDITIONS: Mapping[CheckName, Text] = {
    "members": Text("Members"),
    "age": Text("Age in days"),
    "icon": Text("An icon of its own"),
    "two_factor": Text("Moderators need a second factor"),
    "community": Text("Community features are on"),
    "nsfw": Text("NSFW channels"),
    "exists": Text("It exists at the chat platform"),
}
"""The conditions that servers and templates must meet."""

_AGAIN = ErrorText(
    Text("Something went wrong on our side"),
    Text("Try again in a moment. If it happens again, send the number to the team of this site."),
)
ERROR_TEXTS = ErrorTexts(
    {
        401: ErrorText(Text("You are not signed in"), Text("Sign in, and come back. Nothing has changed.")),
        403: ErrorText(
            Text("This was refused"),
            Text(
                "Go back to the page that you came from. If you should see this one, ask the team of "
                "this site."
            ),
        ),
        404: ErrorText(
            Text("There is nothing here"),
            Text("The page may have moved, or its owner removed it."),
        ),
        429: ErrorText(Text("One moment, please"), Text("You sent too many requests at once.")),
        500: _AGAIN,
        503: ErrorText(
            Text("It cannot be done right now"), Text("Nothing was saved. Try again in a moment.")
        ),
    },
    _AGAIN,
)


def done(
    path: str, notice: str, headers: Mapping[str, str] = NO_HEADERS, cookies: tuple[str, ...] = ()
) -> Done:
    """Return the outcome of a form that leads to a page. `notice` is a name in `NOTICES`."""
    return Done(path, NOTICES[notice], headers, cookies)
