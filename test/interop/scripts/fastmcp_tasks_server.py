"""A FastMCP server with tasks of the extension: one that tells its progress, one
that asks, one that never ends."""

import asyncio
import sys
from datetime import timedelta

import mcp_types
import uvicorn
from fastmcp import Context, FastMCP
from fastmcp.dependencies import Progress
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension

server = FastMCP("tasks")
server.add_extension(TasksExtension())
POLL = timedelta(milliseconds=50)


@server.tool(task=TaskConfig(mode="optional", poll_interval=POLL))
async def work(progress: Progress = Progress()) -> str:
    await progress.set_total(3)
    for step in range(1, 4):
        await progress.increment()
        await progress.set_message(f"step {step}")
        await asyncio.sleep(0.3)
    return "worked"


@server.tool(task=TaskConfig(mode="required", poll_interval=POLL))
async def ask(ctx: Context) -> str | mcp_types.InputRequiredResult:
    if ctx.input_responses:
        return f"Hello, {ctx.input_responses['name'].content['name']}!"
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params = mcp_types.ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
    return mcp_types.InputRequiredResult(input_requests={"name": mcp_types.ElicitRequest(params=params)})


@server.tool(task=TaskConfig(mode="required", poll_interval=POLL))
async def forever() -> str:
    await asyncio.sleep(3600)
    return "never"


@server.tool
def quick() -> str:
    return "done"


if sys.argv[1:] == ["http"]:
    uvicorn.run(server.http_app(), port=0)  # which says the port that it got
else:
    server.run(show_banner=False)
