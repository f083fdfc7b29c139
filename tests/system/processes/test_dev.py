"""`votegate dev` over real sockets and a terminal: what it serves, prints, refuses, and leaves behind."""

import os
import pty
import re
import select
import shlex
import signal
import stat
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from cli.demo import BOT
from tests.support.dev_gateway import SOURCE_TREE, DevGateway, dev_command
from tests.support.gateways import OTHER_USER, USER, WAIT_SECONDS, eventually
from tests.support.webhook_receiver import Received, Receiver, receiving, status
from webhook.messages import signed_headers

TOLERANCE_SECONDS = 300
"""The time that receivers allow between their clock and that of a webhook."""
SETTINGS = {"VOTEGATE_SERVER__ADDRESS": "0.0.0.0", "VOTEGATE_LIMITS__STATS__REQUESTS": "1"}
"""Variables of a machine that also runs a gateway."""


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory, receiver: Receiver) -> Iterator[DevGateway]:
    """A gateway that many tests share. Each uses users of its own."""
    folder = tmp_path_factory.mktemp("dev")
    gateway = DevGateway(folder, "--webhook", f"{receiver.url}/votes", **SETTINGS).start()
    yield gateway
    gateway.close()


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevGateway]:
    """A gateway with the limits of production, an actual server count and a named folder, without a
    receiver."""
    options = ("--real-limits", "--servers", "3", "--data-dir", "data")
    gateway = DevGateway(tmp_path_factory.mktemp("strict"), *options).start()
    yield gateway
    gateway.close()


def refused(folder: Path, *options: str) -> str:
    """Return why a gateway for development does not start."""
    ended = subprocess.run(
        dev_command(*options), cwd=folder, capture_output=True, text=True, timeout=WAIT_SECONDS
    )
    assert (ended.returncode, ended.stdout) == (2, ""), ended
    return ended.stderr


def is_genuine(received: Received, secret: str) -> bool:
    """Return true if a receiver with a clock of its own accepts a webhook."""
    timestamp = int(received.headers["webhook-timestamp"])
    signed = signed_headers(received.headers["webhook-id"], timestamp, received.body, [secret])
    is_recent = abs(time.time() - timestamp) <= TOLERANCE_SECONDS
    return is_recent and received.headers["webhook-signature"] == signed["webhook-signature"]


# -- the demo bot --------------------------------------------------------------------------------------------


def test_the_demo_bot_is_in_an_env_file_for_its_user_alone(dev: DevGateway) -> None:
    path = dev.folder / ".env"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    env = dev.environment()
    assert (env["API"], env["BOT_ID"]) == (dev.base_url, BOT)
    assert dev.voted("100000000000000001") == {"voted": False, "vote": 0, "lastVote": None}


def test_every_server_count_is_accepted_unless_servers_are_given(dev: DevGateway, strict: DevGateway) -> None:
    for count in (3, 10_000_000):
        assert dev.stats(dev.key, {"server_count": count}, BOT).status_code == 200
    answer = strict.stats(strict.key, {"server_count": 3_000}, BOT)
    assert (answer.status_code, "which is 3." in answer.json()["error"]) == (400, True)
    assert strict.next("request")["code"] == "server_count_too_far_off"


def test_an_env_file_with_other_values_of_its_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("DISCORD_TOKEN=abc\nAPI_KEY=mine\n")
    assert "votegate dev --env-file votegate.env" in refused(tmp_path)
    assert path.read_text() == "DISCORD_TOKEN=abc\nAPI_KEY=mine\n"


# -- requests ------------------------------------------------------------------------------------------------


