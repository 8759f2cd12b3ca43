"""Published Python clients against a server that takes its time to start: connects,
lists, calls demo__echo, lists again, and prints the last list and the text.

    startup_client.py python|fastmcp|agents legacy|modern COMMAND ARGS...
"""

import asyncio
import json
import sys

kind, era, command, *args = sys.argv[1:]
mode = {"legacy": "legacy", "modern": "auto"}[era]
ECHO = ("demo__echo", {"message": "hello"})


async def python():
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    transport = stdio_client(StdioServerParameters(command=command, args=args))
    async with Client(transport, mode=mode) as client:
        await client.list_tools()
        result = await client.call_tool(*ECHO)
        return (await client.list_tools()).tools, result.content[0].text


async def fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(command, args), mode=mode) as client:
        await client.list_tools()
        result = await client.call_tool(*ECHO)
        return await client.list_tools(), result.content[0].text


async def agents():
    from agents.mcp import MCPServerStdio

    async with MCPServerStdio(params={"command": command, "args": args}) as client:
        await client.list_tools()
        result = await client.call_tool(*ECHO)
        return await client.list_tools(), result.content[0].text


tools, text = asyncio.run(globals()[kind]())
print(json.dumps({"tools": [tool.name for tool in tools], "text": text}))
