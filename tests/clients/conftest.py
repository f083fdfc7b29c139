"""The fixtures of the client, as the tests of a bot have them."""

from votegate_client.testing.fixtures import fake_clock, fake_gateway

__all__ = ["fake_clock", "fake_gateway"]
