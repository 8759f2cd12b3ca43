// The official TypeScript client, version 2, which finds out the era.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [tool, kind, target, ...args] = process.argv.slice(2);
const client = new Client({ name: "guide", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
await client.connect(kind === "stdio" ? new StdioClientTransport({ command: target, args, env: process.env }) : new StreamableHTTPClientTransport(new URL(target)));
const { tools } = await client.listTools();
const result = await client.callTool({ name: tool, arguments: { message: "hello" } });
await client.close();
console.log(JSON.stringify({ tools: tools.map((t) => t.name), text: result.content[0].text }));
