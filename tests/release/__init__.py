"""The builds: they work without the source tree."""
