"""Pictures and sounds from strangers, read in a process of its own.

In: the bytes of an upload, and the rules of the field that it is for. Out: a clean file with its facts, or
the rule that it breaks. `decoder.py` is the side of the gateway; `process.py` is the process, and the only
one that reads files of strangers. It has limits on memory, time and pixels, no secret, and no access to
files, sockets and other processes (`confinement.py`).

Invariant: a clean file holds pixels or frames of sound, and nothing else that its sender wrote. The padding
within frames of sound stays: a sound is not encoded again, so it sounds as before.
"""
