"""smolagents: tools as an agent has them."""
import json
import sys

from smolagents import MCPClient

from mcp import StdioServerParameters


def main(tool, kind, target, *args):
    server = StdioServerParameters(command=target, args=list(args)) if kind == "stdio" else {"url": target, "transport": "streamable-http"}
    with MCPClient(server, structured_output=False) as tools:
        text = next(t for t in tools if t.name == tool)(message="hello")
        print(json.dumps({"tools": [t.name for t in tools], "text": text}))


main(*sys.argv[1:])
