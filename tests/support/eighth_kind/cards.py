"""Cards: what users say of themselves. A user has one, everybody sees it at once, and it has API keys."""

from typing import Annotated

from forms.fields import Name
from forms.rules import IN_TEXT, Display, Sample, Size
from kinds.kind import KeysPart, Kind, Nouns, OfUser, Profile
from languages.texts import Text


class CardProfile(Profile, frozen=True, gc=False, tag="card"):
    """A user's card."""

    name: Annotated[Name, Sample("Ada"), Display(Text("Name"), finds="title")]
    motto: Annotated[
        str, Size(0, 100), IN_TEXT, Sample("Onwards"), Display(Text("Motto"), "text", is_markdown=True)
    ]


CARDS = Kind(
    plural="cards",
    singular="card",
    nouns=Nouns(
        one=Text("Card"),
        many=Text("Cards"),
        popular=Text("Popular cards"),
        trending=Text("Trending cards"),
        random=Text("Random cards"),
        newest=Text("New cards"),
        search=Text("Search the cards"),
        remove=Text("Remove this card"),
        submit=Text("Make your card"),
        submit_one=Text("Make a card"),
    ),
    profile=CardProfile,
    id=OfUser(Text("Your card")),
    keys=KeysPart(),
)
