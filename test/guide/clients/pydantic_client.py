"""Pydantic AI: its toolset, without a model."""
import asyncio
import json
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset


async def main(tool, kind, target, *args):
    tools = MCPToolset(StdioTransport(target, list(args)) if kind == "stdio" else target, init_timeout=60)  # a busy machine needs more than 5 s to start a server
    async with tools:
        listed = await tools.list_tools()
        text = await tools.direct_call_tool(tool, {"message": "hello"})
        print(json.dumps({"tools": [t.name for t in listed], "text": text}))


asyncio.run(main(*sys.argv[1:]))
