"""Listings that people own, and visitors who may not open their pages."""

from functools import partial

from core.actors import OPERATOR
from people.quarantine import impose
from tests.support.co_owners import let_join
from tests.support.gateways import BOT, BOT_SUBMISSION, SERVER, SERVER_SUBMISSION
from tests.support.made_listings import MADE_IDS, list_made
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN
from web.pages import PageRow

NO_ID = "0" * 24
IDLE_SECONDS = 14 * 86_400
KEYS, WEBHOOK = f"/bots/{BOT}/manage/keys", f"/bots/{BOT}/manage/webhook"
OF_SERVER = f"/servers/{SERVER}/manage/webhook"


def own_bot(gateway: PeopleGateway, *, approved: bool = True) -> None:
    """Let Ada own a bot, together with Dan."""
    gateway.operate("DELETE", f"/manage/bots/{BOT}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA})
    let_join(gateway, BOT, DAN)
    if approved:
        gateway.done("POST", f"/manage/bots/{BOT}/approve", {})


def own_server(gateway: PeopleGateway) -> None:
    """Let Ada own a server."""
    gateway.operate("DELETE", f"/manage/servers/{SERVER}")
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "owner_id": ADA})
    gateway.done("POST", f"/manage/servers/{SERVER}/approve", {})


def path_of(row: PageRow) -> str:
    listing = {"bots": BOT, **MADE_IDS}.get(row.path.split("/")[1], SERVER)
    return row.path.format(id=listing, key_id=NO_ID, delivery_id=NO_ID)


def named(row: PageRow) -> str:
    return f"{row.method} {row.path}"


def statuses(row: PageRow, visitors: dict[str, Person]) -> dict[str, int]:
    """The status of the page for each visitor."""
    return {name: each.request(row.method, path_of(row)).status_code for name, each in visitors.items()}


def stranger_status(path: str) -> int:
    """Return the status of a page for a stranger: pages lead to the sign-in, JSON is refused."""
    return 401 if path.endswith(".json") else 303


def refusals(row: PageRow) -> dict[str, int]:
    """The status of an owner's page for everybody of `not_allowed`."""
    strangers = ("signed out", "the operator", "idle", "quarantined")
    return {**dict.fromkeys(strangers, stranger_status(row.path)), "of another": 404, "moderator": 403}


def not_allowed(gateway: PeopleGateway) -> dict[str, Person]:
    """Return the visitors who may not see a page of an owner, by their names in `refusals`."""
    list_made(gateway, ADA)
    idle = gateway.person(ADA)
    gateway.clock.advance(IDLE_SECONDS)
    operator = gateway.person(None)
    operator.sign_in()
    quarantined = gateway.person(DAN)
    ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
    events = impose(ledger.state, DAN, "sign_in", "Too loud.", now_ms + 1_000, now_ms, by=OPERATOR)
    gateway.on_loop(partial(ledger.commit, events))
    gateway.clock.advance(1)
    return {
        "signed out": gateway.person(None),
        "the operator": operator,
        "idle": idle,
        "quarantined": quarantined,
        "of another": gateway.person(BEN),
        "moderator": gateway.person(CLEO),
    }
