"""Helpers of the tests, and tests of helpers that could be wrong themselves."""
