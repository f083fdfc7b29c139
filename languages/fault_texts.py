"""The codes of broken rules of a field, each with its texts. They follow the name of the field."""

from collections.abc import Mapping
from typing import Literal

from languages.texts import NO_FACTS, Fact, Said, Text, Words

FaultCode = (
    Literal["missing", "unknown_field", "not_text", "not_boolean", "not_whole", "not_a_list", "not_a_form"]
    | Literal["not_a_choice", "not_matching", "text_empty", "text_too_short", "text_too_long", "list_empty"]
    | Literal["list_too_long", "too_low", "too_high"]
    | Literal["no_snowflake", "named_twice", "names_the_owner", "not_later", "wrong_length", "nothing_seen"]
    | Literal["not_one_line", "control_character", "direction_changed", "not_one_way", "end_alone"]
    | Literal["not_offered", "not_a_pair", "not_an_invite", "invite_gone", "invite_elsewhere"]
    | Literal["invite_expires", "not_a_template", "template_gone", "tag_denied", "files_full"]
    | Literal["not_a_colour", "no_package", "no_emoji_name"]
    | Literal["values_taken", "not_a_handle", "name_reserved", "link_elsewhere"]
    | Literal["not_one_of", "page_out_of_range", "query_too_long", "not_a_cursor", "not_an_event_id"]
    | Literal["url_too_long", "url_not_ascii", "not_http", "url_with_user", "url_authority", "url_port"]
    | Literal["url_zone", "url_ipv6", "url_ipv4", "host_too_long", "host_dots", "label_too_long"]
    | Literal["label_hyphen", "host_letters", "not_header_value"]
    | Literal["no_such_file", "not_such_a_file", "file_damaged", "file_too_large", "picture_too_large"]
    | Literal["too_many_pixels", "too_many_frames", "sound_too_long", "no_field_of_files"]
    | Literal["not_chat_host", "not_chat_webhook", "token_of_chat", "language_of_others", "token_elsewhere"]
    | Literal["chat_host_itself", "chat_https", "chat_path", "port_too_low", "port_of_others"]
    | Literal["not_an_address", "private_address", "not_one_host", "network_refused", "this_machine"]
    | Literal["this_gateway", "not_https"]
)


def _field(text: Words, plain: Text | None = None, **facts: Fact) -> Said:
    """Return the texts of a field's fault, which follow the field's name."""
    return Said(400, text, facts or NO_FACTS, plain)


