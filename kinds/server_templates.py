"""Templates: the channels and roles that a new server at the chat platform begins with."""

from typing import Annotated

from forms.fields import ABOUT_PROSE, TemplateCode, TemplateLink
from forms.rules import IN_PROSE, UNIQUE, About, Display, OneOf, Sample, Size
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
from kinds.shared_fields import Tags, TextLanguage, Title
from languages.texts import Text

PURPOSES = {
    "Chat": Text("Chat"),
    "Design": Text("Design"),
    "Music": Text("Music"),
    "Education": Text("Education"),
    "Gaming": Text("Gaming"),
    "Anime": Text("Anime"),
    "Tech": Text("Tech"),
    "Roleplay": Text("Roleplay"),
    "Event": Text("Event"),
    "Other": Text("Other"),
}


class TemplateProfile(Profile, frozen=True, gc=False, tag="template"):
    """A template's profile, written by its owner."""

    name: Annotated[Title, Sample("Example template")]
    description: Annotated[
        str,
        Size(32, 256),
        About(ABOUT_PROSE),
        IN_PROSE,
        Sample("A server for a group that plays every week. Ready in one press."),
        Display(Text("Description"), "text", Text("32 to 256 characters."), finds="word"),
    ]
    categories: Annotated[
        tuple[Annotated[str, OneOf(PURPOSES)], ...],
        Size(1, 3),
        UNIQUE,
        Sample(("Gaming", "Event")),
        Display(Text("Categories"), "choices", Text("1 to 3."), finds="category"),
    ]
    tags: Annotated[Tags, Sample(("friends", "small"))] = ()
    text_language: TextLanguage = ""


TEMPLATES = Kind(
    plural="templates",
    singular="template",
    nouns=Nouns(
        one=Text("Template"),
        many=Text("Templates"),
        popular=Text("Popular templates"),
        trending=Text("Trending templates"),
        newest=Text("New templates"),
        random=Text("Random template"),
        search=Text("Search the templates"),
        remove=Text("Remove this template"),
        submit=Text("List your template"),
        submit_one=Text("List a template"),
    ),
    profile=TemplateProfile,
    id=Given(
        Text("Template link"),
        Text("The link or code of the template, such as https://discord.new/hgM48av5Q69A."),
        TemplateCode,
        sample="hgM48av5Q69A",
        asked=TemplateLink,
    ),
    review=ReviewPart(),
    votes=VotesPart(),
    ratings=RatingsPart(),
    webhook=WebhookPart("template", "{user} voted for the template."),
    facts=FactsPart("template"),
    checks=ChecksPart(("exists",)),
)
