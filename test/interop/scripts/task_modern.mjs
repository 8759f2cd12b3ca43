// The official client of the tasks extension. It calls each tool named, follows the
// task that the server makes of it, and prints what it saw as one JSON object.
//
//   task_modern.mjs URL TOOL...
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";

const [url, ...tools] = process.argv.slice(2);
const extension = "io.modelcontextprotocol/tasks";
const clientCapabilities = { elicitation: { form: {} }, extensions: { [extension]: {} } };
const clientInfo = { name: "interop", version: "1.0.0" };
const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
const seen = { tasks: {} };
let asking;
let ids = 0;

// The SDK's own codecs do not know the extension; its package wants the host to send.
async function rawDispatch(request) {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": request.method,
      "Mcp-Name": request.params.taskId ?? request.params.name,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: `raw-${++ids}`, method: request.method, params: request.params }),
  });
  const text = await response.text();
  const lines = response.headers.get("content-type").includes("event-stream")
    ? text.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5))
    : [text];
  const answer = lines.map((l) => JSON.parse(l)).find((m) => "result" in m || "error" in m);
  return answer.error ? { kind: "error", error: answer.error } : { kind: "result", result: answer.result };
}

async function run(session, call) {
  const [name, args] = call.split("=");
  asking = name;
  const saw = (seen.tasks[name] = { statuses: [], messages: [] });
  const once = (list, value) => value !== undefined && !list.includes(value) && list.push(value);
  const metadata = { progressToken: `token-${name}` };
  const execution = await session.callTool(name, args ? JSON.parse(args) : {}, { metadata });
  saw.kind = execution.kind;
  if (name.endsWith("forever")) await execution.cancel();
  const { outcome, lastTask } = await execution.settle({
    onEvent: ({ task }) => {
      if (!task) return;
      once(saw.statuses, task.status);
      once(saw.messages, task.statusMessage);
    },
  });
  saw.status = outcome.status;
  saw.text = outcome.result?.content?.[0]?.text;
  saw.error = outcome.error && String(outcome.error);
  saw.retention = lastTask?.retentionMs;
}

try {
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  seen.capabilities = client.getServerCapabilities().extensions?.[extension];
  const session = createTaskSessionFromClient(client, {
    endpointId: "interop",
    rawDispatch,
    v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo, clientCapabilities },
    onInputRequest: async (request) => {
      seen.tasks[asking].question = request.params.message;
      const property = Object.keys(request.params.requestedSchema.properties)[0];
      return { action: "accept", content: { [property]: "Ada" } };
    },
  });
  for (const call of tools) await run(session, call);
  await session.close();
  await client.close();
} catch (e) {
  seen.error = String(e?.stack ?? e);
}
console.log(JSON.stringify(seen));
process.exit(0);
