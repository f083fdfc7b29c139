"""The minimum that a bot needs to receive votes: check the token, answer quickly, then reward the user.

python3 examples/receiver.py [port] [token]
"""

import hmac
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 9000
TOKEN = sys.argv[2] if len(sys.argv) > 2 else "my-webhook-token"


class VoteReceiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        # Without this check anybody who finds the URL could send false votes.
        sent = self.headers.get("Authorization", "")
        genuine = hmac.compare_digest(sent.encode(), TOKEN.encode())
        self.send_response(204 if genuine else 401)
        self.end_headers()
        if genuine:
            event = json.loads(body)
            # A test, a review and a removed vote arrive here, too. Nobody has voted then.
            is_vote = "type" not in event and not event["test"]
            sys.stdout.write(f"received {'a vote' if is_vote else 'no vote'}: {json.dumps(event)}\n")
            sys.stdout.flush()

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", PORT), VoteReceiver).serve_forever()
