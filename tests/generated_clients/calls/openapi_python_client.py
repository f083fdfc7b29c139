"""The calls of all generated clients, with the functions of openapi-python-client."""

from given import BASE, BOT, KEY, OPERATOR, UNKNOWN, USER, show
from votegate_management import AuthenticatedClient
from votegate_management.api.listings import list_bots, show_bot
from votegate_management.api.public import check_vote, update_stats
from votegate_management.api.votes import strike_bot_votes
from votegate_management.api.webhooks import test_bot_webhook
from votegate_management.models import (
    BotPage,
    DeliveryAnswer,
    ListingState,
    NewTest,
    Refusal,
    StatsWithServerCount,
    Strike,
    StruckVotes,
    Success,
    VoteStatus,
)

bots = AuthenticatedClient(base_url=BASE, token=KEY, prefix="")
operator = AuthenticatedClient(base_url=BASE, token=OPERATOR)

pushed = update_stats.sync(BOT, client=bots, body=StatsWithServerCount(server_count=1200, command_count=42))
checked = check_vote.sync(BOT, USER, client=bots)
listed = list_bots.sync(client=operator, state=ListingState.APPROVED)
tested = test_bot_webhook.sync(BOT, client=operator, body=NewTest())
strike = Strike(reason="Accounts of one person.", users=[USER], dry_run=True)
struck = strike_bot_votes.sync(BOT, client=operator, body=strike)
unknown = show_bot.sync(UNKNOWN, client=operator)
show(
    pushed=pushed.success if isinstance(pushed, Success) else None,
    voted=checked.voted if isinstance(checked, VoteStatus) else None,
    votes=checked.vote if isinstance(checked, VoteStatus) else None,
    listed=[each.id for each in listed.bots] if isinstance(listed, BotPage) else None,
    tested=tested.user if isinstance(tested, DeliveryAnswer) else None,
    struck=struck.votes if isinstance(struck, StruckVotes) else None,
    code=unknown.code if isinstance(unknown, Refusal) else None,
)
