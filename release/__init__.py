"""Builds of the source tree: the wheel, and from it the binary. None of it runs in a gateway."""
