"""Closes servers of asyncio without leaving a connection open."""

import asyncio


async def close_server(server: asyncio.Server) -> None:
    """Accept no more connections, and close the server in the next iteration of the loop.

    asyncio leaves a connection open that it accepts in the iteration in which its server is closed.
    """
    for listener in server.sockets:
        asyncio.get_running_loop().remove_reader(listener)
    await asyncio.sleep(0)
    server.close()
