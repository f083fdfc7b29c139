"""gateway/start_check.py: it reports everything wrong at once, and changes nothing."""

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway import start_check
from gateway.start_check import Findings, start_findings
from server import cli
from settings.model import load_settings
from storage.folder import DIGEST_SECRET, KEYS, OPERATOR_TOKEN, keep_keys
from storage.sealing import Keyring, new_key
from tests.support.certificate_authority import trusted
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.forked_gateway import ended
from tests.support.gateways import ProcessGateway
from tests.support.mail_receiver import HOST, USERNAME, receiving_mail
from tests.support.mail_receiver import PASSWORD as MAIL_PASSWORD
from tests.support.name_server import naming
from tests.support.proxy_servers import Proxy, SocksProxy, proxying
from tests.support.redis_server import RedisServer

PASSWORD = "password-of-the-proxy"


async def found(folder: Path, **settings: object) -> Findings:
    """Return the findings about these settings, with a name server that answers unless they name another."""
    async with naming("NXDOMAIN") as names:
        usual = {"data_dir": folder, "server.port": 0, "webhooks.name_servers": names.address}
        loaded = load_settings(None, {}, {**usual, **settings})
        return await start_findings(loaded, {}, FakeClock().now_ms())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that a gateway may use."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


def mistake(folder: Path, **settings: object) -> str:
    """Return the only mistake, of findings without a warning."""
    mistakes, warnings = run(found(folder, **settings))
    assert warnings == []
    (only,) = mistakes
    return only


def warning(folder: Path, **settings: object) -> str:
    mistakes, warnings = run(found(folder, **settings))
    assert mistakes == []
    (only,) = warnings
    return only


