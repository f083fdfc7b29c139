"""Parts for the tests of a bot: signed webhooks, a fake gateway, and a clock that a test moves.

For pytest, `votegate_client.testing.fixtures` has the last two as fixtures.
"""

from votegate_client.testing.fake_clock import FakeClock
from votegate_client.testing.fake_gateway import FakeGateway, Push
from votegate_client.testing.signing import SignedWebhook, sign

__all__ = ["FakeClock", "FakeGateway", "Push", "SignedWebhook", "sign"]
