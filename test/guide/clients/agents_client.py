"""openai-agents: its servers, without a model."""
import asyncio
import json
import sys

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp


async def main(tool, kind, target, *args):
    server = MCPServerStdio({"command": target, "args": list(args)}) if kind == "stdio" else MCPServerStreamableHttp({"url": target})
    async with server:
        tools = await server.list_tools()
        result = await server.call_tool(tool, {"message": "hello"})
        print(json.dumps({"tools": [t.name for t in tools], "text": result.content[0].text}))


asyncio.run(main(*sys.argv[1:]))
