"""The files for nginx and Caddy: the programs accept them and obey them."""

import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from urllib3 import HTTPSConnectionPool

from tests.support.certificate_files import HOST, Files
from tests.support.cutting_proxy import held_port
from tests.support.gateways import (
    BOT,
    BOT_SUBMISSION,
    OPERATOR_TOKEN,
    OTHER_USER,
    ROOT,
    USER,
    WAIT_SECONDS,
    ThreadGateway,
    eventually,
    running,
)
from tests.support.people_gateway import serving
from tests.support.programs import installed

FOLDER = "/etc/ssl/api.example.com"
NGINX = (ROOT / "deploy/nginx.conf").read_text()


def nginx_file(folder: Path, files: Files, text: str = NGINX, more: str = "") -> Path:
    """Write our file for nginx, or another text in its place, with what surrounds it."""
    files.write()
    text = text.replace(f"{FOLDER}/fullchain.pem", str(files.certificate)).replace(
        f"{FOLDER}/key.pem", str(files.key)
    )
    paths = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    around = f"pid {folder}/pid; error_log stderr; {more} events {{}}"
    whole = folder / "whole.conf"
    whole.write_text(f"{around} http {{ access_log off; {paths} {text} }}")
    return whole


@pytest.mark.parametrize("name", ["nginx.conf", "nginx-nodes.conf"])
def test_nginx_takes_its_file(tmp_path: Path, name: str) -> None:
    whole = nginx_file(tmp_path, Files(tmp_path), (ROOT / "deploy" / name).read_text())
    tested = subprocess.run(
        [installed("nginx"), "-t", "-p", tmp_path, "-c", whole],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert tested.returncode == 0, tested.stderr
    assert "[warn]" not in tested.stderr


@pytest.mark.parametrize("address", ["443", "[::]:443"])
def test_a_browser_speaks_http_2_with_nginx(tmp_path: Path, address: str) -> None:
    addresses = {each: f"{tmp_path}/{number}.sock" for number, each in enumerate(["443", "[::]:443"])}
    text = NGINX
    for each, path in addresses.items():
        assert f"listen {each} " in text
        text = text.replace(f"listen {each} ", f"listen unix:{path} ")
    whole = nginx_file(tmp_path, Files(tmp_path), text, "daemon off;")
    nginx = subprocess.Popen([installed("nginx"), "-p", tmp_path, "-c", whole], stderr=subprocess.DEVNULL)
    try:
        eventually(Path(addresses[address]).exists)
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        trusting.set_alpn_protocols(["h2", "http/1.1"])
        with socket.socket(socket.AF_UNIX) as plain:
            eventually(lambda: plain.connect_ex(addresses[address]) == 0)
            with trusting.wrap_socket(plain) as browser:
                assert browser.selected_alpn_protocol() == "h2"
    finally:
        nginx.terminate()
        nginx.wait(WAIT_SECONDS)


@pytest.mark.parametrize("name", ["Caddyfile", "Caddyfile-nodes"])
def test_caddy_takes_its_file(tmp_path: Path, name: str) -> None:
    tested = subprocess.run(
        [installed("caddy"), "validate", "--adapter", "caddyfile", "--config", ROOT / "deploy" / name],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )
    assert tested.returncode == 0, tested.stderr
    assert "Valid configuration" in tested.stderr + tested.stdout
    assert '"level":"warn"' not in tested.stderr


PROXIES = ("nginx", "caddy")


@contextmanager
def proxied(
    name: str, folder: Path, *upstreams: str, client_address: str = "127.0.0.1"
) -> Iterator[HTTPSConnectionPool]:
    """Run a proxy with its file, in front of one gateway or two nodes. Yield a client of it."""
    files, held = Files(folder), held_port()
    port = held.getsockname()[1]
    run = {"nginx": nginx, "caddy": caddy}[name](folder, files, upstreams, port)
    process = subprocess.Popen(
        run, cwd=folder, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"}, stderr=subprocess.DEVNULL
    )
    try:
        eventually(lambda: listens(port))
        pool = HTTPSConnectionPool(
            "127.0.0.1",
            port,
            timeout=WAIT_SECONDS,
            retries=False,
            ca_certs=str(files.certificate),
            server_hostname=HOST,
            assert_hostname=HOST,
            source_address=(client_address, 0),
        )
        with pool as client:
            yield client
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)
        held.close()


NODES = ("10.0.0.11:8080", "10.0.0.12:8080")
"""The nodes in the files for several of them."""


def in_front_of(upstreams: Sequence[str], file: str, one: str) -> str:
    """Return our file for one gateway, which it calls `one`, or that for several nodes."""
    if len(upstreams) == 1:
        return (ROOT / "deploy" / file).read_text().replace(one, upstreams[0])
    text = (
        ROOT / "deploy" / file.replace("nginx", "nginx-nodes").replace("Caddyfile", "Caddyfile-nodes")
    ).read_text()
    for node, upstream in zip(NODES, upstreams, strict=True):
        assert node in text
        text = text.replace(node, upstream)
    return text


