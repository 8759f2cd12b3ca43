// The official client against a gateway that serves the demo server. It does
// everything a client can do once and prints what it saw as one JSON object.
//
//   client.mjs PREFIX stdio COMMAND ARGS...
//   client.mjs PREFIX http|sse URL
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const [prefix, kind, target, ...args] = process.argv.slice(2);

function transport() {
  switch (kind) {
    case "stdio":
      return new StdioClientTransport({ command: target, args, env: process.env, stderr: "inherit" });
    case "http":
      return new StreamableHTTPClientTransport(new URL(target));
    case "sse":
      return new SSEClientTransport(new URL(target));
  }
  throw new Error(`unknown transport ${kind}`);
}

const seen = { progress: [], arrived: [], together: [], log: [] };
const client = new Client(
  { name: "interop", version: "1.0.0" },
  { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
);
client.setRequestHandler(CreateMessageRequestSchema, async () => ({
  role: "assistant",
  model: "gpt-test",
  content: { type: "text", text: "forty-two" },
}));
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  seen.question = request.params.message;
  return { action: "accept", content: { name: "Ada" } };
});
client.setRequestHandler(ListRootsRequestSchema, async () => ({
  roots: [{ uri: "file:///interop", name: "interop" }],
}));
client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => {
  seen.log.push(n.params);
});
const updated = new Promise((resolve) => {
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => resolve(n.params.uri));
});

// Notes the progress of one call as it arrives, and which of it arrived together
// with the answer: the SDK hands progress over a microtask later than an answer,
// and forgets the handler of a call with its answer.
function watch(transport) {
  const deliver = transport.onmessage;
  let fresh = [];
  transport.onmessage = (message, extra) => {
    if (message.method === "notifications/progress" && !seen.long) {
      seen.arrived.push(message.params.progress);
      fresh.push(message.params.progress);
      queueMicrotask(() => (fresh = []));
    } else if (message.result) {
      seen.together.push(...fresh);
    }
    deliver(message, extra);
  };
}

const call = (name, parameters = {}, options) =>
  client.callTool({ name: prefix + name, arguments: parameters }, undefined, options);
const text = async (promise) => (await promise).content[0].text;

async function within(milliseconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing in ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function features() {
  seen.server = client.getServerVersion();
  seen.capabilities = client.getServerCapabilities();
  seen.tools = (await client.listTools()).tools.map((t) => t.name);
  seen.resources = (await client.listResources()).resources.map((r) => r.uri);
  seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate);
  seen.prompts = (await client.listPrompts()).prompts.map((p) => p.name);
  seen.text = (await client.readResource({ uri: "demo://text/2" })).contents[0].text;
  seen.blob = (await client.readResource({ uri: "demo://binary/1" })).contents[0].mimeType;
  seen.templated = (await client.readResource({ uri: "demo://text/77" })).contents[0].text;
  seen.greeting = (await client.getPrompt({ name: prefix + "greeting" })).messages[0].content.text;
  const summary = { name: prefix + "summarize", arguments: { text: "long story" } };
  seen.summary = (await client.getPrompt(summary)).messages[0].content.text;
  const complete = { ref: { type: "ref/prompt", name: prefix + "summarize" }, argument: { name: "style", value: "f" } };
  seen.completion = (await client.complete(complete)).completion.values;
  seen.missing = await client.readResource({ uri: "demo://nothing/here/at/all" }).catch((e) => e.code);
  seen.unknown = await call("no_such_tool").then(
    (r) => r,
    (e) => e.code,
  );
}

async function tools() {
  seen.echo = await text(call("echo", { message: "<héllo> \u{1F600}" }));
  seen.sum = (await call("add", { a: 19, b: 23 })).structuredContent;
  seen.image = (await call("get_image")).content[0].mimeType;
  seen.audio = (await call("get_audio")).content[0].mimeType;
  seen.failure = (await call("fail")).isError;
  seen.asked = await text(call("ask_name"));
  seen.sampled = await text(call("ask_model", { prompt: "?" }));
  seen.roots = await text(call("show_roots"));
  seen.long = await text(
    call("long_task", { seconds: 0.3, steps: 3 }, { onprogress: (p) => seen.progress.push(p.progress) }),
  );
  await client.setLoggingLevel("warning");
  await call("log_something", { level: "info", message: "quiet" });
  await call("log_something", { level: "error", message: "loud" });
}

async function session() {
  await client.subscribeResource({ uri: "demo://clock" });
  seen.updated = await within(10_000, "a subscribed resource", updated);
  await client.unsubscribeResource({ uri: "demo://clock" });
  const abort = new AbortController();
  const cancelled = call("long_task", { seconds: 60, steps: 600 }, {
    signal: abort.signal,
    onprogress: () => abort.abort("enough"),
  });
  seen.cancelled = await within(10_000, "a cancelled call", cancelled.then(() => "answered", () => "cancelled"));
  const many = Array.from({ length: 50 }, (_, i) => text(call("echo", { message: `n${i}` })));
  seen.concurrent = (await Promise.all(many)).every((t, i) => t === `n${i}`);
  await client.ping();
  seen.pinged = true;
}

try {
  const to = transport();
  await client.connect(to);
  watch(to);
  await features();
  await tools();
  await session();
  await client.close();
} catch (e) {
  seen.error = String(e?.stack ?? e);
}
console.log(JSON.stringify(seen));
process.exit(0);
