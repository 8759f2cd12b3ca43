"""langchain-mcp-adapters: tools as LangChain has them."""
import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main(tool, kind, target, *args):
    server = {"transport": "stdio", "command": target, "args": list(args)} if kind == "stdio" else {"transport": "http", "url": target}
    tools = await MultiServerMCPClient({"server": server}).get_tools()
    result = await next(t for t in tools if t.name == tool).ainvoke({"message": "hello"})
    text = result if isinstance(result, str) else result[0]["text"]
    print(json.dumps({"tools": [t.name for t in tools], "text": text}))


asyncio.run(main(*sys.argv[1:]))
