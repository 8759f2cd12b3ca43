"""openai-agents: its servers, without a model."""
import asyncio
import json
import sys

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp


async def main(tool, kind, target, *args):
    patient = {"client_session_timeout_seconds": 60}  # a busy machine needs more than 5 s to start a server
    server = MCPServerStdio({"command": target, "args": list(args)}, **patient) if kind == "stdio" else MCPServerStreamableHttp({"url": target}, **patient)
    async with server:
        tools = await server.list_tools()
        result = await server.call_tool(tool, {"message": "hello"})
        print(json.dumps({"tools": [t.name for t in tools], "text": result.content[0].text}))


asyncio.run(main(*sys.argv[1:]))
