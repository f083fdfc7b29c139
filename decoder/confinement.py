"""Limits the decoder's process, and takes away all that it does not need.

A filter of system calls (seccomp) allows memory, time, and files that are open already. The process can open,
start, signal and connect to nothing any more. So a flaw in a library for pictures or sounds reaches nothing
but the file that is being read. The process loads all libraries before that. Without the filter in the
kernel, or without the machine's numbers here, only the limits hold.

There is no fcntl, because F_SETOWN lets a pipe send signals to any process, and no limits of other processes.

Sources: seccomp(2), linux/filter.h, linux/seccomp.h, linux/audit.h; asm/unistd_64.h and asm-generic/unistd.h
for the numbers.
"""

import ctypes
import platform
import resource
import signal
import struct
from collections.abc import Iterator

MEMORY_BYTES = 768 << 20
FILE_BYTES = 64 << 20
"""The largest file that it may write; its files are in memory."""
OPEN_FILES = 32
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
WITH_FILTER = 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOWED, KILLED, NOT_PERMITTED = 0x7FFF0000, 0x80000000, 0x00050001
AT_NUMBER, AT_MACHINE, AT_FIRST_ARGUMENT = 0, 4, 16  # of which the lower half comes first on these machines
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBERS = {
    "read": (0, 63),
    "readv": (19, 65),
    "pread64": (17, 67),
    "write": (1, 64),
    "writev": (20, 66),
    "lseek": (8, 62),
    "close": (3, 57),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "ftruncate": (77, 46),
    "memfd_create": (319, 279),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "mprotect": (10, 226),
    "madvise": (28, 233),
    "brk": (12, 214),
    "futex": (202, 98),
    "getrandom": (318, 278),
    "clock_gettime": (228, 113),
    "gettimeofday": (96, 169),
    "sched_yield": (24, 124),
    "getrusage": (98, 165),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "restart_syscall": (219, 128),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
"""The allowed calls, with their numbers on each of the machines."""
LIMITS = (302, 261)
"""prlimit64, of which only the first argument 0 is left: the process itself."""


def limit() -> None:
    """Set the limits of the process, and let it end with its parent."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _libc().prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def confine() -> bool:
    """Allow no calls but `NUMBERS` and `LIMITS`. Return false if this kernel or machine cannot."""
    machine = platform.machine()
    if machine not in MACHINES:
        return False
    steps = [struct.pack("HBBI", *step) for step in _filter(machine)]
    code = ctypes.create_string_buffer(b"".join(steps))
    program = struct.pack("HP", len(steps), ctypes.addressof(code))
    _libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return bool(_libc().prctl(PR_SET_SECCOMP, WITH_FILTER, program, 0, 0) == 0)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _filter(machine: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield the steps of the filter: each with its code, the steps to skip if true and if false, a value."""
    at = tuple(MACHINES).index(machine)
    yield LOAD, 0, 0, AT_MACHINE
    yield EQUAL, 1, 0, MACHINES[machine]
    yield RETURN, 0, 0, KILLED
    yield LOAD, 0, 0, AT_NUMBER
    for numbers in NUMBERS.values():
        yield EQUAL, 0, 1, numbers[at]
        yield RETURN, 0, 0, ALLOWED
    yield EQUAL, 0, 3, LIMITS[at]
    yield LOAD, 0, 0, AT_FIRST_ARGUMENT
    yield EQUAL, 0, 1, 0
    yield RETURN, 0, 0, ALLOWED
    yield RETURN, 0, 0, NOT_PERMITTED
