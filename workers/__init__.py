"""Several gateways behind one port of this machine: the workers, and the supervisor that starts them.

In: listening sockets, the command of a worker, signals. Out: processes. Invariants: a connection that the
kernel has taken is never reset, because the supervisor keeps the sockets open. The supervisor reads no
request. Each worker is a node of a fleet, with a folder of its own.

    supervisor   opens the sockets, starts the workers, starts them again, replaces them (`supervising.py`)
       |  ^
       |  |      a pair of sockets for each worker (`supervisor_channel.py`): a worker tells its state, in the
       v  |      words of sd_notify(3), and the supervisor tells each worker the states of all
    worker K     accepts connections from the common sockets, as far as it is its turn (`balance.py`)
       |  ^
       v  |      a Unix socket in the folder of each worker (`siblings.py`): a worker asks the others for
    worker L     their numbers. Memory that all of them map has the counts of the limits (`common_memory.py`)
"""
