"""The words of pages about votes, and about likes. Invariant: no page chooses between the two words."""

from collections.abc import Mapping
from dataclasses import dataclass

from kinds.kind import Tally
from languages.texts import Text


@dataclass(frozen=True)
class TallyWords:
    """The texts of pages that count votes, or likes.

    Args:
        many: the name of the counts.
        one_user: the heading of a column with users who gave them.
        users: the number of users who gave them, as a heading.
        ids: the field with the ids of such users.
        nobody: the text while there are none.
        days: the content of the chart of the last days.
        begins: the advice to the owner of a listing without any.
        waits: the same, for a listing that is not public.
        hours: the hours that the chart of hours counts.
        all_of: the users of a removal, by their ids.
        all_within: the users of a removal, by time.
    """

    many: Text
    one_user: Text
    users: Text
    ids: Text
    this_month: Text
    none_this_month: Text
    of_all_time: Text
    per_day: Text
    per_day_lately: Text
    per_month: Text
    nobody: Text
    days: Text
    begins: Text
    waits: Text
    hours: Text
    remove: Text
    all_of: Text
    all_within: Text
    sure: Text
    ranked_now: Text
    ranked: Text
    nobody_in_month: Text
    first_in_month: Text
    page_goes: Text
    removed: Text
    bring: Text


TALLY_WORDS: Mapping[Tally, TallyWords] = {
    "votes": TallyWords(
        many=Text("Votes"),
        one_user=Text("Voter"),
        users=Text("Voters"),
        ids=Text("IDs of voters"),
        this_month=Text("Votes this month"),
        none_this_month=Text("no votes this month"),
        of_all_time=Text("Votes of all time"),
        per_day=Text("Votes per day"),
        per_day_lately=Text("Votes per day in the last 30 days"),
        per_month=Text("Votes per month"),
        nobody=Text("Nobody has voted yet"),
        days=Text("The votes of the last 30 days appear here."),
        begins=Text("Votes will show up here"),
        waits=Text("People can vote once a moderator has approved it."),
        hours=Text("UTC, the latest vote of each voter"),
        remove=Text("Remove votes"),
        all_of=Text(
            "All votes of these users for the listing, with those of the users ticked above. Write spaces "
            "or lines between the ids."
        ),
        all_within=Text("Or the votes of all who voted last within a time:"),
        sure=Text("Remove these votes?"),
        ranked_now=Text("Ranked by the votes of this month so far."),
        ranked=Text("Ranked by the votes of that month."),
        nobody_in_month=Text("Nobody has voted in this month"),
        first_in_month=Text("The first vote begins the ranking."),
        page_goes=Text("its page and all its votes"),
        removed=Text("votes removed"),
        bring=Text("Votes are counted by day, month and hour. Send your users to the vote page to begin."),
    ),
    "likes": TallyWords(
        many=Text("Likes"),
        one_user=Text("User"),
        users=Text("Users who like it"),
        ids=Text("IDs of users"),
        this_month=Text("Likes this month"),
        none_this_month=Text("no likes this month"),
        of_all_time=Text("Likes of all time"),
        per_day=Text("Likes per day"),
        per_day_lately=Text("Likes per day in the last 30 days"),
        per_month=Text("Likes per month"),
        nobody=Text("Nobody likes it yet"),
        days=Text("The likes of the last 30 days appear here."),
        begins=Text("Likes will show up here"),
        waits=Text("People can like it once a moderator has approved it."),
        hours=Text("UTC, the time of each like"),
        remove=Text("Remove likes"),
        all_of=Text("The likes of these users for the listing. Write spaces or lines between the ids."),
        all_within=Text("Or all likes that were given within a time:"),
        sure=Text("Remove these likes?"),
        ranked_now=Text("Ranked by the likes of this month so far."),
        ranked=Text("Ranked by the likes of that month."),
        nobody_in_month=Text("No likes this month"),
        first_in_month=Text("The first like begins the ranking."),
        page_goes=Text("its page and all its likes"),
        removed=Text("likes removed"),
        bring=Text("Likes are counted by day, month and hour. Share the address of its page to begin."),
    ),
}
