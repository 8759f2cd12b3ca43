// Another gateway than the one of all tests: a real process with a home of its
// own, which can be ended.
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { newPage } from "./lib.mjs";

/** configured makes a home with a config file. */
export function configured(config) {
  const home = mkdtempSync(join(tmpdir(), "console-")), file = join(home, "mcp.json");
  writeFileSync(file, JSON.stringify(config));
  return { home, file };
}

/** gateway starts a gateway. */
export async function gateway({ home, file }, port = 0) {
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, "state"), XDG_CONFIG_HOME: join(home, "config"), XDG_RUNTIME_DIR: home };
  const child = spawn(process.env.PROGRAM, ["http", "--mcp-config", file, "--port", String(port)], { env, stdio: ["ignore", "pipe", "pipe"] });
  let url;
  for await (const line of createInterface({ input: child.stdout })) if ((url = /https?:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0])) break;
  child.stdout.resume();
  child.stderr.resume();
  const ended = new Promise((r) => child.once("exit", r));
  const run = (...args) => new Promise((resolve) => { const p = spawn(process.env.PROGRAM, args, { env }); let out = ""; p.stdout.on("data", (d) => { out += d; }); p.on("exit", () => resolve(out.trim())); });
  return {
    url, file, run, end: async (signal) => { child.kill(signal); await ended; },
    /** open is a page of this gateway that is logged in. */
    open: async (options) => {
      const page = await newPage({ ...options, login: false, at: url });
      await page.goto(url + "/ui/" + new URL(await run("ui", "--print")).hash);
      await page.locator("main.screen").waitFor();
      return page;
    },
  };
}
