"""The pages in a real browser: `make pages`."""
