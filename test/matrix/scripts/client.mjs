// The official client in one cell of the matrix: it prints what it saw as one
// JSON object.
//
//   client.mjs VERSION ASK URL
//   client.mjs VERSION ASK COMMAND ARGS...
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateMessageRequestSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [version, ask, target, ...args] = process.argv.slice(2);
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args, env: process.env, stderr: "inherit" });

// The SDK proposes its newest version and goes by what is agreed.
const send = transport.send.bind(transport);
transport.send = (message, options) => {
  if (message.method === "initialize") message.params.protocolVersion = version;
  return send(message, options);
};

const saw = {};
const agree = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (v) => {
  saw.version = v;
  agree?.(v);
};

const client = new Client({ name: "matrix", version: "1" }, { capabilities: { sampling: {}, elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }));
client.setRequestHandler(CreateMessageRequestSchema, async () => ({
  role: "assistant",
  model: "m",
  content: { type: "text", text: "four" },
}));

const call = async (name, parameters, options) =>
  (await client.callTool({ name: "demo__" + name, arguments: parameters }, undefined, options)).content[0].text;

try {
  await client.connect(transport);
  saw.tools = (await client.listTools()).tools.map((t) => t.name);
  saw.hello = await call("echo", { message: "hello" });
  saw.asked = await call(ask, ask === "ask_name" ? {} : { prompt: "2+2" });
  saw.long = await call("long_task", { seconds: 0.3, steps: 3 }, { onprogress: () => {} });
  const abort = new AbortController();
  saw.cancelled = await call(
    "long_task",
    { seconds: 60, steps: 600 },
    { signal: abort.signal, onprogress: () => abort.abort("enough") },
  ).then(
    () => "answered",
    () => "cancelled",
  );
  saw.still = await call("echo", { message: "still here" });
  await client.close();
} catch (e) {
  saw.error = String(e?.stack ?? e);
}
console.log(JSON.stringify(saw));
process.exit(0);
