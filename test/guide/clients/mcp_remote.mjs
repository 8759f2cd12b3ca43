// mcp-remote, which gives clients that know only stdio a server over HTTP; the
// official SDK stands before it.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [tool, kind, target] = process.argv.slice(2);
if (kind === "stdio") process.exit(3); // it has no such door
const client = new Client({ name: "guide", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command: process.execPath, args: [new URL("node_modules/mcp-remote/dist/proxy.js", import.meta.url).pathname, target, "--allow-http"], env: process.env }));
const { tools } = await client.listTools();
const result = await client.callTool({ name: tool, arguments: { message: "hello" } });
await client.close();
console.log(JSON.stringify({ tools: tools.map((t) => t.name), text: result.content[0].text }));
process.exit(0);
