"""The HTTP/1.1 server: sockets in, requests to the direct route and to Tornado's application, answers out.

In: listening sockets, bytes of clients, `ConnectionLimits`, an application, and a direct route
that answers vote checks without it. Out: whole requests, one at a time for each connection, and
their answers in the same order.

Invariant: whatever a client does or omits, it makes the process hold a bounded number of bytes, requests and
seconds. A request that came as a whole is answered once, or the client sees that it was not.

Reading order: `phases` (the theory: all that a connection can be doing), `parser` (bytes to events, without
I/O; the limits, and the short way of a vote check), `channel` (a socket and its end), `exchange` (a request
as Tornado knows it), `connection` (all of these together), `admission` (who stays when there is no room for
all), `http_server` (accepts and watches). `listening` prepares sockets.
"""