@contextmanager
def listening() -> Iterator[int]:
    """A port on which somebody listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with listening() as port:
        return port


# -- the data folder -----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["data", "new", "new/and/deeper"])
def test_nothing_is_wrong_with_a_folder_that_is_there_or_can_be_made(
    folder: Path, tmp_path: Path, place: str
) -> None:
    assert run(found(tmp_path / place)) == Findings([], [])
    assert [*tmp_path.rglob("*")] == [folder], "nothing is made"


def test_a_folder_that_others_may_write_is_a_mistake(folder: Path) -> None:
    folder.chmod(0o777)
    assert "fix it with: chmod go-w" in mistake(folder)


def test_a_file_in_the_place_of_the_folder_or_above_it_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert mistake(tmp_path / "file").startswith(f"data_dir: {tmp_path / 'file'}: it is not a folder")
    assert mistake(tmp_path / "file/data").startswith(f"data_dir: {tmp_path / 'file'}: it is not a folder")


def test_a_folder_that_cannot_be_written_is_a_mistake(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    assert mistake(folder) == (
        f"data_dir: {folder}: this user may not use it; give it the right to, or choose another folder"
    )


@pytest.mark.parametrize("path", ["/proc/x", "/proc/self", "/sys/x/y"])
def test_a_folder_where_no_files_are_kept_is_a_mistake(path: str) -> None:
    assert mistake(Path(path)) == (
        f"data_dir: {path}: its file system stores no files, like /proc and /sys; choose another folder"
    )


def test_foreign_files_are_a_mistake(folder: Path) -> None:
    (folder / "photo.jpg").touch()
    assert "photo.jpg is not a file of Votegate's" in mistake(folder)


@pytest.mark.parametrize("name", [KEYS, DIGEST_SECRET, OPERATOR_TOKEN])
def test_a_damaged_secret_is_a_mistake_and_not_shown(folder: Path, name: str) -> None:
    path = folder / name
    path.touch(mode=0o600)
    path.write_text("damaged")
    told = mistake(folder)
    assert name in told
    assert "restore" in told or "base64" in told
    assert mistake(folder).count("damaged") <= 1
    settings = {
        KEYS: {"sealing.keys": Keyring([new_key()]).to_text()},
        DIGEST_SECRET: {"keys.digest_secret": "d" * 40},
        OPERATOR_TOKEN: {"operator.token": "t" * 40},
    }
    assert run(found(folder, **settings[name])) == Findings([], []), "that of the settings is used"


def test_data_without_their_key_are_a_mistake(folder: Path) -> None:
    keep_keys(folder, Keyring([new_key()]))
    (folder / f"journal-{1:020}").touch()
    assert run(found(folder)) == Findings([], [])
    (folder / KEYS).unlink()
    assert "is missing, and the data cannot be read without it" in mistake(folder)


def test_a_gateway_that_runs_there_is_a_warning_and_so_is_its_address(process: ProcessGateway) -> None:
    process.start()
    port = process.base_url.rpartition(":")[2]
    mistakes, warnings = run(found(process.folder, **{"server.port": int(port)}))
    assert mistakes == []
    runs, busy = warnings
    pid = process.process.pid
    assert runs.startswith(f"data_dir: a gateway runs on {process.folder} (pid {pid})")
    assert busy.startswith("server.address: cannot listen on 127.0.0.1 port ")
    assert busy.endswith("is it that gateway?")
    assert process.request("GET", "/readyz").status_code == 200


# -- addresses -----------------------------------------------------------------------------------------


def test_an_address_that_somebody_has_is_a_mistake(folder: Path) -> None:
    with listening() as port:
        assert mistake(folder, **{"server.port": port}) == (
            f"server.address: cannot listen on 127.0.0.1 port {port}: Address already in use"
        )


def test_the_address_of_the_metrics_is_tried_too(folder: Path) -> None:
    with listening() as port:
        told = mistake(folder, **{"metrics.address": "127.0.0.1", "metrics.port": port})
    assert told.startswith(f"metrics.address: cannot listen on 127.0.0.1 port {port}: ")


def test_a_unix_socket_is_tried_and_left_as_it_is(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "votegate.sock"
    setting = {"server.unix_socket": path}
    assert run(found(folder, **setting)) == Findings([], [])
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        assert mistake(folder, **setting) == (f"server.unix_socket: {path}: another process listens there")
    assert run(found(folder, **setting)) == Findings([], []), "its process is gone"
    assert path.exists()
    path.unlink()
    path.touch()
    assert "a file that is no socket" in mistake(folder, **setting)
    assert "is no folder" in mistake(folder, **{"server.unix_socket": tmp_path / "none/votegate.sock"})


# -- services ------------------------------------------------------------------------------------------


def test_a_redis_that_does_not_answer_is_a_warning_without_its_password(
    folder: Path, closed_port: int
) -> None:
    url = f"redis://user:{PASSWORD}@127.0.0.1:{closed_port}"
    told = warning(folder, **{"redis.url": url, "redis.node": "a"})
    assert told.startswith("redis.url: Redis does not answer: ConnectionError")
    assert PASSWORD not in told


def test_a_redis_that_answers_is_fine_and_one_that_hangs_is_not_waited_for(
    folder: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = {"redis.url": redis_server.url, "redis.node": "a"}
    assert run(found(folder, **setting)) == Findings([], [])
    monkeypatch.setattr(start_check, "PROBE_SECONDS", 0.2)
    redis_server.freeze()
    try:
        assert warning(folder, **setting) == "redis.url: Redis does not answer in time"
    finally:
        redis_server.thaw()


@pytest.mark.parametrize("kind", [Proxy, SocksProxy])
def test_a_proxy_is_asked_for_an_answer_and_for_its_password(folder: Path, kind: type[Proxy]) -> None:
    async def main() -> list[Findings]:
        answers = []
        for locked, user in ((False, ""), (True, f"stranger:{PASSWORD}@")):
            async with proxying(kind(locked=locked), credentials=user) as proxy:
                answers.append(await found(folder, **{"webhooks.proxy": proxy.url}))
        return answers

    open_one, locked_one = run(main())
    assert open_one == Findings([], [])
    (told,) = locked_one.warnings
    assert told.startswith("webhooks.proxy: 127.0.0.1 port ")
    assert told.endswith(" refuses the user or the password")


def test_a_mail_server_is_asked_for_its_certificate_and_for_a_sign_in(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trusted(tmp_path, monkeypatch)
    with receiving_mail(starttls=authority.server(HOST), asks_sign_in=True) as receiver:
        site: dict[str, object] = {"web.public_url": "https://bots.example", "web.keep_email": True}
        site |= {"chat_platform.client_id": "9" * 18, "chat_platform.client_secret": "x"}
        given = {**site, "mail.host": HOST, "mail.port": receiver.port, "mail.from_address": "a@bots.example"}
        known = {"mail.username": USERNAME, "mail.password": MAIL_PASSWORD}
        assert run(found(folder, **given, **known)) == Findings([], [])
        told = warning(folder, **given, **{**known, "mail.password": "another"})
        assert told == f"mail.host: {HOST} port {receiver.port} takes no mails now: sign_in_refused"
    assert receiver.mails == []


def test_a_proxy_that_is_not_there_or_says_nothing_is_a_warning(folder: Path, closed_port: int) -> None:
    told = warning(folder, **{"webhooks.proxy": f"http://127.0.0.1:{closed_port}"})
    assert told.startswith(f"webhooks.proxy: 127.0.0.1 port {closed_port} cannot be reached: ")
    with listening() as port:
        told = warning(folder, **{"webhooks.proxy": f"http://127.0.0.1:{port}"})
    assert told == f"webhooks.proxy: 127.0.0.1 port {port} does not answer in time"


def test_each_name_server_that_says_nothing_is_a_warning(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_check, "PROBE_SECONDS", 0.2)

    async def main() -> tuple[Findings, str]:
        async with naming(None) as silent, naming("REFUSED") as refusing, naming(["192.0.2.1"]) as kind:
            servers = ",".join(each.address for each in (silent, refusing, kind))
            return await found(folder, **{"webhooks.name_servers": servers}), silent.address

    findings, silent = run(main())
    assert findings == Findings([], [f"webhooks.name_servers: {silent} does not answer in time"])


# -- people ------------------------------------------------------------------------------------------------

SITE = {
    "CHAT_PLATFORM__CLIENT_ID": "900000000000000001",
    "CHAT_PLATFORM__CLIENT_SECRET": "client-secret-of-the-tests",
}
STAND_IN = "http://127.0.0.1:8090"


def test_cookies_that_are_not_secure_are_a_warning(folder: Path) -> None:
    site = {"chat_platform.client_id": "9" * 18, "chat_platform.client_secret": "x"}
    public = {**site, "web.public_url": "http://bots.example", "web.insecure_cookies": True}
    assert warning(folder, **public).startswith("web.insecure_cookies: ")


# -- the command ---------------------------------------------------------------------------------------


def checked(**environment: str) -> Result:
    names = {"WEBHOOKS__NAME_SERVERS": "127.0.0.1:1", **environment}
    return CliRunner(env={f"VOTEGATE_{name}": value for name, value in names.items()}).invoke(
        cli, ["check-config"]
    )


def test_it_says_all_at_once_errors_first_each_in_one_line(folder: Path, closed_port: int) -> None:
    (folder / "photo.jpg").touch()
    with listening() as port:
        result = checked(
            DATA_DIR=str(folder),
            SERVER__PORT=str(port),
            WEBHOOKS__PROXY=f"http://user:{PASSWORD}@127.0.0.1:{closed_port}",
            REDIS__URL=f"redis://127.0.0.1:{closed_port}",
            REDIS__NODE="a",
        )
    assert result.exit_code == 2
    lines = result.output.splitlines()
    kinds = [line.partition(":")[0] for line in lines]
    assert kinds == ["error"] * 2 + ["warning"] * 3 + ["A start would fail."]
    assert PASSWORD not in result.output


def test_warnings_alone_are_no_failure(folder: Path) -> None:
    result = checked(DATA_DIR=str(folder), SERVER__PORT="0")
    assert (result.exit_code, result.output.splitlines()) == (
        0,
        ["warning: webhooks.name_servers: 127.0.0.1:1 does not answer in time", "The settings are valid."],
    )


def test_a_secret_that_is_set_twice_is_a_warning(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(PASSWORD)
    twice = {"OPERATOR__TOKEN": f"{PASSWORD}-too", "OPERATOR__TOKEN_FILE": str(tmp_path / "token")}
    result = checked(DATA_DIR=str(folder), SERVER__PORT="0", **twice)
    assert result.exit_code == 0
    assert (
        "warning: operator.token: is set twice; VOTEGATE_OPERATOR__TOKEN is used, "
        "VOTEGATE_OPERATOR__TOKEN_FILE is ignored" in result.output.splitlines()
    )
    assert PASSWORD not in result.output


def test_it_prints_the_redirect_uri_to_register(folder: Path) -> None:
    public = {**SITE, "WEB__PUBLIC_URL": "https://Bots.example/"}
    result = checked(DATA_DIR=str(folder), SERVER__PORT="0", **public)
    assert result.exit_code == 0
    *_, told, valid = result.output.splitlines()
    assert told == "Redirect URI to register at the chat platform: https://bots.example/signin/callback"
    assert valid == "The settings are valid."
    assert SITE["CHAT_PLATFORM__CLIENT_SECRET"] not in result.output


@pytest.mark.parametrize("beyond", ["SERVER__ADDRESS=0.0.0.0", "WEB__PUBLIC_URL=https://bots.example"])
@pytest.mark.parametrize("name", ["AUTHORIZE_URL", "API_URL"])
@pytest.mark.parametrize("command", ["check-config", "serve"])
def test_a_stand_in_for_the_platform_is_refused_where_other_machines_get_in(
    folder: Path, beyond: str, name: str, command: str
) -> None:
    given = {**SITE, f"CHAT_PLATFORM__{name}": STAND_IN, "DATA_DIR": str(folder), "SERVER__PORT": "0"}
    environment = {f"VOTEGATE_{each}": value for each, value in [*given.items(), beyond.split("=")]}
    refused = ended([command], environment)
    assert refused.returncode == 2
    told = " ".join(refused.stderr.split())
    assert told.startswith(f"The settings are not valid: chat_platform.{name.lower()}: is on loopback, ")
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("VOTEGATE_SEVER__PORT", "VOTEGATE_SERVER__PORT"),
        ("VOTEGATE_SERVER_PORT", "VOTEGATE_SERVER__PORT"),
        ("VOTEGATE_PORT", "VOTEGATE_SERVER__PORT"),
        ("VOTEGATE_LOG__FROM", "VOTEGATE_LOG__FORM"),
        ("VOTEGATE_SERVER__TLS__CERTIFICAT", "VOTEGATE_SERVER__TLS__CERTIFICATE"),
        ("VOTEGATE_OPERATOR__TOKEN_FIL", "VOTEGATE_OPERATOR__TOKEN_FILE"),
    ],
)
def test_a_wrong_variable_is_named_as_it_was_written_with_the_nearest_right_one(
    written: str, right: str
) -> None:
    refused = ended(["check-config"], {written: "9000"})
    assert refused.returncode == 2
    told = f"{written}: there is no such setting; did you mean {right}?"
    assert refused.stderr == f"The settings are not valid:\n{told}\n"
