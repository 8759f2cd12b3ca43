// Another gateway than the one of all tests: a real process with a home of its
// own, which can be ended.
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { newPage } from "./lib.mjs";

/** configured makes a home with a config file. */
export function configured(config) {
  const home = mkdtempSync(join(tmpdir(), "console-")), file = join(home, "mcp.json");
  writeFileSync(file, JSON.stringify(config));
  return { home, file };
}

/** gateway starts a gateway; without a file it has its demo server. A port of null is the one of the file. */
export async function gateway({ home, file }, port = 0, more = {}) {
  const env = { ...process.env, ...more, HOME: home, XDG_STATE_HOME: join(home, "state"), XDG_CONFIG_HOME: join(home, "config"), XDG_RUNTIME_DIR: home };
  const child = spawn(process.env.PROGRAM, ["http", ...(file ? ["--mcp-config", file] : []), ...(port === null ? [] : ["--port", String(port)])], { env, cwd: home, stdio: ["ignore", "pipe", "pipe"] });
  let url;
  for await (const line of createInterface({ input: child.stdout })) if ((url = /https?:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0])) break;
  child.stdout.resume();
  child.stderr.resume();
  const ended = new Promise((r) => child.once("exit", r));
  const run = (...args) => new Promise((resolve) => { const p = spawn(process.env.PROGRAM, args, { env }); let out = ""; p.stdout.on("data", (d) => { out += d; }); p.on("exit", () => resolve(out.trim())); });
  return {
    url, home, file, run, end: async (signal) => { child.kill(signal); await ended; },
    /** open is a page of this gateway that is logged in. */
    open: async (options) => {
      const page = await newPage({ ...options, login: false, at: url });
      await page.goto(url + "/ui/" + new URL(await run("ui", "--print")).hash);
      await page.locator("main.screen").waitFor();
      return page;
    },
  };
}

/** freePorts are ports that are free now and that no outgoing connection gets: the kernel chooses higher ones. Browsers refuse some lower ones. */
export async function freePorts(n) {
  const ports = new Set();
  while (ports.size < n) {
    const port = 11000 + Math.floor(Math.random() * 21768);
    const free = await new Promise((r) => { const s = createServer().on("error", () => r(false)).listen(port, "127.0.0.1", () => s.close(() => r(true))); });
    if (free) ports.add(port);
  }
  return [...ports];
}

/** cluster starts a gateway for each name, with its servers; each has its config, too. */
export async function cluster(servers) {
  const names = Object.keys(servers), peers = (await freePorts(names.length)).map((p) => "127.0.0.1:" + p), nodes = {};
  for (const [i, node] of names.entries()) {
    const config = {
      cluster: { name: "test", node, peer: peers[i], advertise: peers[i], secret: "a-secret-of-thirty-two-bytes-or-more", members: peers, drainDelay: "0s" },
      mcpServers: Object.fromEntries(Object.entries(servers[node]).map(([name, s]) => [name, { ...s, place: "each" }])),
    };
    nodes[node] = { config, ...await gateway(configured(config)) };
  }
  return nodes;
}
