// The official TypeScript SDK, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [tool, kind, target, ...args] = process.argv.slice(2);
const client = new Client({ name: "guide", version: "1.0.0" });
await client.connect(kind === "stdio" ? new StdioClientTransport({ command: target, args, env: process.env }) : new StreamableHTTPClientTransport(new URL(target)));
const { tools } = await client.listTools();
const result = await client.callTool({ name: tool, arguments: { message: "hello" } });
await client.close();
console.log(JSON.stringify({ tools: tools.map((t) => t.name), text: result.content[0].text }));
