"""The errors of the API, as pages say them. Law: what is not here is shown as the API says it.

The API speaks English to everybody. A page shows what an endpoint answered, so it knows a sentence again by
its English. What the API says to programmers, a page says in plain words. A name in braces stands for any
text there, which is looked for here, too.
"""

import re
from collections.abc import Iterator, Mapping

from grammars.snowflake import NO_SNOWFLAKE
from languages.texts import Text, Words

_SENTENCES = (
    # What is not there, and what the state of a thing forbids
    Text("Not found."),
    Text("There is no such listing."),
    Text("The listing has no such key."),
    Text("The listing has no webhook."),
    Text("The listing has no such delivery."),
    Text("There is no such user."),
    Text("The user has no such session."),
    Text("The user is under no such quarantine."),
    Text("The user has no invitation."),
    Text("The user is neither a co-owner nor invited."),
    Text("The listing is not offered to this user, or the offer has lapsed."),
    Text("The user owns the listing already."),
    Text("A listing has at most {most} co-owners and invitations. Remove one first."),
    Text("A listing with this id exists."),
    Text("The listing is approved, not in review."),
    Text("The listing is denied, not in review."),
    Text("The listing is approved, not in review. Withdraw its approval instead."),
    Text("The listing is not approved."),
    Text("The listing has no change that waits for a decision."),
    Text("The change is not the one that you saw. Look at it again, then decide."),
    Text("Keys are for approved listings only."),
    Text("A listing has {most} keys at most; delete one first."),
    Text("Only an approved listing can be voted for."),
    Text("Messages to a chat platform are not signed."),
    Text("Too many tests wait for this endpoint."),
    Text("The delivery is still pending."),
    Text("Too many deliveries wait for this endpoint."),
    Text("The endpoint is not suspended."),
    Text("The user moderates, too: only the operator can do that."),
    Text("Only its owner can prove to own the listing."),
    Text("The description at the chat platform does not hold the code."),
    Text(
        "The present owner has proven that they own the bot. If that is wrong, ask the people who run "
        "this site."
    ),
    Text(
        "The present owner has proven that they manage the server. Only the owner of the server at the "
        "chat platform can take the listing over."
    ),
    Text("The listing is yours already."),
    Text("A user has {most} reminders at most; turn one off first."),
    Text("Nobody imposes or lifts a quarantine of their own."),
    Text("The owner of the listing may not submit listings now. Meanwhile nobody can edit or inherit it."),
    Text("No delivery waits that could probe the endpoint; send a test."),
    Text("This user can vote again in {retry_seconds} seconds."),
    Text("The user is under quarantine: {reason}"),
    Text("The user is under quarantine until {until_ms} (UTC): {reason}"),
    # Requests that no page of ours sends, and what is not the visitor's fault
    Text("Too many requests, please try again later."),
    Text("The form was not sent from a page of this gateway."),
    Text("You must sign in."),
    Text("You may not see this page."),
    Text("The form could not be read."),
    Text("The body must not be larger than {most} bytes."),
    Text("Method not allowed. Use {methods}."),
    Text("Something went wrong here; the operators find it under {number}."),
    Text("Not ready: {reason}."),
    Text("Listings cannot be searched right now."),
    Text("Nothing can be written right now: {reason}."),
    Text("the disk does not keep up"),
    Text("the disk has failed"),
    Text("the gateway is stopping"),
    # Why an owner is not told of a decision
    Text("the owner takes no messages from the bot, or shares no server with it"),
    Text("the chat platform refuses the bot token"),
    Text("the chat platform does not know the owner"),
    Text("the chat platform asks for a wait"),
    Text("the chat platform did not answer in time"),
    Text("the chat platform cannot be reached"),
    Text("the answer of the chat platform cannot be read"),
    Text("something failed on our side"),
    Text("the chat platform answered with status {status}"),
    # Fields
    Text("Some fields are not valid."),
    Text("must be other users than the owner"),
    Text("must not name one twice"),
    Text("must be later than now"),
    Text("must be one of the choices"),
    Text("choose users, the flagged votes or a time: one of the three"),
    Text("choose no end of a time without its beginning"),
    Text("must have {least} to {most} characters"),
    Text("must have a character that can be seen"),
    Text("must be on one line, without {character}"),
    Text("must have no control characters, such as {character}"),
    Text("must not change the direction of text with {character}"),
    Text("string should have at least 1 character"),
    Text("string should have at least {least} characters"),
    Text("string should have at most {most} characters"),
    Text("list should have at least 1 item after validation, not 0"),
    Text("list should have at most {most} items after validation, not {given}"),
    Text("input should be {choices}"),
    # The address and the token of a webhook
    Text("must have at most {most} characters"),
    Text("must be plain ASCII without spaces, control characters or backslashes"),
    Text("must be an http or https URL with a host"),
    Text("must be on a chat platform's host"),
    Text("must not carry a user name or password"),
    Text("must have a host and perhaps a port, with brackets around an IPv6 address alone"),
    Text("must have a port from 1 to 65535 without leading zeros, if any"),
    Text("must not name a zone beside the IPv6 address of its host"),
    Text("must have a valid IPv6 address between the brackets of its host"),
    Text("must have a host of at most {most} characters"),
    Text("must write the IPv4 address of its host as four numbers from 0 to 255"),
    Text("must not have a dot at an end of its host, or two together"),
    Text("must have at most {most} characters between the dots of its host"),
    Text("must not have a hyphen at an end of a part of its host"),
    Text("must have a host of letters, digits, hyphens, underscores and dots as they are"),
    Text("must be visible ASCII, because it is sent as a header"),
    Text("is not supported for a chat platform's webhook URL"),
    Text("is only for a chat platform's webhook URL"),
    Text("must be a chat platform's webhook URL"),
    Text("is not taken along to another server: type it again, or tick the box to send none"),
)
_NAME = re.compile(r"\\\{([a-z_]+)\\\}")


def _patterns() -> Iterator[tuple[re.Pattern[str], str]]:
    """Yield each sentence with names, and what finds it."""
    for text in _SENTENCES:
        if "{" in text.english:
            yield re.compile(_NAME.sub(r"(?P<\1>.+)", re.escape(text.english))), text.english


_PLAINLY: Mapping[str, Text] = {NO_SNOWFLAKE: Text("must be 17 to 20 digits")}
"""What the API says with a word that only programmers know."""
_FIXED: Mapping[str, Text] = {
    **{text.english: text for text in _SENTENCES if "{" not in text.english},
    **_PLAINLY,
}
_PATTERNS = tuple(_patterns())


def api_text(english: Words) -> Words:
    """Return what the API said as a text of ours; as it is if it is none, or is one already."""
    if isinstance(english, Text):
        return english
    if english in _FIXED:
        return _FIXED[english]
    for pattern, sentence in _PATTERNS:
        found = pattern.fullmatch(english)
        if found is not None:
            return Text(sentence, **{name: api_text(value) for name, value in found.groupdict().items()})
    return english


def api_texts(fields: Mapping[str, Words]) -> Mapping[str, Words]:
    """Return what the API said of each field."""
    return {name: api_text(reason) for name, reason in fields.items()}
