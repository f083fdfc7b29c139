"""A gateway that is killed keeps every review, answer and removal that it has confirmed."""

from pathlib import Path
from random import Random

from tests.support.gateways import BOT, OPERATOR_TOKEN, Client
from tests.support.killable_gateway import KillableGateway

RATINGS = f"/manage/bots/{BOT}/ratings"
USERS = [str(500000000000000000 + number) for number in range(6)]
ROUNDS = 6


def test_after_a_kill_the_reviews_are_those_that_were_confirmed(tmp_path: Path) -> None:
    lot, gateway, client = Random(7), KillableGateway(tmp_path / "data"), Client()
    client.operator_token = OPERATOR_TOKEN
    confirmed: object = None
    for number in range(ROUNDS):
        gateway.launch()
        client.base_url = gateway.served() or ""
        if not number:
            client.list_bot(BOT)
            for user in USERS:
                client.done("POST", f"/manage/bots/{BOT}/votes", {"user": user})
        else:
            assert client.done("GET", RATINGS) == confirmed
            assert client.done("POST", "/debug/verify")["equal"] is True
        for _ in range(20):
            _change(client, lot)
            if lot.random() < 0.1:
                client.done("POST", "/debug/snapshot")
        confirmed = client.done("GET", RATINGS)
        client.session.close()
        gateway.kill()


def _change(client: Client, lot: Random) -> None:
    """Do something with the review of a user; a refusal of it is an answer, too."""
    mine = f"{RATINGS}/{lot.choice(USERS)}"
    match lot.randrange(6):
        case 0 | 1 | 2:
            body = {"stars": lot.randint(1, 5), "text": f"It is the number {lot.random()}."}
            answer = client.operate("PUT", mine, body)
        case 3:
            answer = client.operate("PUT", f"{mine}/answer", {"text": f"Thanks, {lot.random()}"})
        case 4:
            answer = client.operate("DELETE", mine)
        case _:
            answer = client.operate("POST", f"{mine}/remove", {"reason": "It insults."})
    assert answer.status_code in {200, 403, 404}, answer.text
