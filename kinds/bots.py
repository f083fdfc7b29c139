"""Bots: applications at the chat platform that users add to their servers."""

from typing import Annotated

from forms.fields import ABOUT_LINE, ABOUT_PROSE, HttpsUrl, Pair, Url
from forms.rules import IN_PROSE, ON_ONE_LINE, UNIQUE, About, Display, OneOf, Sample, Size
from kinds.kind import (
    CoOwnersPart,
    FactsPart,
    Given,
    KeysPart,
    Kind,
    Nouns,
    Profile,
    RatingsPart,
    ReviewPart,
    StatsPart,
    VotesPart,
    WebhookPart,
)
from kinds.shared_fields import Banner, Screenshots, Tags, TextLanguage, Title
from languages.texts import Text

CATEGORIES = {
    "Moderation": Text("Moderation"),
    "Utility": Text("Utility"),
    "Fun & Games": Text("Fun & Games"),
    "Music": Text("Music"),
    "Economy": Text("Economy"),
    "Roleplay": Text("Roleplay"),
    "Technology": Text("Technology"),
    "Art & Design": Text("Art & Design"),
    "Virtual Assistants": Text("Virtual Assistants"),
    "Social Media Integration": Text("Social Media Integration"),
    "Anime & Manga": Text("Anime & Manga"),
    "Other": Text("Other"),
}


class BotProfile(Profile, frozen=True, gc=False, tag="bot"):
    """A bot's profile, written by its owner."""

    name: Annotated[Title, Sample("Example bot")]
    short_description: Annotated[
        str,
        Size(16, 150),
        About(ABOUT_LINE),
        ON_ONE_LINE,
        Sample("Counts what happens on your server"),
        Display(
            Text("Short description"),
            hint=Text("16 to 150 characters, on one line. Lists show it."),
            brief=Text("In short"),
            finds="word",
        ),
    ]
    description: Annotated[
        str,
        Size(32, 8_192),
        About(f"Markdown. {ABOUT_PROSE}"),
        IN_PROSE,
        Sample("A bot that counts what happens on your server, and tells you **once a week**."),
        Display(
            Text("Description"),
            "text",
            Text("32 to 8,192 characters of Markdown. The preview shows the result."),
            rows=12,
            is_markdown=True,
            finds="word",
        ),
    ]
    categories: Annotated[
        tuple[Annotated[str, OneOf(CATEGORIES)], ...],
        Size(1, 12),
        UNIQUE,
        Sample(("Utility", "Fun & Games")),
        Display(Text("Categories"), "choices", Text("One or more."), finds="category"),
    ]
    support_invite: Annotated[
        Url | None,
        About("Where users of the bot find help."),
        Sample("https://example.com/support"),
        Display(
            Text("Support"),
            "url",
            Text("The address where users find help. Optional."),
            public="support_url",
            icon="chat",
        ),
    ] = None
    website: Annotated[
        HttpsUrl | None,
        About("The web site of the bot."),
        Sample("https://example.com"),
        Display(
            Text("Website"),
            "url",
            Text("An address with https. Optional."),
            public="website_url",
            icon="globe",
        ),
    ] = None
    source: Annotated[
        HttpsUrl | None,
        About("Where the source code of the bot is."),
        Sample("https://example.com/source"),
        Display(
            Text("Source code"),
            "url",
            Text("An address with https. Optional."),
            public="source_url",
            icon="code",
        ),
    ] = None
    privacy: Annotated[
        HttpsUrl | None,
        About("The privacy policy of the bot."),
        Sample("https://example.com/privacy"),
        Display(
            Text("Privacy policy"),
            "url",
            Text("An address with https. Optional."),
            public="privacy_url",
            icon="shield",
        ),
    ] = None
    tags: Annotated[Tags, Sample(("statistics", "weekly-report"))] = ()
    commands: Annotated[
        tuple[Pair, ...],
        Size(0, 60),
        UNIQUE,
        About("The slash commands of the bot, each with what it does."),
        Sample(("/count: Counts the messages of today",)),
        Display(
            Text("Commands"),
            "pairs",
            Text("One per line, such as /play: Plays a song. Up to 60. Optional."),
            rows=6,
        ),
    ] = ()
    banner: Banner = None
    screenshots: Screenshots = ()
    text_language: TextLanguage = ""


BOTS = Kind(
    plural="bots",
    singular="bot",
    nouns=Nouns(
        one=Text("Bot"),
        many=Text("Bots"),
        popular=Text("Popular bots"),
        trending=Text("Trending bots"),
        newest=Text("New bots"),
        random=Text("Random bot"),
        search=Text("Search the bots"),
        remove=Text("Remove this bot"),
        submit=Text("List your bot"),
        submit_one=Text("Submit a bot"),
    ),
    profile=BotProfile,
    id=Given(Text("Application ID"), Text("17 to 20 digits."), sample="123456789012345678"),
    review=ReviewPart(),
    votes=VotesPart(),
    ratings=RatingsPart(),
    keys=KeysPart(),
    stats=StatsPart({"server_count": 10_000_000, "command_count": 1_000}),
    co_owners=CoOwnersPart(4),
    webhook=WebhookPart("bot", "{user} voted for the bot."),
    facts=FactsPart("application"),
)
