"""The binary: one file that has every command and runs on a machine without Python.

`make binary-test` builds dist/votegate and runs this.
"""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.version import VERSION
from decoder.decoder import Decoder
from languages.language_names import LANGUAGES
from server import Commands, cli
from storage.folder import KEYS, OPERATOR_TOKEN
from tests.support.dev_gateway import DevGateway
from tests.support.gateways import BOT, ROOT, WAIT_SECONDS, eventually
from tests.support.installed_gateway import BINARY, InstalledGateway, answered, run
from tests.support.media_files import EMOJI, SOUND, picture, sound
from tests.support.page_visitor import PageVisitor
from tests.support.webhook_receiver import Receiver, status

pytestmark = pytest.mark.skipif(not BINARY.exists(), reason="`make binary` has not been run")


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The binary alone in a read-only folder."""
    folder = tmp_path_factory.mktemp("binary")
    shutil.copy(BINARY, folder)
    folder.chmod(0o555)
    yield folder / "votegate"
    folder.chmod(0o755)


@pytest.fixture
def gateway(binary: Path, tmp_path: Path) -> Iterator[InstalledGateway]:
    gateway = InstalledGateway(binary, tmp_path / "data")
    yield gateway
    if hasattr(gateway, "process"):
        gateway.close()


def commands() -> list[list[str]]:
    """Return every command and every command of a group."""
    assert isinstance(cli, Commands)
    found: list[list[str]] = [[]]
    context = cli.make_context("votegate", [], resilient_parsing=True)
    for name in cli.list_commands(context):
        found.append([name])
        command = cli.get_command(context, name)
        found += [[name, below] for below in getattr(command, "commands", {})]
    return found


def test_every_command_says_how_it_is_used(binary: Path, tmp_path: Path) -> None:
    """Each command is a process. All run at once, because that is faster."""
    started = {
        tuple(command): subprocess.Popen(
            [binary, *command, "--help"], cwd=tmp_path, env={}, stdout=subprocess.PIPE, text=True
        )
        for command in commands()
    }
    for command, process in started.items():
        said, _ = process.communicate(timeout=WAIT_SECONDS)
        assert process.returncode == 0, command
        assert said.startswith(f"Usage: votegate {' '.join(command)}".strip()), command


def test_it_says_its_commit_and_date(binary: Path, tmp_path: Path) -> None:
    said = dict(line.split(maxsplit=1) for line in answered(binary, tmp_path, "version").splitlines()[:3])
    assert said["votegate"] == VERSION
    assert re.fullmatch("[0-9a-f]{40}( with changes)?|unknown", said["commit"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said["built"])


def test_it_decodes_files_in_another_process(binary: Path, tmp_path: Path) -> None:
    async def decoded() -> None:
        decoder = Decoder(lambda: (str(binary), "decode-files"), tmp_path)
        for made, rules in ((picture("WEBP", frames=2), EMOJI), (sound("opus"), SOUND), (sound(), SOUND)):
            assert (await decoder.decode(made, rules)).file.size > 0
        decoder.close()

    asyncio.run(decoded())


def test_it_serves_votes_and_folds_its_disk_in_another_process(gateway: InstalledGateway) -> None:
    gateway.start()
    key = gateway.list_bot()
    gateway.cast()
    assert gateway.voters(key).json()["voted"] is True
    assert gateway.done("POST", "/debug/verify")["equal"] is True
    assert "webhook" in gateway.request("GET", "/docs").text
    assert gateway.request("GET", "/debug").status_code in {200, 303, 401}
    assert gateway.signal(signal.SIGTERM) == 0
    assert "Traceback" not in gateway.log


def test_it_serves_a_demo_bot_for_development(binary: Path, tmp_path: Path, receiver: Receiver) -> None:
    dev = DevGateway(tmp_path, "--webhook", f"{receiver.url}/votes", program=[str(binary)]).start()
    try:
        user = dev.press("v")["user"]
        assert dev.next("delivery")["status"] == 204
        assert dev.voted(user)["voted"] is True
        assert 'id="webhooks-that-fail"' in dev.request("GET", "/docs/bots").text
        assert [*dev.temporary.glob("votegate-dev-*")]
        assert dev.end(signal.SIGTERM) == 0
        assert not [*dev.temporary.glob("votegate-dev-*")]
    finally:
        dev.close()


def test_a_backup_with_secrets_restores_a_killed_gateway_elsewhere(
    gateway: InstalledGateway, binary: Path, tmp_path: Path
) -> None:
    del gateway.environment["VOTEGATE_OPERATOR__TOKEN"]
    gateway.start()
    gateway.operator_token = (gateway.folder / OPERATOR_TOKEN).read_text().strip()
    key = gateway.list_bot()
    gateway.cast()
    (tmp_path / "passphrase").write_text("a passphrase of the tests")
    place = ("--url", gateway.base_url, "--data-dir", "data")
    secrets = ("--passphrase-file", "passphrase")
    run(binary, tmp_path, "backup", "saved", "--with-secrets", "secrets", *secrets, *place).check_returncode()
    gateway.signal(signal.SIGKILL)

    elsewhere = InstalledGateway(binary, tmp_path / "elsewhere")
    restoring = ("restore", "saved", "--secrets", "secrets", *secrets, "--data-dir", "elsewhere")
    run(binary, tmp_path, *restoring).check_returncode()
    del elsewhere.environment["VOTEGATE_OPERATOR__TOKEN"]
    elsewhere.start()
    elsewhere.operator_token = gateway.operator_token
    assert elsewhere.voters(key).json()["voted"] is True
    assert elsewhere.done("POST", "/debug/verify")["equal"] is True
    assert elsewhere.signal(signal.SIGTERM) == 0


def test_its_pages_show_load_and_an_endpoint_that_is_suspended_and_recovers(
    gateway: InstalledGateway, receiver: Receiver
) -> None:
    gateway.environment |= {
        "VOTEGATE_WEBHOOKS__ALLOW_PRIVATE_TARGETS": "true",
        "VOTEGATE_WEBHOOKS__RETRIES": "0",
        "VOTEGATE_WEBHOOKS__SUSPEND_AFTER": "3",
    }
    gateway.start()
    key, visitor = gateway.list_bot(), PageVisitor(gateway)
    visitor.sign_in()
    bot_page = f"/debug/listings/bots/{BOT}"
    gateway.done("PUT", f"/manage/bots/{BOT}/webhook", {"url": receiver.url})
    live = visitor.request("GET", "/debug/live", stream=True)
    receiver.default = status(500)

    for user in range(10**17, 10**17 + 5):
        gateway.cast(str(user))
        for _ in range(20):
            assert gateway.voters(key, user=str(user)).json()["voted"] is True
    eventually(lambda: ">suspended<" in visitor.page(bot_page))
    assert "http_500" in visitor.page("/debug/webhooks")
    assert "Requests per second" in next(
        line for line in live.iter_lines(decode_unicode=True) if "Req" in line
    )
    live.close()

    receiver.default = status(204)
    assert "The probe succeeded" in visitor.acted(f"{bot_page}/probe")
    eventually(lambda: gateway.done("GET", f"/manage/bots/{BOT}/webhook")["pending"] == 0)
    assert ">delivering<" in visitor.page(bot_page)
    assert gateway.signal(signal.SIGTERM) == 0


def test_its_pages_speak_every_language(gateway: InstalledGateway) -> None:
    gateway.environment |= {
        "VOTEGATE_WEB__PUBLIC_URL": "https://bots.example",
        "VOTEGATE_CHAT_PLATFORM__CLIENT_ID": "900000000000000001",
        "VOTEGATE_CHAT_PLATFORM__CLIENT_SECRET": "a-secret-of-the-test",
    }
    gateway.start()
    titles = set()
    for language in LANGUAGES:
        page = PageVisitor(gateway).get("/", **{"Accept-Language": language}).text
        assert f'<html lang="{language}">' in page
        titles |= {*re.findall("<title>(.*)</title>", page)}
    assert len(titles) == len(LANGUAGES)
    assert gateway.signal(signal.SIGTERM) == 0


@pytest.mark.parametrize("replaced", ["by another file", "by nothing"])
def test_a_binary_that_is_replaced_while_it_runs_goes_on(tmp_path: Path, replaced: str) -> None:
    """The documented upgrade replaces the file first. The process has shown none of these pages before."""
    binary = tmp_path / "votegate"
    shutil.copy(BINARY, binary)
    gateway = InstalledGateway(
        binary,
        tmp_path / "data",
        VOTEGATE_WEB__PUBLIC_URL="https://bots.example",
        VOTEGATE_CHAT_PLATFORM__CLIENT_ID="900000000000000001",
        VOTEGATE_CHAT_PLATFORM__CLIENT_SECRET="a-secret-of-the-test",
    )
    gateway.start()
    try:
        if replaced == "by another file":
            other = tmp_path / "votegate.new"
            other.write_bytes(os.urandom(BINARY.stat().st_size))
            other.replace(binary)
        else:
            binary.unlink()
        visitor = PageVisitor(gateway)
        key = gateway.list_bot()
        gateway.cast()
        listing = ("", ".json?q=test", f"/{BOT}", f"/{BOT}/vote", f"/{BOT}/badge.svg")
        for path in ("/", "/signin?to=/me", "/docs", "/openapi.json", *(f"/bots{each}" for each in listing)):
            assert visitor.get(path, **{"Accept-Language": "ja"}).status_code == 200, path
        assert gateway.voters(key).json()["voted"] is True
        assert "votegate_ready 1" in gateway.operate("GET", "/metrics").text
        assert gateway.done("POST", "/debug/verify")["equal"] is True
        visitor.sign_in()
        for path in ("", "/webhooks", "/journal", "/data", f"/listings/bots/{BOT}"):
            visitor.page(f"/debug{path}")
        assert gateway.signal(signal.SIGTERM) == 0
    finally:
        gateway.close()
    assert "Traceback" not in gateway.log


@pytest.fixture
def place(gateway: InstalledGateway, tmp_path: Path) -> Path:
    """The folder that the binary unpacks into."""
    place = tmp_path / "unpacked"
    place.mkdir()
    gateway.environment["TMPDIR"] = str(place)
    return place


def test_it_unpacks_into_the_temporary_folder_and_leaves_nothing_behind(
    gateway: InstalledGateway, place: Path
) -> None:
    gateway.start()
    assert len(list(place.iterdir())) == 1
    assert gateway.signal(signal.SIGTERM) == 0
    assert list(place.iterdir()) == []


LIBRARY = re.compile(r"lib[\w+.]+\.so\.[\d.]+")
OF_THE_C_LIBRARY = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "libm.so.6"}


def test_the_libraries_in_the_binary_are_named(gateway: InstalledGateway, place: Path) -> None:
    gateway.start()
    (unpacked,) = place.iterdir()
    brought = {path.name for path in unpacked.iterdir() if LIBRARY.fullmatch(path.name)}
    assert gateway.signal(signal.SIGTERM) == 0
    named = (ROOT / "THIRD_PARTY.md").read_text().split("## Libraries in the binary\n")[1]
    assert brought == set(LIBRARY.findall(named))


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed here")
@pytest.mark.parametrize("document", ["docs/operations.md", "deploy/README.md"])
def test_the_libraries_that_it_needs_from_the_system_are_named(binary: Path, document: str) -> None:
    said = subprocess.check_output(["readelf", "--dynamic", binary], text=True, timeout=WAIT_SECONDS)
    needed = set(LIBRARY.findall(said)) - OF_THE_C_LIBRARY
    assert needed == {"libz.so.1"}
    assert {"libz", "`zlib1g`"} <= set(re.findall(r"libz\b|`zlib1g`", (ROOT / document).read_text()))


@pytest.mark.skipif(shutil.which("systemd-tmpfiles") is None, reason="systemd is not installed here")
def test_a_cleaner_of_temporary_files_removes_nothing_of_it(
    gateway: InstalledGateway, place: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "clean.conf"
    rules.write_text(f"e {place} - - - 0\n")  # 0: files of any age
    gateway.start()
    (place / "left-by-another").mkdir()
    subprocess.run(["systemd-tmpfiles", "--clean", rules], check=True, timeout=WAIT_SECONDS)
    (unpacked,) = place.iterdir()
    assert len([*unpacked.iterdir()]) > 1
    PageVisitor(gateway).page("/debug/sign-in")
    assert gateway.signal(signal.SIGTERM) == 0
    assert list(place.iterdir()) == []


def test_secrets_and_votes_stay_when_somebody_empties_its_own_folder(
    gateway: InstalledGateway, place: Path
) -> None:
    gateway.start()
    key = gateway.list_bot()
    (unpacked,) = place.iterdir()
    shutil.rmtree(unpacked)
    made = (gateway.folder / KEYS).read_text()
    gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: "sealing keys: 1" in gateway.log)
    gateway.cast()
    assert gateway.voters(key).json()["voted"] is True
    assert gateway.signal(signal.SIGTERM) == 0
    assert (gateway.folder / KEYS).read_text() == made
    gateway.start()
    assert gateway.voters(key).json()["voted"] is True


def test_it_is_a_node_of_a_fleet(gateway: InstalledGateway) -> None:
    """It starts without its Redis, too."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    gateway.environment |= {
        "VOTEGATE_REDIS__URL": f"redis://127.0.0.1:{port}/0",
        "VOTEGATE_REDIS__NODE": "a",
    }
    gateway.start()
    assert gateway.request("GET", "/healthz").status_code == 200
    assert gateway.signal(signal.SIGTERM) == 0