def test_each_request_is_printed_with_the_reason_of_its_refusal_and_the_place_in_the_guide(
    dev: DevGateway,
) -> None:
    path = f"/bots/{BOT}/stats"
    dev.stats(dev.key, {"command_count": 7}, BOT)
    told = dev.next("request", lambda each: each["status"] == 200 and each["path"] == path)
    assert (told["method"], told["limit"], told["error"]) == ("PATCH", 1_000, None)
    dev.stats(f"Bearer {dev.key}", {"command_count": 7}, BOT)
    told = dev.next("request", lambda each: each["status"] == 401)
    assert (told["code"], told["error"]) == ("key_with_scheme", "Invalid API key.")
    assert told["guide"] == f"{dev.base_url}/docs/bots#the-key"
    dev.stats(dev.key, {"command_count": "7"}, BOT)
    told = dev.next("request", lambda each: each["status"] == 400)
    assert (told["code"], told["sent"]) == ("command_count_out_of_range", '{"command_count": "7"}')
    dev.request("POST", path)
    assert dev.next("request", lambda each: each["status"] == 405)["code"] == "method_not_allowed"
    dev.request("GET", "/elsewhere")
    assert dev.next("request", lambda each: each["status"] == 404)["code"] == "no_such_path"
    assert b"HTTP/1.1 400" in dev.raw(b"GET / HTTP/1.1\r\nno field\r\n\r\n")
    assert dev.next("request", lambda each: each["method"] == "-")["status"] == 400


def test_the_limits_of_development_are_1000_each(dev: DevGateway) -> None:
    pushed = dev.stats(dev.key, {"command_count": 1}, BOT)
    asked = dev.voters(dev.key, BOT)
    failed = dev.voters("wrong", BOT)
    assert {each.headers["ratelimit-limit"] for each in (pushed, asked, failed)} == {"1000"}


def test_real_limits_are_those_of_production_and_24_hours_make_them_fresh(strict: DevGateway) -> None:
    pushes = [strict.stats(strict.key, {"command_count": each}, BOT) for each in range(3)]
    assert [each.status_code for each in pushes] == [200, 200, 429]
    told = strict.next("request", lambda each: each["status"] == 429)
    assert (told["code"], told["remaining"]) == ("too_many_requests", 0)
    assert told["retry_after"] == int(pushes[-1].headers["retry-after"]) > 7_000
    strict.press("c")
    assert strict.stats(strict.key, {"command_count": 3}, BOT).status_code == 200


def test_it_reads_no_setting_of_the_environment(dev: DevGateway) -> None:
    assert "VOTEGATE_LIMITS__STATS__REQUESTS" in SETTINGS
    assert dev.base_url.startswith("http://127.0.0.1:")
    assert dev.stats(dev.key, {"command_count": 1}, BOT).headers["ratelimit-limit"] == "1000"


@pytest.mark.parametrize(("plan", "its_status"), [("429", 429), ("500", 500)])
def test_f_makes_the_next_answer_to_the_bot_fail_and_no_other(
    dev: DevGateway, plan: str, its_status: int
) -> None:
    assert dev.press(f"f {plan}")["ok"]
    dev.request("GET", "/healthz")  # not the bot's
    failed, then = dev.voters(dev.key, BOT), dev.voters(dev.key, BOT)
    assert (failed.status_code, then.status_code) == (its_status, 200)
    assert {"ratelimit-limit", "ratelimit-reset"} <= failed.headers.keys()
    assert failed.headers.get("retry-after") == ("5" if plan == "429" else None)
    assert dev.next("request", lambda each: each["status"] == its_status)["by_key"]


def test_f_goes_through_its_answers(dev: DevGateway) -> None:
    said = [dev.press("f")["text"] for _ in range(4)]
    assert [re.sub(r"the next answer to your bot (is|takes) |,.*", "", each) for each in said] == [
        *("429", "500", "15 seconds", "as usual"),
    ]
    assert dev.press("f slow")["ok"]
    assert dev.press("f off")["ok"]
    assert not dev.press("f 418")["ok"]
    assert dev.voters(dev.key, BOT).status_code == 200


def test_a_slow_answer_is_too_slow_for_a_client_and_comes_all_the_same(dev: DevGateway) -> None:
    dev.press("f slow")
    with pytest.raises(requests.Timeout):
        requests.get(
            f"{dev.base_url}/bots/{BOT}/voters/{USER}", headers={"Authorization": dev.key}, timeout=0.5
        )
    assert "waits" in dev.next("command")["text"]


