"""The HTTP/1.1 server: sockets in, requests to the direct route and to Tornado's application, answers out.

In: listening sockets, bytes of clients, `ConnectionLimits`, an application, and a direct route that answers
vote checks without it. Out: complete requests, one at a time for each connection, and their answers in the
same order.

Invariants. A client can make the process hold a bounded number of bytes and requests, for a bounded time,
whatever it does or omits. A complete request is answered once, or the client sees that it was not.

Reading order: `phases` (the theory: everything that a connection can be doing), `parser` (bytes to events,
without I/O; the limits, and the short path of a vote check), `channel` (a socket and its end), `exchange` (a
request as Tornado knows it), `connection` (all of these together), `admission` (which connections stay when
there is no room for all), `http_server` (accepts and watches). `listening` prepares sockets.
"""
