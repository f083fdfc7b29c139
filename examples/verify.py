"""Receives webhooks. Accepts only requests that the platform signed, and rewards each event once.

WEBHOOK_SECRET=whsec_... python3 verify.py [port]
"""

import base64
import hmac
import json
import os
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

SECRET = os.environ["WEBHOOK_SECRET"]
PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
TOLERANCE_SECONDS = 5 * 60
MOST_BYTES = 64 * 1024

seen: set[str] = set()  # in a bot: a unique column in the table of rewards, so that it survives a restart


def is_genuine(secret: str, message_id: str, timestamp: str, signatures: str, body: bytes) -> bool:
    """Return True if the platform signed this body less than five minutes ago."""
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{message_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.digest(key, content, "sha256"))
    # During a rotation there are two signatures: one match is enough.
    return any(hmac.compare_digest(expected, sent.encode()) for sent in signatures.split(" "))


class VoteReceiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds that a slow sender may keep this server busy

    def do_POST(self) -> None:
        # Check the bytes that came: JSON that was parsed and written again may differ.
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), MOST_BYTES))
        message_id = self.headers.get("webhook-id", "")
        timestamp = self.headers.get("webhook-timestamp", "")
        signatures = self.headers.get("webhook-signature", "")
        genuine = is_genuine(SECRET, message_id, timestamp, signatures, body)
        self.send_response(204 if genuine else 401)
        self.end_headers()
        if genuine and message_id not in seen:  # a repeated event gets 204 and nothing else
            seen.add(message_id)
            receive(json.loads(body))

    def log_message(self, *_: Any) -> None:
        pass


def receive(event: dict[str, Any]) -> None:
    if "type" in event:  # a review or a removed vote, for example: nobody has voted
        say(f"event {event['type']}")
    elif event["test"]:  # somebody has pressed Send Test: nobody has voted
        say(f"test for {event['user']}")
    else:
        say(f"vote of {event['user']}")  # the reward belongs here, and nowhere else


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", PORT), VoteReceiver)
    say(f"listening on http://127.0.0.1:{server.server_port}")
    server.serve_forever()