# -- votes and webhooks --------------------------------------------------------------------------------------


def test_v_is_a_vote_of_a_new_user_and_its_webhook_is_signed(dev: DevGateway, receiver: Receiver) -> None:
    receiver.received.clear()
    voted = dev.press("v")
    told = dev.next("delivery", lambda each: each["user"] == voted["user"])
    assert (told["status"], told["error"], told["test"]) == (204, None, False)
    assert dev.voted(voted["user"])["voted"]
    (received,) = receiver.received
    assert received.path == "/votes"
    assert is_genuine(received, dev.environment()["WEBHOOK_SECRET"])


def events(dev: DevGateway, *kinds: str) -> list[str]:
    """Return the happenings of these kinds that no call has taken, in their order."""
    return [each["event"] for each in dev.happened if each["event"] in kinds]


def test_t_sends_a_test_and_says_so_first(dev: DevGateway, receiver: Receiver) -> None:
    receiver.received.clear()
    dev.happened.clear()
    dev.send("t")
    eventually(lambda: len(events(dev, "command", "delivery")) == 2)
    assert events(dev, "command", "delivery") == ["command", "delivery"]
    user = dev.next("command")["user"]
    assert dev.next("delivery", lambda each: each["test"])["user"] == user
    assert receiver.received[0].body == b'{"user":"%b","test":true}' % user.encode()


def test_r_repeats_the_last_delivery_under_its_id(dev: DevGateway, receiver: Receiver) -> None:
    receiver.received.clear()
    dev.press("v")
    first = dev.next("delivery")
    dev.happened.clear()
    dev.send("r")
    eventually(lambda: len(events(dev, "command", "delivery")) == 2)
    assert events(dev, "command", "delivery") == ["command", "delivery"]
    again = dev.next("delivery")
    assert (again["id"], again["attempt"]) == (first["id"], 2)
    assert [each.headers["webhook-id"] for each in receiver.received] == [first["id"]] * 2


def test_a_suspended_endpoint_is_named_and_a_test_ends_the_suspension(
    dev: DevGateway, receiver: Receiver
) -> None:
    receiver.answers = [status(410)]
    dev.press("v")
    assert dev.next("paused")["retry_in"] > 0
    assert "suspended" in dev.press("v")["text"]
    dev.happened.clear()
    assert dev.press("t")["ok"]
    assert dev.next("delivery", lambda each: each["test"])["status"] == 204
    dev.next("delivery", lambda each: each["status"] == 204)
    assert "suspended" not in dev.press("v")["text"]


def test_c_moves_votes_24_hours_and_leaves_webhooks_in_the_present(
    dev: DevGateway, receiver: Receiver
) -> None:
    user = "100000000000000002"
    assert dev.press(f"v {user}")["ok"]
    assert not dev.press(f"v {user}")["ok"]
    assert "24 hours ahead" in dev.press("c")["text"]
    assert not dev.voted(user)["voted"]
    receiver.received.clear()
    assert dev.press(f"v {user}")["ok"]
    eventually(lambda: receiver.received)
    assert is_genuine(receiver.received[0], dev.environment()["WEBHOOK_SECRET"])
    assert dev.voted(user)["vote"] == 2


def test_c_breaks_no_timer(dev: DevGateway, receiver: Receiver) -> None:
    receiver.answers = [status(503)]
    user = dev.press("v")["user"]
    failed = dev.next("delivery", lambda each: each["user"] == user)
    assert (failed["error"], failed["retry_in"] in range(6)) == ("http_503", True)
    assert failed["guide"] == f"{dev.base_url}/docs/bots#webhooks-that-fail"
    dev.press("c")
    again = dev.next("delivery", lambda each: each["user"] == user)
    assert (again["attempt"], again["status"]) == (2, 204)


def test_a_delivery_to_nobody_says_what_to_do(strict: DevGateway) -> None:
    strict.press("v")
    told = strict.next("delivery")
    assert (told["error"], told["reason"]) == ("refused", "nothing listens on the port")
    assert "--webhook" in told["advice"]


