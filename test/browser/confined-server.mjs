// A server that reads a file and connects to a host through the proxy of its
// environment, and says what came of it.
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";

const text = (text, isError = false) => ({ content: [{ type: "text", text }], isError });

/** reach asks the proxy for a host, and returns the first line of its answer. */
function reach(host) {
  const proxy = new URL(process.env.HTTPS_PROXY ?? process.env.https_proxy);
  return new Promise((resolve, reject) => {
    const login = Buffer.from(decodeURIComponent(proxy.username) + ":" + decodeURIComponent(proxy.password)).toString("base64");
    const socket = connect(proxy.port, proxy.hostname, () => socket.write(`CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\nProxy-Authorization: Basic ${login}\r\n\r\n`));
    socket.once("data", (d) => { resolve(d.toString().split("\r\n")[0]); socket.destroy(); });
    socket.once("error", reject);
  });
}

const tools = {
  read: (a) => { try { return text(readFileSync(a.path, "utf8")); } catch (e) { return text(e.message, true); } },
  reach: async (a) => { const line = await reach(a.host).catch((e) => e.message); return text(line, !/ 200 /.test(line)); },
};

const results = {
  initialize: () => ({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "confined", version: "1" } }),
  "tools/list": () => ({ tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })) }),
  "tools/call": (p) => tools[p.name](p.arguments),
  ping: () => ({}),
};

for await (const line of createInterface({ input: process.stdin })) {
  const m = JSON.parse(line);
  if (m.id === undefined) continue;
  const answer = results[m.method] ? { result: await results[m.method](m.params) } : { error: { code: -32601, message: "no such method" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: m.id, ...answer }) + "\n");
}
