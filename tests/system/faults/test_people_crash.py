"""A gateway that is killed forgets nothing that it has answered to people.

Invariant: a step is done whole, or not at all.

An owner signs in and submits, a moderator claims, notes, denies and approves, the owner sends again and signs
out. The gateway is killed after each answer, and at each step of its journal, and started again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.examples import ALL_EXAMPLES
from tests.support.failing_disk import Action, Fault, Moment, Point
from tests.support.gateways import OPERATOR_TOKEN, Client
from tests.support.killable_gateway import KillableGateway
from tests.support.owned_listings import TYPED
from tests.support.people_gateway import Person, site_settings
from tests.support.platform_stand_in import ADA, CLEO, READY, StandIn, decided_at, standing_in

HOME = "http://127.0.0.1:1"
"""Where browsers reach the site: nothing in these tests goes there but the platform's redirect."""
BOT, REVIEW_PAGE = f"/bots/{READY}/manage", f"/review/bots/{READY}"
SHOWN = (
    *(f"/manage/bots/{READY}{part}" for part in ("", "/history", "/notes")),
    *(f"/manage/users/{user}{part}" for user in (ADA, CLEO) for part in ("", "/sessions")),
    "/manage/queue",
)
MOST_WRITES = 40
"""A journal that takes more writes for a start and the walk is another one than this."""
STRIDE = 1 if ALL_EXAMPLES else 2
"""`make test-long` kills at every write."""


class Walk(Client):
    """An owner and a moderator, whose browsers outlive every process of the gateway."""

    def __init__(self) -> None:
        super().__init__()
        self.operator_token = OPERATOR_TOKEN
        self.ada, self.cleo = Person(self), Person(self)
        self.at_platform = ""

    def serve(self, gateway: KillableGateway, *plan: Fault) -> bool:
        """Start the gateway; return false if it was killed before it served."""
        gateway.launch(*plan)
        base_url = gateway.served()
        self.base_url = base_url or ""
        return base_url is not None

    def kill(self, gateway: KillableGateway) -> None:
        self.session.close()
        gateway.kill()

    def picture(self) -> Mapping[str, Any]:
        """All that can be seen of the walk."""
        shown: dict[str, Any] = {path: self.operate("GET", path).json() for path in SHOWN}
        known = {person: person.get("/me").status_code for person in (self.ada, self.cleo)}
        return {**shown, "known": [*known.values()]}

    def assert_folds(self) -> None:
        """Assert that the disk folds to the live state."""
        assert self.done("POST", "/debug/verify")["equal"] is True

    # -- The steps ----------------------------------------------------------------------------------------

    def begin(self) -> None:
        self.at_platform = self.ada.started("/me")

    def come_back(self) -> None:
        taken(self.ada.come_back(decided_at(self.at_platform, ADA)))

    def moderate(self) -> None:
        taken(self.cleo.sign_in_as(CLEO))

    def submit(self) -> None:
        taken(self.ada.post("/bots/new", TYPED))

    def claim(self) -> None:
        taken(self.cleo.post(f"{REVIEW_PAGE}/claim"))

    def note(self) -> None:
        taken(self.cleo.post(f"{REVIEW_PAGE}/notes", {"note": "The invite works."}))

    def deny(self) -> None:
        taken(self.cleo.post(f"{REVIEW_PAGE}/deny", {**self.seen(), "words": "It is too loud"}))

    def send_again(self) -> None:
        taken(self.ada.post(f"{BOT}/profile", {**TYPED, "name": "Whisper"}))

    def approve(self) -> None:
        taken(self.cleo.post(f"{REVIEW_PAGE}/approve", {**self.seen(), "confirmed": "yes"}))

    def change(self) -> None:
        taken(self.ada.post(f"{BOT}/profile", {**TYPED, "name": "Free Nitro"}))

    def refuse(self) -> None:
        version = self.done("GET", f"/manage/bots/{READY}")["change"]["version"]
        taken(self.cleo.post(f"{REVIEW_PAGE}/refuse", {"seen": version, "words": "It is spam"}))

    def sign_out(self) -> None:
        taken(self.ada.post("/signout"))

    def seen(self) -> dict[str, str]:
        return {"seen": str(self.done("GET", f"/manage/bots/{READY}")["updated_at"])}


