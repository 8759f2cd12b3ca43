// What every browser test uses: a browser, a page that is logged in, and the
// checks that hold on every page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

export const base = process.env.CONSOLE_URL;
const state = process.env.CONSOLE_STATE;
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
const open = new Set();

/** options are those of a browser, with more arguments if it needs them. */
export const options = (...more) => ({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run", ...more],
});

/** suite opens the browser that files share, or one with more arguments for this file, and closes everything after it. */
export function suite(...more) {
  before(async () => {
    browser = await (more.length || !process.env.BROWSER ? chromium.launch(options(...more)) : chromium.connect(process.env.BROWSER));
  });
  after(async () => {
    for (const context of open) await context.close();
    await browser?.close();
  });
}

/** newPage is a page, of another gateway if at names one, that fails the test when it talks to another host, throws or is refused by its policy. */
export async function newPage({ login = true, lang = "en", width = 1440, height = 900, dark = false, context: reuse, at = base } = {}) {
  const context = reuse ?? await browser.newContext({
    viewport: { width, height }, locale: lang, colorScheme: dark ? "dark" : "light", storageState: login ? state : undefined,
  });
  open.add(context);
  const page = await context.newPage();
  const troubles = [];
  page.troubles = troubles;
  page.at = at;
  page.on("request", (r) => {
    const url = new URL(r.url());
    if (!["data:", "blob:"].includes(url.protocol) && url.origin !== new URL(at).origin) troubles.push("request to " + r.url());
  });
  page.on("pageerror", (e) => troubles.push("thrown: " + e.message));
  page.on("console", (m) => {
    // A refusal of the API is part of some tests; the browser reports it too.
    if (m.type() === "error" && !/Failed to load resource/.test(m.text())) troubles.push("console: " + m.text());
  });
  page.setDefaultTimeout(60_000);
  return page;
}

/** visit opens a screen by its URL. */
export async function visit(page, path) {
  await page.goto(page.at + "/ui/" + path);
  await page.locator("main.screen h1").first().waitFor({ state: "attached" });
}

/** done closes a page and reports what went wrong in the background. */
export async function done(page) {
  assert.deepEqual(page.troubles, []);
  await page.context().close();
  open.delete(page.context());
}

/** accessible runs axe and fails on any violation. */
export async function accessible(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.help} (${v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary).slice(0, 3).join("; ")})`), []);
}

/** api calls the API with the cookie of a page's context. */
export async function api(page, method, path, body) {
  const r = await page.request.fetch(page.at + "/api/v1/" + path, {
    method, headers: { "X-MCP-AIO": "1", Origin: page.at, "Content-Type": "application/json" }, data: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: r.status(), body: r.status() === 204 ? undefined : await r.json().catch(() => undefined) };
}

/** commandLine waits until the footer shows a command, given as text or as a pattern. */
export async function commandLine(page, want) {
  const shown = async () => (await page.getByTestId("command-line").innerText()).replace(/^\$ /, "");
  const [source, flags] = want instanceof RegExp ? [want.source, want.flags] : ["^" + want.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$", ""];
  await page.waitForFunction(([source, flags]) => new RegExp(source, flags).test(document.querySelector("[data-testid=command-line]")?.innerText.replace(/^\$ /, "") ?? ""), [source, flags])
    .catch(async (e) => assert.fail(`the footer shows ${await shown()}, not ${want}: ${e.message}`));
}

/** result waits for the end of the call on the bench and returns its pane. */
export async function result(page, state = "ok") {
  const pane = page.locator(`[data-testid=result][data-state=${state}]`);
  await pane.waitFor();
  return pane;
}

/**
 * work is how many milliseconds of script, style and layout the page's thread
 * did during f. It is the thread's own clock, so that a busy machine does not
 * change it.
 */
export async function work(page, f) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const counted = ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"];
  const read = async () => (await cdp.send("Performance.getMetrics")).metrics.filter((m) => counted.includes(m.name)).reduce((n, m) => n + m.value * 1000, 0);
  const began = await read();
  await f();
  const took = (await read()) - began;
  await cdp.detach();
  return took;
}

const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

/** connect opens a session of a client at the gateway's own endpoint. */
export async function connect(name, capabilities = {}, at = base) {
  const send = async (body, session) => fetch(at + "/mcp", { method: "POST", headers: { ...headers, ...(session ? { "Mcp-Session-Id": session } : {}) }, body: JSON.stringify({ jsonrpc: "2.0", ...body }) });
  const first = await send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities, clientInfo: { name, version: "1.0" } } });
  await first.text();
  const session = first.headers.get("mcp-session-id");
  await (await send({ method: "notifications/initialized" }, session)).text();
  let id = 1;
  return async (method, params) => (await send({ id: ++id, method, params }, session)).text();
}

/** toolName is how the gateway names a tool of a server. */
export async function toolName(call, tool, server = "demo") {
  const list = JSON.parse((await call("tools/list", {})).replace(/^.*?data: /s, "").trim().split("\n")[0]);
  return list.result.tools.map((x) => x.name).find((n) => n.startsWith(server) && n.endsWith(tool));
}
