// A server with as many tools as its argument says.
import { createInterface } from "node:readline";

const tools = Array.from({ length: Number(process.argv[2]) }, (_, i) => ({
  name: `tool_${i}`, description: `Does the thing that has the number ${i}.`, inputSchema: { type: "object", properties: { id: { type: "string", description: "which one" } } },
  annotations: i % 3 ? {} : { readOnlyHint: true },
}));
const results = {
  initialize: () => ({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "many", version: "1" } }),
  "tools/list": () => ({ tools }), "tools/call": (p) => ({ content: [{ type: "text", text: p.name }] }), ping: () => ({}),
};
for await (const line of createInterface({ input: process.stdin })) {
  const m = JSON.parse(line);
  if (m.id === undefined) continue;
  const answer = results[m.method] ? { result: results[m.method](m.params) } : { error: { code: -32601, message: "no such method" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: m.id, ...answer }) + "\n");
}
