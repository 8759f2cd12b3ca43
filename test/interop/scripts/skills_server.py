"""A FastMCP server of the skills in a folder, over HTTP on a free port; with "directories" it reads folders, too."""

import mimetypes
import sys
from pathlib import Path

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.extensions import MethodBinding
from fastmcp.server.providers.skills import SkillsDirectoryProvider
from fastmcp.skills.extension import SkillsExtension
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PaginatedRequestParams

root = Path(sys.argv[1])


class DirectoryParams(PaginatedRequestParams):
    uri: str


class SkillsWithDirectories(SkillsExtension):
    """FastMCP leaves out the optional method of the extension."""

    def settings(self):
        return {"directoryRead": True}

    def methods(self):
        return (*super().methods(), MethodBinding(
            method="resources/directory/read", params_type=DirectoryParams, handler=self.read))

    async def read(self, context, params):
        folder = root / params.uri.removeprefix("skill://")
        if not folder.is_dir():
            raise MCPError(code=INVALID_PARAMS, message=f"{params.uri} is not a directory resource")
        return {"resources": [{
            "uri": f"{params.uri}/{child.name}", "name": child.name,
            "mimeType": "inode/directory" if child.is_dir() else mimetypes.guess_type(child.name)[0] or "text/markdown",
        } for child in sorted(folder.iterdir())]}


server = FastMCP(root.name)
provider = SkillsDirectoryProvider(roots=root, experimental_skills=True)
server.add_provider(provider)
extension = SkillsWithDirectories if "directories" in sys.argv else SkillsExtension
server.add_extension(extension(providers=[provider]))
uvicorn.run(server.http_app(), port=0)  # which says the port that it got
