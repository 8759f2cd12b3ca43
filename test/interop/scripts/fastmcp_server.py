"""A FastMCP server with a tool that asks; over HTTP on a free port with "http"."""

import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP

server = FastMCP("ask")


@dataclass
class Person:
    name: str


@server.tool
async def ask_name(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", response_type=Person)
    return f"Hello, {answer.data.name}!"


@server.tool
def echo(message: str) -> str:
    return message


if sys.argv[1:] == ["http"]:
    server.run(transport="http", port=0, show_banner=False)
else:
    server.run(show_banner=False)
