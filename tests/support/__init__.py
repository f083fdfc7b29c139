"""All that tests share, by what it gives; and the tests of what could itself be wrong."""