def nginx(folder: Path, files: Files, upstreams: Sequence[str], port: int) -> list[str | Path]:
    """The command of nginx in the foreground."""
    text = in_front_of(upstreams, "nginx.conf", "unix:/run/votegate.sock")
    text = text.replace("listen [::]:443 ssl http2;", "").replace("listen 443 ", f"listen 127.0.0.1:{port} ")
    whole = nginx_file(folder, files, text, "daemon off; master_process off;")
    return [installed("nginx"), "-p", folder, "-c", whole]


def caddy(folder: Path, files: Files, upstreams: Sequence[str], port: int) -> list[str | Path]:
    """The command of Caddy."""
    files.write()
    text = in_front_of(upstreams, "Caddyfile", "unix//run/votegate.sock")
    own = f"https://127.0.0.1:{port} {{\n\ttls {files.certificate} {files.key}"
    whole = folder / "Caddyfile"
    whole.write_text(
        "{\n\tadmin off\n\tauto_https off\n\tdefault_sni gateway.example\n}\n"
        + text.replace("api.example.com {", own)
    )
    return [installed("caddy"), "run", "--adapter", "caddyfile", "--config", whole]


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), WAIT_SECONDS):
        return True
    return False


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("public_url", [None, "https://127.0.0.1"])
def test_behind_a_proxy_every_answer_says_once_that_browsers_come_by_https_alone(
    tmp_path: Path, name: str, public_url: str | None
) -> None:
    settings = {"web.public_url": public_url} if public_url is not None else {}
    starting = serving if public_url is not None else running
    with starting(tmp_path / "data", **settings) as gateway:
        upstream = gateway.base_url.removeprefix("http://")
        with proxied(name, tmp_path, upstream) as client:
            for path in ("/", "/healthz", "/docs", "/nothing", "/debug"):
                given = client.request("GET", path).headers.getlist("Strict-Transport-Security")
                assert given == ["max-age=31536000"], path


@contextmanager
def two_nodes(folder: Path) -> Iterator[tuple[ThreadGateway, ThreadGateway]]:
    """Two gateways that trust a proxy on this machine. They need no Redis here: nothing asks for votes."""
    settings = {"server.trusted_proxies": "127.0.0.1/32", "server.drain_seconds": 1}
    with running(folder / "one", **settings) as one, running(folder / "two", **settings) as two:
        yield one, two


def address_of(gateway: ThreadGateway) -> str:
    return gateway.base_url.removeprefix("http://")


@pytest.mark.parametrize("name", PROXIES)
def test_a_node_that_is_gone_costs_no_request(tmp_path: Path, name: str) -> None:
    with (
        two_nodes(tmp_path) as nodes,
        proxied(name, tmp_path, *map(address_of, nodes)) as client,
    ):
        assert {client.request("GET", "/healthz").status for _ in range(10)} == {200}
        operator = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
        first = client.request("POST", "/manage/bots", headers=operator, json=BOT_SUBMISSION)
        assert first.status == 201
        (visited,) = [node for node in nodes if node.operate("GET", f"/manage/bots/{BOT}").ok]
        visited.stop()
        assert {client.request("GET", "/healthz").status for _ in range(10)} == {200}
        again = client.request("POST", "/manage/bots", headers=operator, json=BOT_SUBMISSION)
        assert again.status == 201  # the other node does not have it


@pytest.mark.parametrize("name", PROXIES)
def test_a_visitor_stays_at_one_node_and_its_address_arrives_there(tmp_path: Path, name: str) -> None:
    with (
        two_nodes(tmp_path) as nodes,
        proxied(name, tmp_path, *map(address_of, nodes), client_address="127.0.0.9") as client,
    ):
        for _ in range(6):
            assert client.request("GET", f"/bots/{BOT}/voters/{USER}").status == 401
        counted = [node.done("GET", "/debug/limiter.json")["failures"]["worst"] for node in nodes]
        assert sorted(counted, key=len)[0] == []
        ((worst,),) = [each for each in counted if each]
        assert (worst["address"], worst["failures"]) == ("127.0.0.9", 6)


@pytest.mark.parametrize("name", PROXIES)
def test_each_line_of_a_stream_passes_at_once(tmp_path: Path, name: str) -> None:
    with (
        two_nodes(tmp_path) as nodes,
        proxied(name, tmp_path, *map(address_of, nodes)) as client,
    ):
        for node in nodes:
            node.list_bot()
        headers = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}
        following = {**headers, "Accept": "text/event-stream"}
        stream = client.request("GET", "/manage/votes", headers=following, preload_content=False)
        for user in (USER, OTHER_USER):
            cast = client.request("POST", f"/manage/bots/{BOT}/votes", headers=headers, json={"user": user})
            assert cast.status == 201
            received = b""
            while user.encode() not in received:  # the answer has no end
                received += stream.read1()
        stream.close()
