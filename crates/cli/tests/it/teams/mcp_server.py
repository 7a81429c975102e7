"""An MCP server made with the official SDK: `mcp_server.py stdio`, or `mcp_server.py http [KEY]` on a port that it prints."""

import asyncio
import os
import pathlib
import socket
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("tests")


def note(name):
    """Every start and every call leaves a line, if there is a file for it."""
    if path := os.environ.get("NOTES"):
        with open(path, "a", encoding="utf-8") as notes:
            notes.write(f"{name} {os.getpid()}\n")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    note("add")
    return a + b


@server.tool()
def echo(text: str) -> str:
    """Says the same, and that it was asked to."""
    note("echo")
    print(f"asked to say {text}", file=sys.stderr, flush=True)
    return text


@server.tool()
def fail() -> str:
    """Fails."""
    note("fail")
    raise ToolError("out of paper")


@server.tool()
async def wait() -> str:
    """Never answers."""
    note("wait")
    await asyncio.Event().wait()
    return ""


@server.tool()
def die() -> str:
    """Takes the whole server with it."""
    note("die")
    os._exit(3)


@server.tool()
def long(size: int) -> str:
    """Says much."""
    note("long")
    return "x" * size


@server.tool()
def picture() -> Image:
    """Paints."""
    note("picture")
    return Image(data=b"12345", format="png")


@server.tool()
def surroundings() -> list[str]:
    """What the process was given."""
    note("surroundings")
    given = pathlib.Path("/proc/self/environ").read_bytes()
    return sorted(variable.decode() for variable in given.split(b"\0") if variable)


def over_http(key):
    import uvicorn

    app = server.streamable_http_app()

    async def guarded(scope, receive, send):
        headers = dict(scope.get("headers", []))
        if scope["type"] == "http" and headers.get(b"authorization") != b"Bearer " + key.encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(guarded if key else app, log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


note("start")
if sys.argv[1] == "http":
    over_http(sys.argv[2] if len(sys.argv) > 2 else None)
else:
    server.run()