def test_no_line_holds_the_key_or_the_secret(dev: DevGateway, receiver: Receiver) -> None:
    env = dev.environment()
    # The page for errors of a framework may show its environment.
    receiver.answers = [status(500, f"{env['API_KEY']} {env['WEBHOOK_SECRET']}".encode())]
    user = dev.press("v")["user"]
    told = dev.next("delivery", lambda each: each["user"] == user)
    assert told["answer"] == "[secret] [secret]"
    dev.request("GET", f"/bots/{env['API_KEY']}/stats?key={env['API_KEY']}")
    dev.stats(dev.key, {"server_count": env["API_KEY"]}, BOT)
    dev.next("request", lambda each: each["status"] == 400)
    printed = str(dev.happened)
    assert env["API_KEY"] not in printed
    assert env["WEBHOOK_SECRET"] not in printed


# -- refusals ------------------------------------------------------------------------------------------------


def test_it_refuses_an_address_beyond_loopback(tmp_path: Path) -> None:
    assert "--address 0.0.0.0 is not on loopback" in refused(tmp_path, "--address", "0.0.0.0")
    assert not (tmp_path / ".env").exists()


def test_an_env_file_that_cannot_be_written_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    missing = tmp_path / "missing" / ".env"
    assert f"{missing} cannot be written: No such file" in refused(tmp_path, "--env-file", str(missing))


def test_it_refuses_a_port_that_is_taken(tmp_path: Path, receiver: Receiver) -> None:
    assert "choose another port with --port" in refused(tmp_path, "--port", str(receiver.port))
    assert not (tmp_path / ".env").exists()


def test_it_refuses_a_data_folder_that_exists(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "kept").touch()
    assert f"{data} is there already" in refused(tmp_path, "--data-dir", str(data))
    assert (data / "kept").exists()


# -- the end -------------------------------------------------------------------------------------------------


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def test_its_data_are_deleted_after_a_signal(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in SIGNALS]
    for folder in folders:
        folder.mkdir()
    gateways = [DevGateway(folder) for folder in folders]
    for gateway, number in zip(gateways, SIGNALS, strict=True):
        assert [*gateway.start().temporary.iterdir()]
        assert gateway.end(number) == 0
        assert not [*gateway.temporary.iterdir()]


def test_without_a_standard_input_it_serves_and_stops(tmp_path: Path) -> None:
    without_input = ("/bin/sh", "-c", 'exec "$@" <&-', "sh")
    gateway = DevGateway(tmp_path, program=(*without_input, *SOURCE_TREE)).start()
    assert (gateway.end(), gateway.errors) == (0, "")


def test_a_named_data_folder_is_deleted_with_all_that_is_in_it(strict: DevGateway) -> None:
    data = strict.folder / "data"
    assert (data / "lock").exists()
    assert strict.end() == 0
    assert not data.exists()


