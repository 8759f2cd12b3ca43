// The official TypeScript clients run calls that they read from standard input
// as a JSON array of {tool, arguments, cancel, all}, and print an array of results,
// with the progress that they heard. A call with cancel is cancelled at its first
// progress. A call with all is repeated with the lines that the result says come
// next, and the texts are joined; it reads the last result:// address in a result.
//
//   code.mjs legacy|modern stdio COMMAND ARGS...
//   code.mjs legacy|modern http URL
import { readFileSync } from "node:fs";

const [era, kind, target, ...args] = process.argv.slice(2);
const info = { name: "code", version: "1.0.0" };
const capabilities = { sampling: {}, elicitation: {} };
const sample = async () => ({ role: "assistant", model: "gpt-test", content: { type: "text", text: "forty-two" } });
const elicit = async () => ({ action: "accept", content: { name: "Ada" } });

async function connect() {
  const env = process.env;
  if (era === "legacy") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { CreateMessageRequestSchema, ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const client = new Client(info, { capabilities });
    client.setRequestHandler(CreateMessageRequestSchema, sample);
    client.setRequestHandler(ElicitRequestSchema, elicit);
    await client.connect(kind === "stdio"
      ? new StdioClientTransport({ command: target, args, env, stderr: "inherit" })
      : new StreamableHTTPClientTransport(new URL(target)));
    return [client, (params, options) => client.callTool(params, undefined, options)];
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const client = new Client(info, { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
  client.setRequestHandler("sampling/createMessage", sample);
  client.setRequestHandler("elicitation/create", elicit);
  await client.connect(kind === "stdio"
    ? new StdioClientTransport({ command: target, args, env, stderr: "inherit" })
    : new StreamableHTTPClientTransport(new URL(target)));
  return [client, (params, options) => client.callTool(params, options)];
}

const [client, call] = await connect();
await client.listTools(); // from now on results are held against their schemas
const out = [];
let kept = "";
async function whole(c, options) {
  for (let lines = c.arguments.lines, text = ""; ;) {
    const result = await call({ name: c.tool, arguments: { ...c.arguments, lines, result: kept } }, options);
    const [part, rest] = result.content[0].text.split("\n… go on with lines=");
    text += part;
    if (result.isError || !rest) return { ...result, content: [{ type: "text", text }] };
    if (!text.endsWith("\n")) text += "\n";
    lines = rest.match(/^[0-9]+-/)[0];
  }
}
for (const c of JSON.parse(readFileSync(0, "utf8"))) {
  const progress = [];
  const cancel = new AbortController();
  const onprogress = (p) => {
    progress.push(p.message);
    if (c.cancel) cancel.abort("no longer wanted");
  };
  let result;
  try {
    const options = { onprogress, timeout: 60000, signal: cancel.signal };
    result = await (c.all ? whole(c, options) : call({ name: c.tool, arguments: c.arguments }, options));
    kept = JSON.stringify(result.content).match(/result:\/\/[0-9a-f]+/)?.[0] ?? kept;
  } catch (e) {
    if (!c.cancel) throw e;
    result = { isError: true, content: [{ type: "text", text: "cancelled: " + e }] };
  }
  out.push({ result, progress });
}
await client.close();
process.stdout.write(JSON.stringify(out), () => process.exit(0)); // not before all is written
