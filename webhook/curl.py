"""The request of a delivery as a command for curl. Law: no secret is in it; a placeholder stands for each.

The owner runs it against a receiver that does not answer as it should. So it says what was sent: the same
address, headers and body, but for what only the owner knows.
"""

import shlex

from core.rows import Delivery, Listing, Webhook
from webhook.chat import chat_message
from webhook.payloads import payload
from webhook.signature import signed_headers

TOKEN, SIGNATURE = "<your token>", "v1,<signature>"


def curl_command(delivery: Delivery, listing: Listing, webhook: Webhook, user_agent: str) -> str:
    """Return the command, with an option on each line. Its time is that of the last attempt.

    Args:
        user_agent: the name under which requests are sent.
    """
    headers = {"Content-Type": "application/json", "User-Agent": user_agent}
    if webhook.language is not None:
        body = chat_message(delivery, listing, webhook.language)
    else:
        body = payload(delivery)
        at_ms = delivery.attempts[-1].at_ms if delivery.attempts else delivery.since_ms
        headers |= signed_headers(delivery.id, at_ms // 1_000, body, ())
        if webhook.secret is not None:
            headers["webhook-signature"] = SIGNATURE
        if webhook.token is not None:
            headers["Authorization"] = TOKEN
    given = [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    # Brackets and braces in the address are no pattern, and a body that begins with @ is no file.
    lines = ["curl -i --globoff", *given, f"--data-raw {shlex.quote(body.decode())}"]
    return " \\\n  ".join([*lines, shlex.quote(webhook.shown_url)])
