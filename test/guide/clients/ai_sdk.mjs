// The client of Vercel's AI SDK: tools as a model has them.
import { createMCPClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as Stdio } from "@ai-sdk/mcp/mcp-stdio";

const [tool, kind, target, ...args] = process.argv.slice(2);
const client = await createMCPClient({ transport: kind === "stdio" ? new Stdio({ command: target, args, env: process.env }) : { type: "http", url: target } });
const tools = await client.tools();
const result = await tools[tool].execute({ message: "hello" }, { toolCallId: "1", messages: [] });
await client.close();
console.log(JSON.stringify({ tools: Object.keys(tools), text: result.content[0].text }));
