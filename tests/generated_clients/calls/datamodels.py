"""The calls of all generated clients, with httpx and the models of datamodel-code-generator."""

import httpx
from given import BASE, BOT, KEY, OPERATOR, UNKNOWN, USER, show
from votegate_models import (
    BotPage,
    DeliveryAnswer,
    NewTest,
    Refusal,
    Snowflake,
    StatsWithServerCount,
    Strike,
    StruckVotes,
    Success,
    VoteStatus,
)

bots = httpx.Client(base_url=BASE, headers={"Authorization": KEY})
operator = httpx.Client(base_url=BASE, headers={"Authorization": f"Bearer {OPERATOR}"})
given = f"/manage/bots/{BOT}"

counts = StatsWithServerCount(server_count=1200, command_count=42)
pushed = bots.patch(f"/bots/{BOT}/stats", json=counts.model_dump(mode="json", exclude_none=True))
checked = VoteStatus.model_validate_json(bots.get(f"/bots/{BOT}/voters/{USER}").content)
listed = BotPage.model_validate_json(operator.get("/manage/bots", params={"state": "approved"}).content)
tested = operator.post(f"{given}/webhook/test", json=NewTest().model_dump(mode="json"))
strike = Strike(reason="Accounts of one person.", users=[Snowflake(USER)], dry_run=True)
struck = operator.post(f"{given}/votes/strike", json=strike.model_dump(mode="json"))
unknown = Refusal.model_validate_json(operator.get(f"/manage/bots/{UNKNOWN}").content)
user = DeliveryAnswer.model_validate_json(tested.content).user
show(
    pushed=Success.model_validate_json(pushed.content).success,
    voted=checked.voted,
    votes=checked.vote,
    listed=[each.id for each in listed.bots],
    tested=None if user is None else user.root,
    struck=StruckVotes.model_validate_json(struck.content).votes,
    code=unknown.code,
)
