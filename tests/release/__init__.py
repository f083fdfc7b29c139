"""The builds: what comes out of them works without the source tree."""
