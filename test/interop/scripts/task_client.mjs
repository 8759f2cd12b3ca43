// The official client of 2025-11-25 with tasks. It runs each tool named as a task
// and prints what it saw as one JSON object.
//
//   task_client.mjs URL TOOL...
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [url, ...tools] = process.argv.slice(2);
const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities: { elicitation: {} } });
const seen = { tasks: {} };
let asking;
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  seen.tasks[asking].question = request.params.message;
  return { action: "accept", content: { name: "Ada" } };
});

async function run(name) {
  asking = name;
  const saw = (seen.tasks[name] = { statuses: [], messages: [], progress: [] });
  const once = (list, value) => value !== undefined && !list.includes(value) && list.push(value);
  const stream = client.experimental.tasks.callToolStream({ name, arguments: {} }, CallToolResultSchema, {
    task: { ttl: 60_000 },
    onprogress: (p) => saw.progress.push(p.message),
  });
  for await (const message of stream) {
    if (message.task) {
      saw.id = message.task.taskId;
      once(saw.statuses, message.task.status);
      once(saw.messages, message.task.statusMessage);
    }
    if (message.type === "taskCreated" && name.endsWith("forever")) {
      saw.cancelled = (await client.experimental.tasks.cancelTask(message.task.taskId)).status;
    }
    if (message.type === "result") saw.text = message.result.content[0].text;
    if (message.type === "error") saw.error = message.error.message;
  }
  // The result can be fetched again, and what is told while it is waited for is told here too.
  if (saw.text) {
    const again = await client.experimental.tasks.getTaskResult(saw.id, CallToolResultSchema);
    saw.again = again.content[0].text;
    saw.related = again._meta?.["io.modelcontextprotocol/related-task"]?.taskId === saw.id;
  }
}

try {
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  seen.capabilities = client.getServerCapabilities().tasks;
  seen.support = Object.fromEntries((await client.listTools()).tools.map((t) => [t.name, t.execution?.taskSupport]));
  for (const name of tools) await run(name);
  if (seen.capabilities?.list) {
    seen.listed = (await client.experimental.tasks.listTasks()).tasks.map((t) => t.taskId);
  }
  // To a client that asks for no task it is a tool like any other.
  seen.plain = (await client.callTool({ name: tools[0], arguments: {} }, undefined, { onprogress() {} })).content?.[0]?.text;
  await client.close();
} catch (e) {
  seen.error = String(e?.stack ?? e);
}
console.log(JSON.stringify(seen));
process.exit(0);
