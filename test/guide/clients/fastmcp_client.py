"""FastMCP."""
import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main(tool, kind, target, *args):
    async with Client(StdioTransport(target, list(args)) if kind == "stdio" else target) as client:
        tools = await client.list_tools()
        result = await client.call_tool(tool, {"message": "hello"})
        print(json.dumps({"tools": [t.name for t in tools], "text": result.content[0].text}))


asyncio.run(main(*sys.argv[1:]))
