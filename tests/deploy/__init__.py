"""The files of deploy/: each is read by the program that it is for, and an upgrade refuses nobody."""
