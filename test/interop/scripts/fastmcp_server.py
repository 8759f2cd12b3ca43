"""A FastMCP server with a tool that asks; over HTTP on a free port with "http"."""

import sys
from dataclasses import dataclass

import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.server.dependencies import get_http_headers

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


@server.tool
def fail() -> str:
    raise ValueError("on purpose")


@server.tool
def header(name: str) -> str:
    return get_http_headers(include_all=True).get(name, "none")


if sys.argv[1:] == ["http"]:
    uvicorn.run(server.http_app(), port=0)  # which says the port that it got
else:
    server.run(show_banner=False)
