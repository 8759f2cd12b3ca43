"""The official Python client runs calls that it reads from standard input as a
JSON array of {tool, arguments, cancel}, and prints an array of results. A call
with cancel is cancelled at its first progress.

  code_client.py legacy|modern stdio COMMAND ARGS...
  code_client.py legacy|modern http URL
"""
import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def answer(message, response_type, params, context):
    return {"name": "Ada"}


async def sample(messages, params, context):
    return "forty-two"


async def main(era, kind, target, *args):
    mode = {"legacy": "legacy", "modern": "2026-07-28"}[era]
    transport = StdioTransport(target, list(args), env=dict(os.environ)) if kind == "stdio" else target
    out = []
    async with Client(transport, mode=mode, elicitation_handler=answer, sampling_handler=sample) as client:
        for call in json.load(sys.stdin):
            progress = []
            task = None

            async def heard(done, total, message):
                progress.append(message)
                if call.get("cancel"):
                    task.cancel()

            task = asyncio.ensure_future(client.call_tool_mcp(call["tool"], call["arguments"], progress_handler=heard))
            try:
                result = (await task).model_dump(mode="json", by_alias=True, exclude_none=True)
            except asyncio.CancelledError:
                result = {"isError": True, "content": [{"type": "text", "text": "cancelled: by the caller"}]}
            out.append({"result": result, "progress": progress})
    print(json.dumps(out))


asyncio.run(main(*sys.argv[1:]))
