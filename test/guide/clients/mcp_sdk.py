"""The official Python SDK."""
import asyncio
import json
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main(tool, kind, target, *args):
    async with Client(stdio_client(StdioServerParameters(command=target, args=list(args))) if kind == "stdio" else target) as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool(tool, {"message": "hello"})
        print(json.dumps({"tools": [t.name for t in tools], "text": result.content[0].text}))


asyncio.run(main(*sys.argv[1:]))
