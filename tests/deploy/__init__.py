"""The files of deploy/: each is read by its own program, and an upgrade refuses no request."""
