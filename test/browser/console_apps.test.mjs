// Apps that servers bring along, shown by the official host bridge.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { accessible, api, base, done, newPage, result, suite, visit } from "./lib.mjs";

// Maps are drawn without a graphics card.
suite("--enable-unsafe-swiftshader", "--use-angle=swiftshader");
const folder = (name) => join(dirname(new URL(import.meta.url).pathname), "node_modules", name);

/** started puts a published server into the configuration. */
async function started(page, name, pkg) {
  const entry = { command: "node", args: [join(folder(pkg), "dist", "index.js"), "--stdio"] };
  const first = await api(page, "PUT", "servers/default/" + name, { entry, confirm: "" });
  if (first.body?.error?.run) await api(page, "PUT", "servers/default/" + name, { entry, confirm: first.body.error.run });
}

/** shown runs a tool and returns the frame inside the frame. */
async function shown(page, name, tool) {
  await visit(page, `bench/${name}/tools/${tool}`);
  await page.getByTestId("run").click();
  const pane = await result(page);
  await pane.getByTestId("tab-app").click();
  await pane.getByTestId("app-frame").waitFor();
  return { pane, app: page.frameLocator("[data-testid=app-frame]").frameLocator("iframe") };
}

test("console/apps the budget allocator runs in a frame with an origin of its own, beside its data", async () => {
  const page = await newPage();
  await started(page, "budget", "@modelcontextprotocol/server-budget-allocator");
  const { pane, app } = await shown(page, "budget", "get-budget-data");
  await app.getByText("Budget Allocator").first().waitFor();
  await app.getByText("Marketing").first().waitFor();
  await pane.locator(".duo-data").getByText('"marketing"').first().waitFor();
  // The frame is nobody's: no cookie, no storage, not the console's origin.
  const frame = page.frames().find((f) => f.url() === "about:srcdoc");
  assert.deepEqual(await frame.evaluate(() => {
    const tries = (f) => { try { return f(); } catch (e) { return e.name; } };
    return [self.origin, tries(() => document.cookie), tries(() => localStorage.length), tries(() => parent.parent.document.title)];
  }), ["null", "SecurityError", "SecurityError", "SecurityError"]);
  assert.equal(await frame.evaluate((url) => fetch(url).then(() => "reached", () => "refused"), base + "/api/v1/session"), "refused");
  await pane.getByTestId("denied").getByText("Denied: connect-src").waitFor();
  // It brings all of its code along, so it may not compile text. The debugger may, hence the timer.
  assert.equal(await frame.evaluate(() => new Promise((resolve) => setTimeout(() => { try { resolve(new Function("return 1")()); } catch (e) { resolve(e.name); } }))), "EvalError");
  await pane.getByTestId("app-log").getByText("size-changed").first().waitFor();
  await pane.getByTestId("tab-wire").click();
  const wire = pane.getByTestId("hop-app");
  for (const method of ["ui/initialize", "ui/notifications/initialized", "ui/notifications/tool-input", "ui/notifications/tool-result"]) await wire.getByText(`"${method}"`).first().waitFor();
  await pane.getByTestId("tab-raw").click();
  await pane.getByText('"structuredContent"').first().waitFor();
  page.troubles = page.troubles.filter((t) => !/Content Security Policy|Refused to|violates/.test(t));
  await api(page, "DELETE", "servers/default/budget");
  await done(page);
});

test("console/apps the map asks for its own hosts and no others", async () => {
  const page = await newPage();
  const asked = [];
  const cesium = join(folder("cesium"), "Build", "Cesium");
  // The map's library comes from its package instead of its host.
  await page.context().route((url) => url.protocol === "https:", (route) => {
    const url = new URL(route.request().url());
    asked.push(url.hostname);
    const file = join(cesium, url.pathname.replace(/^.*\/Build\/Cesium\//, ""));
    return url.hostname === "cesium.com" && existsSync(file) ? route.fulfill({ path: file, headers: { "Access-Control-Allow-Origin": "*" } }) : route.abort();
  });
  await started(page, "map", "@modelcontextprotocol/server-map");
  const { pane } = await shown(page, "map", "show-map");
  await pane.getByTestId("app-log").getByText("tool-result").first().waitFor({ timeout: 60_000 });
  // Its library compiles text; without that it draws nothing.
  await page.frames().find((f) => f.url() === "about:srcdoc").locator("canvas").first().waitFor({ state: "attached", timeout: 60_000 });
  const policy = (await page.request.get(base + "/ui/app-frame?csp=" + encodeURIComponent(JSON.stringify({ resourceDomains: ["https://cesium.com"] })))).headers()["content-security-policy"];
  assert.match(policy, /^sandbox allow-scripts allow-forms; default-src 'none'/);
  assert.ok(asked.includes("cesium.com"));
  assert.deepEqual([...new Set(asked)].filter((h) => !/(^|\.)(cesium\.com|openstreetmap\.org)$/.test(h)), []);
  // An app calls tools through this session, with the rights of who looks at it.
  const frame = page.frames().find((f) => f.url() === "about:srcdoc");
  const before = (await api(page, "GET", "bench")).body.findLast((b) => b.target.server === "map");
  const answer = await frame.evaluate(() => new Promise((resolve) => {
    addEventListener("message", (e) => { if (e.data?.id === "own") resolve(e.data); });
    parent.postMessage({ jsonrpc: "2.0", id: "own", method: "tools/call", params: { name: "show-map", arguments: {} } }, "*");
  }));
  assert.ok(answer.result?.content, JSON.stringify(answer));
  const runs = (await api(page, "GET", "runs?bench=" + before.id)).body;
  assert.equal(runs.filter((r) => r.method === "tools/call" && r.name === "show-map").length, 2);
  const link = await frame.evaluate(() => new Promise((resolve) => {
    addEventListener("message", (e) => { if (e.data?.id === "link") resolve(e.data); });
    parent.postMessage({ jsonrpc: "2.0", id: "link", method: "ui/open-link", params: { url: "https://example.com/" } }, "*");
  }));
  assert.ok(link.error ?? link.result?.isError, JSON.stringify(link));
  await pane.getByTestId("denied").getByText("https://example.com/").waitFor();
  // What the map says and throws inside its frame is its own: its tiles cannot be reached, and this test spoke in its name.
  page.troubles = page.troubles.filter((t) => !/\[APP\]|createElement|cesium|openstreetmap|Content Security Policy|Refused to|violates|WebGL|Failed to/i.test(t));
  await api(page, "DELETE", "servers/default/map");
  await done(page);
});

test("console/apps the bridge is loaded with the first app and not before", async () => {
  const page = await newPage();
  const loaded = [];
  page.on("response", (r) => { if (r.url().includes("/ui/assets/")) loaded.push(r.url()); });
  await visit(page, "bench/demo/tools/echo");
  await page.getByTestId("run").waitFor();
  assert.ok(!loaded.some((u) => /\/host-/.test(u)), loaded.join(" "));
  await accessible(page);
  await done(page);
});
