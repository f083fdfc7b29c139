"""The data folder: the files of one process, encrypted, written through one port.

In: the path of a folder and its sealing keys. Out: a locked `Folder` with a `Keyring` and a `Disk`, through
which the journal and the snapshots write.

Invariants. One process uses a folder at a time. No file on disk can be read, or changed unseen, without a key
of the ring. A file has its name only when it is whole and durable.

Reading order: `disk` (the calls that change the disk, and the space that is left), `folder` (the lock,
permissions, secrets and names of files), `sealing` (encryption).
"""
