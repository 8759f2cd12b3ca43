"""LlamaIndex."""
import asyncio
import json
import sys

from llama_index.tools.mcp import BasicMCPClient


async def main(tool, kind, target, *args):
    client = BasicMCPClient(target, args=list(args))
    tools = (await client.list_tools()).tools
    result = await client.call_tool(tool, {"message": "hello"})
    print(json.dumps({"tools": [t.name for t in tools], "text": result.content[0].text}))


asyncio.run(main(*sys.argv[1:]))