FAULT_TEXTS: Mapping[FaultCode, Said] = {
    # Fields: their types and sizes
    "missing": _field("field required", Text("Fill this in.")),
    "unknown_field": _field("extra inputs are not permitted"),
    "not_text": _field("input should be a valid string"),
    "not_boolean": _field("input should be a valid boolean"),
    "not_whole": _field("input should be a valid integer", Text("Enter a whole number.")),
    "not_a_list": _field("input should be a valid list"),
    "not_a_form": _field("input should be a valid dictionary or instance of {form}", form="Limit"),
    "not_a_choice": _field(
        "input should be {choices}",
        Text("Choose one of the offered values."),
        choices="'vote' or 'vote.struck'",
    ),
    "not_matching": _field(
        "string should match pattern '{pattern}'",
        Text("This is not in the form that is needed. Check it."),
        pattern="^[0-9a-f]{16}$",
    ),
    "text_empty": _field("string should have at least 1 character", Text("Fill this in.")),
    "text_too_short": _field(
        "string should have at least {least} characters", Text("Write at least {least} characters."), least=16
    ),
    "text_too_long": _field(
        "string should have at most {most} characters",
        Text("Shorten this to {most} characters at most."),
        most=150,
    ),
    "list_empty": _field(
        "list should have at least 1 item after validation, not 0", Text("Choose at least one.")
    ),
    "list_too_long": _field(
        "list should have at most {most} items after validation, not {given}",
        Text("There are {given} of these. Keep {most} at most."),
        most=4,
        given=5,
    ),
    "too_low": _field(
        "input should be greater than or equal to {least}", Text("Enter {least} or more."), least=0
    ),
    "too_high": _field(
        "input should be less than or equal to {most}", Text("Enter {most} or less."), most=604_800
    ),
    # Fields: texts, users and times
    "no_snowflake": _field(
        "must be a snowflake: 17 to 20 digits", Text("Enter the ID: 17 to 20 digits, and nothing else.")
    ),
    "named_twice": _field("must not name one twice", Text("One of these is here twice. Remove it.")),
    "names_the_owner": _field(
        "must be other users than the owner", Text("You are the owner already. Name other people here.")
    ),
    "not_later": _field("must be later than now", Text("Choose a time in the future.")),
    "wrong_length": _field(
        "must have {least} to {most} characters",
        Text("Enter {least} to {most} characters."),
        least=1,
        most=512,
    ),
    "nothing_seen": _field(
        "must have a character that can be seen", Text("Write something that people can see.")
    ),
    "not_one_line": _field(
        "must be on one line, without {character}",
        Text("Write it on one line. It has the character {character}: remove it."),
        character="U+000A",
    ),
    "control_character": _field(
        "must have no control characters, such as {character}",
        Text("It has the invisible character {character}. Remove it."),
        character="U+0000",
    ),
    "direction_changed": _field(
        "must not change the direction of text with {character}",
        Text("It changes the direction of text with {character}. Remove that character."),
        character="U+202E RIGHT-TO-LEFT OVERRIDE",
    ),
    "not_one_way": _field(
        "choose users, the flagged votes or a time: one of the three",
        Text("Choose users, the flagged votes or a time: one of the three."),
    ),
    "end_alone": _field(
        "choose no end of a time without its beginning", Text("Choose the beginning of the time, too.")
    ),
    "not_offered": _field("must be one of the choices", Text("Choose one of the offered values.")),
    "not_a_pair": _field(
        "must be a name, a colon with a space, and what it means, such as /play: Plays a song",
        Text("Write a name, a colon with a space, and what it means, such as /play: Plays a song"),
    ),
    "not_an_invite": _field(
        "must be an invite, such as https://discord.gg/abc123, or its code",
        Text("This is not an invite. Copy one from the server, such as https://discord.gg/abc123."),
    ),
    "invite_gone": _field(
        "does not exist at the chat platform, or has ended: make an invite that never expires",
        Text("This invite does not exist, or has ended. Make one that never expires."),
    ),
    "invite_elsewhere": _field(
        "leads to another server: make an invite in this one",
        Text("This invite leads to another server. Make one in this server."),
    ),
    "invite_expires": _field(
        "expires: make an invite that never does", Text("This invite expires. Make one that never does.")
    ),
    "not_a_template": _field(
        "must be a template of servers, such as https://discord.new/hgM48av5Q69A, or its code",
        Text("This is no template. Copy its link from the server, such as https://discord.new/hgM48av5Q69A."),
    ),
    "template_gone": _field(
        "does not exist at the chat platform",
        Text(
            "The chat platform knows no such template. Copy its link again from the settings of the server."
        ),
    ),
    "tag_denied": _field(
        "is a word that this site does not allow",
        Text("This site does not allow one of these words. Choose others."),
    ),
    "files_full": _field(
        "is too much: all files of a user together may take {most} MiB",
        Text("All your files together may take {most} MiB. Use smaller ones, or remove some."),
        most=64,
    ),
    "not_a_colour": _field("must be a colour, such as #5865f2", Text("Write a colour such as #5865f2.")),
    "no_package": _field(
        "must be one, or {least} to {most} for a package",
        Text("Choose one picture, or {least} to {most} for a package."),
        least=4,
        most=9,
    ),
    "no_emoji_name": _field(
        "must be 2 to 20 of a-z, 0-9 and _",
        Text("Write 2 to 20 lower-case letters (a to z), digits and underscores."),
    ),
    "values_taken": _field(
        "belongs to another listing", Text("Another listing has this already. Choose something else.")
    ),
    "not_a_handle": _field(
        "must be letters from a to z, digits, underscores and dots, with a letter or a digit",
        Text("Use a to z, 0 to 9, underscores and dots, with at least one letter or digit."),
    ),
    "name_reserved": _field(
        "is reserved, or looks like a reserved name",
        Text("This name is reserved, or looks like one that is. Choose another one."),
    ),
    "link_elsewhere": _field(
        "looks like {platform}, but is not on {host}",
        Text("This looks like {platform}, but is not on {host}. Copy the address from there."),
        platform="GitHub",
        host="github.com",
    ),
    # Parameters of a query or a path
    "not_one_of": _field("must be one of {choices}", choices="sign_in, submit, vote, report"),
    "page_out_of_range": _field("must be from 1 to {most}", most=500),
    "query_too_long": _field("must not be longer than {most} characters", most=100),
    "not_a_cursor": _field("must be the `next` of another page"),
    "not_an_event_id": _field("must be the `next` of another page, or the id of an event"),
    # URLs and headers
    "url_too_long": _field(
        "must have at most {most} characters",
        Text("This address is too long. Use one of {most} characters at most."),
        most=2_048,
    ),
    "url_not_ascii": _field(
        "must be plain ASCII without spaces, control characters or backslashes",
        Text("This address has a space or a special character. Copy it from the address bar of a browser."),
    ),
    "not_http": _field(
        "must be an http or https URL with a host",
        Text(
            "This is not a web address. It must begin with https:// and have a host, such as https://example.com."
        ),
    ),
    "url_with_user": _field(
        "must not carry a user name or password",
        Text("This address has a user name or a password. Remove the part before the @."),
    ),
    "url_authority": _field(
        "must have a host and perhaps a port, with brackets around an IPv6 address alone",
        Text("The host of this address is not valid. Check the part between // and the next /."),
    ),
    "url_port": _field(
        "must have a port from 1 to 65535 without leading zeros, if any",
        Text("The port of this address is not valid. Use one from 1 to 65535, or none."),
    ),
    "url_zone": _field(
        "must not name a zone beside the IPv6 address of its host",
        Text("Leave the zone out of the IPv6 address."),
    ),
    "url_ipv6": _field(
        "must have a valid IPv6 address between the brackets of its host",
        Text("The IPv6 address between the brackets is not valid. Check it."),
    ),
    "url_ipv4": _field(
        "must write the IPv4 address of its host as four numbers from 0 to 255",
        Text("The IPv4 address is not valid. Write four numbers from 0 to 255, with dots between."),
    ),
    "host_too_long": _field(
        "must have a host of at most {most} characters",
        Text("The host of this address is longer than {most} characters. Check it."),
        most=253,
    ),
    "host_dots": _field(
        "must not have a dot at an end of its host, or two together",
        Text("The host of this address has one dot too many. Remove it."),
    ),
    "label_too_long": _field(
        "must have at most {most} characters between the dots of its host",
        Text("A part of the host of this address is longer than {most} characters. Check it."),
        most=63,
    ),
    "label_hyphen": _field(
        "must not have a hyphen at an end of a part of its host",
        Text("A part of the host of this address begins or ends with a hyphen. Remove it."),
    ),
    "host_letters": _field(
        "must have a host of letters, digits, hyphens, underscores and dots as they are",
        Text("The host of this address has a character that is not allowed there. Check it."),
    ),
    "not_header_value": _field(
        "must be visible ASCII, because it is sent as a header",
        Text(
            "Use letters, digits and signs of a plain keyboard, without line breaks: it is sent as a header."
        ),
    ),
    # Files
    "no_such_file": _field(
        "must be the digest of an uploaded file: upload it, or do that again",
        Text("Choose a file. If you have chosen one, choose it once more."),
    ),
    "not_such_a_file": _field(
        "must be a file of one of these types: {types}",
        Text("This is no file of these types: {types}. Export it as one of them."),
        types="PNG, GIF or WEBP",
    ),
    "file_damaged": _field(
        "must be a whole file, and this one is damaged",
        Text("This file is cut off or damaged. Export it once more."),
    ),
    "file_too_large": _field(
        "must not be larger than {most} KiB",
        Text("This file is too large. Use one of {most} KiB at most."),
        most=256,
    ),
    "picture_too_large": _field(
        "must not be larger than {width} x {height} pixels",
        Text("This picture is larger than {width} x {height} pixels. Choose it once more."),
        width=128,
        height=128,
    ),
    "too_many_pixels": _field(
        "must not have more than {most} million pixels, in all its frames together",
        Text("This picture has more than {most} million pixels in all. Make it smaller."),
        most=64,
    ),
    "too_many_frames": _field(
        "must not have more than {most} frames",
        Text("This picture has too many frames. Use one with {most} at most."),
        most=200,
    ),
    "sound_too_long": _field(
        "must not be longer than {most} seconds",
        Text("This sound is too long. Cut it to {most} seconds."),
        most="5.2",
    ),
    "no_field_of_files": _field("must be a field with files"),
    # Where a webhook leads
    "not_chat_host": _field(
        "must be on a chat platform's host",
        Text("This is not an address of a chat platform. Copy it from the settings of the channel."),
    ),
    "not_chat_webhook": _field(
        "must be a chat platform's webhook URL",
        Text("This is not a webhook of a chat platform. Copy its address from the settings of the channel."),
    ),
    "token_of_chat": _field(
        "is not supported for a chat platform's webhook URL",
        Text("A chat platform takes no token. Leave this empty."),
    ),
    "language_of_others": _field(
        "is only for a chat platform's webhook URL",
        Text("Only messages to a chat platform have a language. Choose none."),
    ),
    "token_elsewhere": _field(
        "is not sent to another server: type it again, or tick the box to send none",
        Text("The token is not sent to another server. Type it again, or tick the box to send none."),
    ),
    "chat_host_itself": _field(
        "must be on the chat platform's host itself",
        Text("Use the address exactly as the chat platform shows it."),
    ),
    "chat_https": _field(
        "must be an https URL without a port on a chat platform's host",
        Text("Use the address exactly as the chat platform shows it: with https, and without a port."),
    ),
    "chat_path": _field(
        "must end in /api/webhooks/<id>/<token> on a chat platform's host; other forms, such as "
        "/slack and /github, are not supported",
        Text("Use the address exactly as the chat platform shows it. It ends in an id and a token."),
    ),
    "port_too_low": _field(
        "must have port 80, port 443 or one from 1024 to 65535",
        Text("We send nothing to this port. Use 80, 443, or one from 1024 to 65535."),
    ),
    "port_of_others": _field(
        "must not have port {port}, which belongs to another protocol",
        Text("We send nothing to port {port}, which belongs to another protocol. Use another one."),
        port=5_432,
    ),
    "not_an_address": _field(
        "must lead to an IP address", Text("This host has no IP address. Check the address.")
    ),
    "private_address": _field(
        "must not lead to a private address ({range})",
        Text("This leads to a private address ({range}), which we cannot reach. Use a public one."),
        range="localhost",
    ),
    "not_one_host": _field(
        "must lead to one host: not to an unspecified, multicast or broadcast address",
        Text("This does not lead to one host. Use the public address of your server."),
    ),
    "network_refused": _field(
        "must not lead to a network that the operator has refused",
        Text("The team of this site sends nothing to this network. Use another server."),
    ),
    "this_machine": _field(
        "must not lead to the machine that this gateway runs on",
        Text("This leads back to this site. Use the address of your own server."),
    ),
    "this_gateway": _field(
        "must not lead to this gateway itself",
        Text("This leads back to this site. Use the address of your own server."),
    ),
    "not_https": _field(
        "must be https", Text("This begins with http. Use https, so that nobody on the way can read it.")
    ),
}
