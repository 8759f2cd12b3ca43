"""Published Python clients against gateways whose servers take their time to start.
Reads [{era, command}] from standard input and runs them all at once: each connects,
lists, calls demo__echo and lists again. Prints the last list and the text of each, or
its error.

    startup_client.py python|fastmcp|agents
"""

import asyncio
import json
import sys

ECHO = ("demo__echo", {"message": "hello"})


async def python(mode, command, *args):
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    transport = stdio_client(StdioServerParameters(command=command, args=list(args)))
    async with Client(transport, mode=mode) as client:
        await client.list_tools()
        result = await client.call_tool(*ECHO)
        return (await client.list_tools()).tools, result.content[0].text


async def fastmcp(mode, command, *args):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(command, list(args)), mode=mode) as client:
        await client.list_tools()
        result = await client.call_tool(*ECHO)
        return await client.list_tools(), result.content[0].text


async def agents(_, command, *args):
    from agents.mcp import MCPServerStdio

    async with MCPServerStdio(params={"command": command, "args": list(args)}) as client:
        await client.list_tools()
        result = await client.call_tool(*ECHO)
        return await client.list_tools(), result.content[0].text


async def seen(start):
    try:
        mode = {"legacy": "legacy", "modern": "auto"}[start["era"]]
        tools, text = await globals()[sys.argv[1]](mode, *start["command"])
        return {"tools": [tool.name for tool in tools], "text": text}
    except Exception as e:
        return {"error": repr(e)}


async def main():
    return await asyncio.gather(*map(seen, json.load(sys.stdin)))


print(json.dumps(asyncio.run(main())))
