"""The processor time of a vote check with 1, 2 and 4 workers: direct, and behind nginx and Caddy.

`python -m bench.workers [--rounds 5] [--seconds 2]`. Each round starts all of them again, and
measures each in turn. The smallest time of all rounds counts, because other work of the machine can only make
a check slower.
"""

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from bench.in_turns import VOTERS
from bench.load import CORES, closed_loop, on_cores
from bench.servers import OPERATOR, ROOT, Running, running, votegate
from bench.world import add_callers, list_bots, write_requests
from tests.support.cutting_proxy import held_port
from tests.support.redis_server import RedisServer

WORKERS = (1, 2, 4)
WAYS = ("direct", "nginx", "Caddy")
CONNECTIONS = 64
START_SECONDS = 120


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    given = parser.parse_args()
    gateways: dict[tuple[int, str], list[float]] = {(each, way): [] for each in WORKERS for way in WAYS}
    proxies: dict[tuple[int, str], list[float]] = {place: [] for place in gateways}
    for _ in range(given.rounds):
        for workers in WORKERS:
            for way, of_gateway, of_proxy in _measured(workers, given.seconds):
                gateways[workers, way].append(of_gateway)
                proxies[workers, way].append(of_proxy)
    print(f"Load of the machine at the end: {os.getloadavg()[0]:.1f}")
    print("| microseconds of CPU for a check | " + " | ".join(f"{each} workers" for each in WORKERS) + " |")
    print("| --- |" + " ---: |" * len(WORKERS))
    for way in WAYS:
        cells = [
            f"{min(gateways[each, way]):.1f}"
            + (f" + {min(proxies[each, way]):.1f}" if way != "direct" else "")
            for each in WORKERS
        ]
        print(f"| {way} | " + " | ".join(cells) + " |")
    alone, two = min(gateways[1, "direct"]), min(gateways[2, "direct"])
    print(f"2 workers beside 1: {two / alone:.2f}")


def _measured(workers: int, seconds: float) -> Iterator[tuple[str, float, float]]:
    """Yield each way with the microseconds of a check: of the gateway, and of the proxy."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        server = votegate(folder / "data")
        environment = {**server.environment, "VOTEGATE_SERVER__TRUSTED_PROXIES": "127.0.0.0/8"}
        if workers > 1:
            redis = RedisServer(folder)
            redis.start()
            stack.callback(redis.close)
            environment |= {
                "VOTEGATE_SERVER__WORKERS": str(workers),
                "VOTEGATE_REDIS__URL": redis.url,
                "VOTEGATE_REDIS__NODE": "node",
            }
        log, requests = folder / "log", folder / "requests"
        gateway = stack.enter_context(running(replace(server, environment=environment), log, set(CORES)))
        deadline = time.monotonic() + START_SECONDS
        while workers > 1 and f"{workers} of {workers} workers are ready" not in log.read_text():
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        list_bots(gateway.port, OPERATOR, [ref for ref, _ in VOTERS])
        write_requests(requests, add_callers(gateway.port, OPERATOR, VOTERS))
        processes = [gateway, *(Running(gateway.port, pid) for pid in _children(gateway.pid))]
        for way in WAYS:
            with _way(way, folder, gateway.port) as (port, proxy):
                before, before_proxy = _cpu(processes), _cpu(proxy)
                answered = closed_loop(port, CONNECTIONS, seconds, requests).answered
                used = _cpu(processes) - before, _cpu(proxy) - before_proxy
                yield way, used[0] / answered * 1e6, used[1] / answered * 1e6


def _cpu(processes: list[Running]) -> float:
    return sum(each.cpu_seconds() for each in processes)


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def _way(way: str, folder: Path, upstream: int) -> Iterator[tuple[int, list[Running]]]:
    """Give the port to ask, and the processes of a proxy in front, with the file of deploy/ in plain HTTP."""
    if way == "direct":
        yield upstream, []
        return
    held = held_port()
    port = held.getsockname()[1]
    write = {"nginx": _nginx, "Caddy": _caddy}[way]
    command = write(folder, f"127.0.0.1:{upstream}", port)
    with on_cores(set(CORES)), (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={"HOME": str(folder), "PATH": "/usr/sbin:/usr/bin:/bin"}, stderr=log
        )
    try:
        time.sleep(1)
        held.close()
        yield port, [Running(port, process.pid)]
    finally:
        process.terminate()
        process.wait()


def _nginx(folder: Path, upstream: str, port: int) -> list[str]:
    text = (ROOT / "deploy/nginx.conf").read_text().replace("unix:/run/votegate.sock", upstream)
    kept = [line for line in text.splitlines() if "ssl" not in line]
    text = "\n".join(kept).replace("server_name", f"listen 127.0.0.1:{port};\n    server_name")
    around = f"daemon off; master_process off; pid {folder}/pid; error_log stderr; events {{}}"
    paths = "".join(
        f"{each}_temp_path {folder}/{each};" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(f"{around} http {{ access_log off; {paths} {text} }}")
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def _caddy(folder: Path, upstream: str, port: int) -> list[str]:
    text = (ROOT / "deploy/Caddyfile").read_text().replace("unix//run/votegate.sock", upstream)
    text = text.replace("api.example.com {", f"http://127.0.0.1:{port}, http://localhost:{port} {{")
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https off\n}\n" + text)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


if __name__ == "__main__":
    main()
