"""mcp-use."""
import asyncio
import json
import sys

from mcp_use import MCPClient


async def main(tool, kind, target, *args):
    server = {"command": target, "args": list(args)} if kind == "stdio" else {"url": target}
    client = MCPClient({"mcpServers": {"server": server}})
    session = await client.create_session("server")
    tools = await session.list_tools()
    result = await session.call_tool(tool, {"message": "hello"})
    print(json.dumps({"tools": [t.name for t in tools], "text": result.content[0].text}))
    await client.close_all_sessions()


asyncio.run(main(*sys.argv[1:]))