def taken(answer: requests.Response) -> None:
    assert answer.status_code == 303, answer.text


STEPS: Sequence[Callable[[Walk], None]] = (
    *(Walk.begin, Walk.come_back, Walk.moderate, Walk.submit, Walk.claim, Walk.note),
    *(Walk.deny, Walk.send_again, Walk.approve),
    *(Walk.change, Walk.refuse, Walk.sign_out),
)


def timeless(shown: Any) -> Any:
    """The same without times and random ids, which differ from walk to walk."""
    if isinstance(shown, Mapping):
        return {name: timeless(value) for name, value in shown.items() if name != "id" or value == READY}
    if isinstance(shown, list):
        return [timeless(each) for each in shown]
    return "a time" if isinstance(shown, int) and shown > 1_000_000_000_000 else shown


@pytest.fixture(scope="module")
def stand_in() -> Iterator[StandIn]:
    with standing_in(f"{HOME}/signin/callback") as stand_in:
        yield stand_in


def test_after_every_answer_a_kill_leaves_all_that_was_answered(tmp_path: Path, stand_in: StandIn) -> None:
    gateway, walk = KillableGateway(tmp_path / "data", **site_settings(HOME, stand_in)), Walk()
    assert walk.serve(gateway)
    try:
        for step in STEPS:
            step(walk)
            before = walk.picture()
            walk.kill(gateway)
            assert walk.serve(gateway)
            assert walk.picture() == before, step.__name__
        walk.assert_folds()
    finally:
        walk.kill(gateway)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, stand_in: StandIn) -> Sequence[Any]:
    """The pictures before the first step of a walk that nothing disturbs, and after each step."""
    folder = tmp_path_factory.mktemp("undisturbed") / "data"
    gateway, walk = KillableGateway(folder, **site_settings(HOME, stand_in)), Walk()
    assert walk.serve(gateway)
    found = [timeless(walk.picture())]
    for step in STEPS:
        step(walk)
        found.append(timeless(walk.picture()))
    walk.kill(gateway)
    return found


@pytest.mark.parametrize(
    ("point", "moment"), [(Point.JOURNAL_WRITE, Moment.BEFORE), (Point.JOURNAL_SYNC, Moment.AFTER)]
)
def test_a_step_during_which_the_gateway_is_killed_is_done_whole_or_not_at_all(
    tmp_path: Path, stand_in: StandIn, pictures: Sequence[Any], point: Point, moment: Moment
) -> None:
    half_answered = set[bool]()
    for nth in range(1, MOST_WRITES, STRIDE):
        gateway = KillableGateway(tmp_path / str(nth), **site_settings(HOME, stand_in))
        walk, answered = Walk(), 0
        try:
            if walk.serve(gateway, Fault(point, Action.KILL, moment, nth)):
                for step in STEPS:
                    step(walk)
                    answered += 1
                break  # all writes were made
        except requests.ConnectionError:
            pass
        finally:
            walk.kill(gateway)
        assert walk.serve(gateway)
        found = timeless(walk.picture())
        walk.assert_folds()
        walk.kill(gateway)
        # The browser of a sign-in that was cut off has no session yet: what is known differs by that alone.
        allowed = pictures[answered : answered + 2]
        assert {**found, "known": 0} in [{**each, "known": 0} for each in allowed], (nth, answered)
        half_answered.add({**found, "known": 0} != {**allowed[0], "known": 0})
    else:
        pytest.fail("the gateway was killed at every write")
    assert half_answered == ({False} if moment is Moment.BEFORE else {False, True})
