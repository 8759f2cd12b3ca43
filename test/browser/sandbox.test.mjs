// A confined server: the host that it is refused is a question in the Inbox, and
// what it may not read is said with the way out.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { configured, gateway } from "./gateway.mjs";
import { accessible, connect, suite, toolName, visit } from "./lib.mjs";

suite();
let gw, call;
const server = new URL("confined-server.mjs", import.meta.url).pathname;
before(async () => {
  gw = await gateway(configured({ mcpServers: { web: { command: process.execPath, args: [server], sandbox: { read: [dirname(server), dirname(dirname(process.execPath))], hosts: ["good.example.com"] } } } }));
  call = await connect("careful", {}, gw.url);
});
after(() => gw?.end());

const entry = () => JSON.parse(readFileSync(gw.file, "utf8")).mcpServers.web;
const run = async (tool, args) => call("tools/call", { name: await toolName(call, tool, "web"), arguments: args });

test("console/sandbox a refused host is a question: denied it stays refused, allowed it is in the entry", async () => {
  const page = await gw.open();
  await visit(page, "inbox");
  await page.getByText("You're all caught up").waitFor();
  assert.match(await run("reach", { host: "api.example.com:443" }), /403/);
  const card = page.getByTestId("question-host");
  await card.getByText("api.example.com:443").waitFor();
  await page.getByTestId("inbox-badge").filter({ hasText: "1" }).waitFor();
  await accessible(page);
  await card.getByRole("button", { name: "Deny" }).click();
  await card.waitFor({ state: "detached" });
  assert.deepEqual(entry().sandbox.hosts, ["good.example.com"]);
  // A host that was denied is not asked about again, another one is.
  assert.match(await run("reach", { host: "api.example.com:443" }), /403/);
  assert.match(await run("reach", { host: "data.example.com:443" }), /403/);
  await card.getByText("data.example.com:443").waitFor();
  assert.equal(await page.locator(".ibl li a").count(), 1);
  // The overview leads to it.
  await visit(page, "overview");
  await page.locator(".attention-card", { hasText: "data.example.com" }).getByRole("link", { name: "Answer" }).click();
  await card.getByRole("button", { name: "Allow always" }).click();
  await card.waitFor({ state: "detached" });
  assert.deepEqual(entry().sandbox.hosts, ["good.example.com", "data.example.com:443"]);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});

test("console/sandbox the question is in Chinese on the Chinese page", async () => {
  const zh = await gw.open({ lang: "zh-CN", dark: true, width: 390, height: 800 });
  await run("reach", { host: "zh.example.com:443" });
  await visit(zh, "inbox");
  await zh.locator(".ibl li a").click();
  const card = zh.getByTestId("question-host");
  await card.getByText("zh.example.com:443").waitFor();
  await card.getByRole("button", { name: "始终允许" }).waitFor();
  await accessible(zh);
  await card.getByRole("button", { name: "拒绝" }).click();
  await card.waitFor({ state: "detached" });
  await zh.context().close();
});

test("console/sandbox a call that was refused a file says how to learn what the server needs", async () => {
  const page = await gw.open();
  const path = join(mkdtempSync(join(homedir(), "kept-")), "private.txt");
  writeFileSync(path, "private");
  assert.match(await run("read", { path }), /EACCES|EPERM/);
  await visit(page, "traffic");
  await page.locator(".grid-row", { hasText: "web read" }).first().click();
  const entry = page.getByTestId("entry");
  await entry.getByLabel("Gateway changes").getByText("confined; `sandbox learn web` shows what it wants").waitFor();
  await accessible(page);
  // The same on the Bench.
  await visit(page, "bench/web/tools/read?via=gateway");
  await page.getByRole("button", { name: "JSON", exact: true }).first().click();
  await page.locator(".form-pane textarea, .form-pane .cm-content").first().fill(JSON.stringify({ path }));
  await page.getByTestId("run").click();
  const pane = page.locator("[data-testid=result][data-state=tool_error]");
  await pane.getByText("`sandbox learn web`").first().waitFor();
  await accessible(page);
  assert.deepEqual(page.troubles, []);
  await page.context().close();
});