def test_systemd_gets_readiness_and_watchdog_messages_from_the_second_process(
    gateway: InstalledGateway, tmp_path: Path
) -> None:
    """systemd knows only the first process, and names it as the one to watch."""
    watched = 'WATCHDOG_PID=$$ exec "$0" "$@"'
    gateway.program = ["/bin/sh", "-c", watched, *gateway.program]
    gateway.environment |= {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "100000"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "notify"))
        heard.settimeout(WAIT_SECONDS)
        gateway.start()
        said = ""
        while "READY=1" not in said or "WATCHDOG=1" not in said:
            said += heard.recv(4_096).decode()
        assert gateway.signal(signal.SIGTERM) == 0


def test_it_stops_when_its_first_process_is_killed(gateway: InstalledGateway) -> None:
    """Otherwise it would go on, and nobody would know the process id to stop it by."""
    gateway.start()
    gateway.process.send_signal(signal.SIGKILL)
    gateway.process.wait(WAIT_SECONDS)
    again = InstalledGateway(Path(gateway.program[0]), gateway.folder)
    for _ in range(100):
        try:
            again.start()
            break
        except AssertionError:
            assert "is in use" in again.log
    else:
        pytest.fail("it did not stop")
    assert again.signal(signal.SIGTERM) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
@pytest.mark.parametrize(
    ("mounted", "said"),
    [
        ("ro", "Could not create temporary directory!"),
        ("noexec", "failed to map segment from shared object"),
        ("size=4m", "No space left on device"),
        ("size=20m", "votegate cannot unpack itself"),
    ],
)
def test_a_folder_that_it_cannot_unpack_into_is_refused(
    binary: Path, tmp_path: Path, mounted: str, said: str
) -> None:
    """Most texts are those of PyInstaller and of the loader. deploy/README.md says what to do about each."""
    mounts = f"mount -t tmpfs -o {mounted} none /tmp && mount -t tmpfs -o ro none /var/tmp || exit 9"
    script = f"{mounts}; exec {binary} serve --port 0 --data-dir data"
    refused = subprocess.run(
        ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script],
        env={},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    if refused.returncode == 9 or "unshare" in refused.stderr:
        pytest.skip("this machine does not allow mounts")
    assert refused.returncode in {1, 127, 255}
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr
    assert said in (ROOT / "deploy/README.md").read_text()


@pytest.mark.parametrize("wrong", [["serv"], ["serve", "--prot", "1"], ["snapshot", "inspct"]])
def test_unknown_commands_and_options_are_refused_with_the_usage(
    binary: Path, tmp_path: Path, wrong: list[str]
) -> None:
    refused = run(binary, tmp_path, *wrong)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Usage: votegate" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_busy_port_is_refused_in_a_line(binary: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        refused = run(binary, tmp_path, "serve", "--data-dir", str(tmp_path / "data"), "--port", port)
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].startswith("votegate cannot serve: cannot listen on 127.0.0.1")
    assert "Traceback" not in refused.stderr


def test_a_folder_that_cannot_be_used_is_refused_in_a_line(binary: Path) -> None:
    refused = run(binary, binary.parent, "serve", "--port", "0", "--data-dir", "/proc/x")
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].startswith("votegate cannot serve: /proc/x: ")
    assert "Traceback" not in refused.stderr
