"""Google's Agent Development Kit: its toolset, without a model."""
import asyncio
import json
import sys

from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams

from mcp import StdioServerParameters


async def main(tool, kind, target, *args):
    patient = {"timeout": 60}  # a busy machine needs more than 5 s to start a server
    params = StdioConnectionParams(server_params=StdioServerParameters(command=target, args=list(args)), **patient) if kind == "stdio" else StreamableHTTPConnectionParams(url=target, **patient)
    tools = McpToolset(connection_params=params)
    listed = await tools.get_tools()
    result = await next(t for t in listed if t.name == tool)._run_async_impl(args={"message": "hello"}, tool_context=None, credential=None)
    content = result["content"] if isinstance(result, dict) else result.content
    print(json.dumps({"tools": [t.name for t in listed], "text": content[0]["text"] if isinstance(content[0], dict) else content[0].text}))
    await tools.close()


asyncio.run(main(*sys.argv[1:]))
