"""A process that is started with sockets, as systemd starts one."""

BOOTSTRAP = """
import fcntl, os, sys
high = [fcntl.fcntl(int(given), fcntl.F_DUPFD, 100) for given in sys.argv[1].split(",") if given]
for place, descriptor in enumerate(high, 3):
    os.dup2(descriptor, place)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Does what systemd does between fork and exec: descriptors from 3 on, and the number of the process.

Its arguments are the descriptors, separated by commas, and the command with its arguments."""
