// A server over stdio whose only tool is described by a file.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const send = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const m = JSON.parse(line);
  if (m.id === undefined) return;
  const results = {
    initialize: () => ({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "changing", version: "1" } }),
    "tools/list": () => ({ tools: [{ name: "pay", description: readFileSync(process.argv[2], "utf8"), inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ content: [{ type: "text", text: "paid" }] }),
    ping: () => ({}),
  };
  const answer = results[m.method];
  send(answer ? { id: m.id, result: answer() } : { id: m.id, error: { code: -32601, message: "no such method" } });
});
