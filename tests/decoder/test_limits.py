"""decoder/: the limits of the contract on files."""
