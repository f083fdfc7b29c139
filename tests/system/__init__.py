"""Tests that run the whole program."""
