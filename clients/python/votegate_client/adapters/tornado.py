"""A receiver as a handler of Tornado."""

from tornado.web import RequestHandler, stream_request_body

from votegate_client.receiver import MOST_BYTES, TOO_LARGE, Answer, Receiver


@stream_request_body
class WebhookHandler(RequestHandler):
    """Answers webhooks: `Application([("/votes", WebhookHandler, {"receiver": receiver})])`."""

    def initialize(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._body = b""

    def prepare(self) -> None:
        """Refuse a body that is too large before it comes."""
        length = self.request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > MOST_BYTES:
            self._answer(TOO_LARGE)

    def data_received(self, chunk: bytes) -> None:
        """Keep at most one byte more than the receiver accepts."""
        self._body += chunk[: MOST_BYTES + 1 - len(self._body)]

    async def post(self) -> None:
        """Answer a webhook."""
        self._answer(await self._receiver.receive(self.request.headers.get_all(), self._body))

    def _answer(self, answer: Answer) -> None:
        self.set_status(answer.status)
        if answer.text:
            self.set_header("content-type", "text/plain; charset=utf-8")
            self.write(answer.text)
        self.finish()