def test_its_data_are_deleted_after_q_and_when_nobody_reads_any_more(tmp_path: Path) -> None:
    told = DevGateway(tmp_path).start()
    told.press("q")
    assert told.ended() == 0
    unread = subprocess.Popen(
        dev_command("--json"),
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert unread.stdin is not None
    assert unread.stdout is not None
    unread.stdout.readline()
    unread.stdout.close()
    unread.stdin.write(b"v\n")
    unread.stdin.flush()
    assert unread.wait(WAIT_SECONDS) == 0
    unread.stdin.close()
    assert unread.stderr is not None
    assert unread.stderr.read() == b""
    unread.stderr.close()
    assert not [*(tmp_path / "temporary").iterdir()]


def test_a_start_after_a_kill_deletes_the_data_that_were_left_and_keeps_the_key(tmp_path: Path) -> None:
    killed = DevGateway(tmp_path).start()
    before = killed.environment()
    (left,) = killed.temporary.iterdir()
    assert killed.end(signal.SIGKILL) == -signal.SIGKILL
    assert left.exists()
    first = DevGateway(tmp_path).start()
    second = DevGateway(tmp_path, "--env-file", "second.env").start()
    assert not left.exists()
    assert len([*first.temporary.iterdir()]) == 2  # those of both
    assert {**first.environment(), "API": ""} == {**before, "API": ""}
    assert first.voters(before["API_KEY"], BOT).status_code == 200
    assert second.environment("second.env")["API_KEY"] != before["API_KEY"]
    assert first.end() == second.end() == 0
    assert not [*first.temporary.iterdir()]


# -- a terminal ----------------------------------------------------------------------------------------------


class Terminal:
    """A terminal in which `votegate dev` runs, or another command."""

    def __init__(self, folder: Path, *command: str) -> None:
        self.shown = ""
        command = command or (*dev_command(),)
        pid, self.descriptor = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execve(command[0], command, {**os.environ, "TMPDIR": str(folder), "PS1": "$ "})
        self.pid = pid

    def reads(self, text: str) -> str:
        """Wait until the terminal shows a text, and return everything that it has shown."""

        def is_shown() -> bool:
            self.read_some()
            return text in self.shown

        eventually(is_shown)
        return self.shown

    def read_some(self) -> None:
        """Read what it shows, if it shows more within a moment."""
        if select.select([self.descriptor], [], [], 0.1)[0]:
            self.shown += os.read(self.descriptor, 65_536).decode()

    def press(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def status(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    terminal.reads("q quit")
    yield terminal
    os.close(terminal.descriptor)


def test_keys_of_a_terminal_need_no_enter_and_lines_fit_80_columns(
    terminal: Terminal, tmp_path: Path
) -> None:
    for key, answer in (
        ("v", "webhooks-that-fail"),
        ("f", "next answer"),
        ("c", "ahead"),
        ("?", "deletes its"),
    ):
        terminal.press(key)
        terminal.reads(answer)
    env = dict(
        line.split("=", 1)
        for line in (tmp_path / ".env").read_text().splitlines()
        if not line.startswith("#")
    )
    headers = {"Authorization": env["API_KEY"]}
    for path in (f"/bots/{BOT}/voters/{USER}", f"/bots/{BOT}/stats", f"/bots/{OTHER_USER}/voters/{USER}"):
        requests.get(env["API"] + path, headers=headers, timeout=WAIT_SECONDS)
    terminal.reads("404")
    terminal.press("q")
    terminal.reads("Its data is deleted.")
    assert terminal.status() == 0
    shown = re.sub(r"\x1b\[\d*m", "", terminal.shown)
    assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_a_terminal_is_afterwards_as_it_was_before(terminal: Terminal) -> None:
    local_modes = 3
    during = termios.tcgetattr(terminal.descriptor)[local_modes]
    assert not during & termios.ICANON
    assert during & termios.ISIG
    terminal.press("\x03")  # Ctrl-C
    terminal.reads("Its data is deleted.")
    assert termios.tcgetattr(terminal.descriptor)[local_modes] & termios.ICANON
    assert terminal.status() == 0


def test_keys_are_the_shells_while_it_has_the_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "/bin/bash", "--norc", "-i")
    terminal.press(f"{shlex.join(dev_command())}\n")
    terminal.reads("q quit")
    terminal.press("\x1a")  # Ctrl-Z
    terminal.reads("Stopped")
    terminal.press("bg\necho $((6 * 7))v\n")
    terminal.reads("42v")
    terminal.press("fg\n")

    def has_voted() -> bool:
        terminal.press("v")  # until the gateway has seen that it has the terminal
        terminal.read_some()
        return "has voted" in terminal.shown

    eventually(has_voted)
    terminal.press("q")
    terminal.reads("Its data is deleted.")
    terminal.press("exit\n")
    assert terminal.status() == 0


def test_the_data_are_deleted_when_the_terminal_is_closed(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.reads("q quit")
    (data,) = tmp_path.glob("votegate-dev-*")
    os.close(terminal.descriptor)
    assert terminal.status() == 0
    assert not data.exists()
