// The official TypeScript client runs calls that it reads from standard input
// as a JSON array of {tool, arguments}, and prints an array of results, with the
// progress that it heard.
//
//   code.mjs stdio COMMAND ARGS...
//   code.mjs http URL
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateMessageRequestSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { readFileSync } from "node:fs";

const [kind, target, ...args] = process.argv.slice(2);
const client = new Client({ name: "code", version: "1.0.0" }, { capabilities: { sampling: {}, elicitation: {} } });
client.setRequestHandler(CreateMessageRequestSchema, async () => ({
  role: "assistant", model: "gpt-test", content: { type: "text", text: "forty-two" },
}));
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }));
await client.connect(kind === "stdio"
  ? new StdioClientTransport({ command: target, args, env: process.env, stderr: "inherit" })
  : new StreamableHTTPClientTransport(new URL(target)));
const out = [];
for (const call of JSON.parse(readFileSync(0, "utf8"))) {
  const progress = [];
  const result = await client.callTool({ name: call.tool, arguments: call.arguments }, undefined, { onprogress: (p) => progress.push(p.message), timeout: 60000 });
  out.push({ result, progress });
}
await client.close();
console.log(JSON.stringify(out));
