"""The program as its host and its terminal see it: starts, stops, signals, log."""
