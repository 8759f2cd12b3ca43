// A server that waits for approval: added as a model adds it, by a tool call
// on stdio that nobody can be asked about.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { api } from "./lib.mjs";

/** addPending has a client of a second gateway write the server into the file, and the first one read it. */
export async function addPending(page, name, entry) {
  const child = spawn(process.env.PROGRAM, ["stdio", "-c", process.env.CONSOLE_CONFIG], { stdio: ["pipe", "pipe", "ignore"] });
  const lines = createInterface({ input: child.stdout });
  const ask = (id, method, params) => new Promise((resolve) => {
    const hear = (line) => { const m = JSON.parse(line); if (m.id === id && !m.method) { lines.off("line", hear); resolve(m); } };
    lines.on("line", hear);
    child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
  });
  await ask(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "model", version: "1" } });
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  const added = await ask(2, "tools/call", { name: "mcp-all-in-one-add-mcp-server", arguments: { name, ...entry } });
  child.stdin.end();
  await once(child, "exit");
  if (added.error || added.result.isError) throw new Error(JSON.stringify(added));
  await api(page, "POST", "reload");
}
