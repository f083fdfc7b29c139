"""Servers: communities at the chat platform."""

from typing import Annotated

from forms.fields import ABOUT_LINE, Invite
from forms.rules import ON_ONE_LINE, UNIQUE, About, Display, OneOf, Sample, Size
from kinds.kind import (
    ChecksPart,
    FactsPart,
    Given,
    Kind,
    Nouns,
    Profile,
    RatingsPart,
    ReviewPart,
    VotesPart,
    WebhookPart,
)
from kinds.shared_fields import Banner, Screenshots, Summary, TextLanguage, Title
from languages.texts import Text

TOPICS = {
    "Gaming": Text("Gaming"),
    "Anime": Text("Anime"),
    "Public": Text("Public"),
    "Community": Text("Community"),
    "Music": Text("Music"),
    "Art": Text("Art"),
    "Programming": Text("Programming"),
    "Science": Text("Science"),
    "Technology": Text("Technology"),
    "Education": Text("Education"),
    "Language": Text("Language"),
    "Other": Text("Other"),
}


class ServerProfile(Profile, frozen=True, gc=False, tag="server"):
    """A server's profile, written by its owner."""

    name: Annotated[Title, Sample("Example server")]
    description: Annotated[Summary, Sample("A place to talk about bots")]
    keywords: Annotated[
        tuple[Annotated[str, Size(1, 32), About(ABOUT_LINE), ON_ONE_LINE], ...],
        Size(0, 5),
        UNIQUE,
        Sample(("bots", "talk")),
        Display(
            Text("Keywords"),
            "lines",
            Text("Up to 5, one per line, each up to 32 characters. Optional."),
            rows=5,
            finds="keyword",
        ),
    ]
    category: Annotated[
        str, OneOf(TOPICS), Sample("Community"), Display(Text("Category"), "choice", finds="category")
    ]
    invite: Annotated[
        Invite | None,
        Sample("abc123"),
        Display(
            Text("Invite link"),
            "invite",
            Text("The address or code of an invite that never expires, so that visitors can join. Optional."),
            public="invite_url",
        ),
    ] = None
    banner: Banner = None
    screenshots: Screenshots = ()
    text_language: TextLanguage = ""


SERVERS = Kind(
    plural="servers",
    singular="server",
    nouns=Nouns(
        one=Text("Server"),
        many=Text("Servers"),
        popular=Text("Popular servers"),
        trending=Text("Trending servers"),
        newest=Text("New servers"),
        random=Text("Random server"),
        search=Text("Search the servers"),
        remove=Text("Remove this server"),
        submit=Text("List your server"),
        submit_one=Text("List a server"),
    ),
    profile=ServerProfile,
    id=Given(sample="423456789012345678"),
    review=ReviewPart(),
    votes=VotesPart(),
    ratings=RatingsPart(),
    webhook=WebhookPart("guild", "{user} voted for the server."),
    facts=FactsPart("server"),
    checks=ChecksPart(("members", "age", "icon", "two_factor", "community", "nsfw"), come_first=True),
)
