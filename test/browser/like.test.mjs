// The pages at a glance: a first run, the dashboard, servers, a server, a large
// catalog, and a call that is approved from elsewhere.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { configured, gateway } from "./gateway.mjs";
import { accessible, api, connect, done, newPage, suite, toolName, visit, work } from "./lib.mjs";

suite();
const demo = { command: process.env.PROMPTS_COMMAND.split(" ")[0], args: ["-role", "demo"] };

async function close(page) {
  assert.deepEqual(page.troubles, []);
  await page.context().close();
}

test("console/first a first run says that it is a demo, and has three steps", async () => {
  const home = mkdtempSync(join(tmpdir(), "first-"));
  mkdirSync(join(home, ".cursor"));
  writeFileSync(join(home, ".cursor", "mcp.json"), '{"mcpServers":{"github":{"command":"npx"}}}');
  const gw = await gateway({ home });
  try {
    for (const [lang, said, steps] of [["en", /demo/, ["Add a server", "Connect a client", "Try a tool"]], ["zh-CN", /演示/, ["添加服务器", "连接客户端", "试用工具"]]]) {
      const page = await gw.open({ lang, dark: lang !== "en" });
      const first = page.getByTestId("first-run");
      await first.locator(".hello", { hasText: said }).waitFor();
      for (const [i, title] of steps.entries()) assert.match(await page.getByTestId(`step-${i + 1}`).locator("h2").innerText(), new RegExp(title, "i"));
      await page.getByTestId("step-1").getByText("Cursor").waitFor(); // a file that is there
      await accessible(page);
      await page.setViewportSize({ width: 390, height: 800 });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
      await page.getByTestId("step-3").getByRole("link", { name: "add" }).click();
      await page.locator("#t_a").waitFor();
      await close(page);
    }
  } finally { await gw.end(); }
});

test("console/overview the chart has axes, a hover with the numbers, and is reached by keys", async () => {
  const page = await newPage();
  const call = await connect("chart-client");
  await call("tools/call", { name: await toolName(call, "fail"), arguments: {} });
  for (let i = 0; i < 5; i++) await call("tools/call", { name: await toolName(call, "echo"), arguments: { message: "x" } });
  await visit(page, "overview");
  const chart = page.getByTestId("timeline"), plot = page.locator(".plot", { has: chart }).first();
  await plot.locator(".y span").first().waitFor();
  assert.equal(await plot.locator(".y span").first().innerText(), "0");
  assert.ok(await plot.locator(".x span").count() >= 4);
  assert.match(await plot.locator(".y2 span").last().innerText(), /(ms|s|µs)$/);
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width - 4, box.y + box.height / 2);
  const tip = plot.locator(".tip");
  await tip.getByText("Tool error").waitFor();
  assert.match(await tip.innerText(), /\d\d:\d\d/);
  // By keys: the last column, then a selection that says what it holds.
  await page.mouse.move(0, 0);
  await chart.focus();
  await page.keyboard.press("ArrowRight");
  await tip.waitFor();
  await page.keyboard.press("Shift+ArrowLeft");
  await page.getByRole("link", { name: "Show these calls" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Show these calls" }).waitFor({ state: "detached" });
  await done(page);
});

test("console/servers failures stand first, with their reason, and each has its availability", async () => {
  const page = await newPage();
  await visit(page, "servers");
  const rows = page.locator("main tbody tr");
  await page.getByTestId("server-demo").waitFor();
  assert.match(await rows.first().innerText(), /broken[\s\S]*Down[\s\S]*no-such-server/);
  await page.getByRole("img", { name: "demo Availability, 24 h" }).waitFor();
  assert.equal(await page.getByRole("img", { name: "broken Availability, 24 h" }).locator("path.x").count(), 1); // down is a shape of its own
  // What is in words has the room: the state takes what the others leave.
  const widths = await page.locator("main thead th").evaluateAll((list) => list.map((e) => e.getBoundingClientRect().width));
  assert.ok(widths[1] >= 190, `${widths}`);
  await done(page);
});

test("console/server a server's page has its capabilities, speed and tools, in both languages", async () => {
  for (const [lang, caps] of [["en", ["tools", "list changes", "subscriptions"]], ["zh-CN", ["工具", "列表变更", "订阅"]]]) {
    const page = await newPage({ lang });
    await visit(page, "servers/default/demo");
    const list = page.getByTestId("capabilities");
    for (const cap of caps) await list.locator("li", { hasText: cap }).waitFor();
    if (lang !== "en") assert.doesNotMatch(await list.innerText(), /[a-z]{3}/i);
    await page.getByRole("img", { name: /^demo (Latency|延迟)/ }).first().waitFor();
    await page.locator(".tool-table tbody tr").nth(8).waitFor();
    await done(page);
  }
});

test("console/catalog 1,500 tools: cost by server, what was not called, and no long wait", async () => {
  const many = new URL("many-server.mjs", import.meta.url).pathname, tools = (n) => ({ command: process.execPath, args: [many, String(n)] });
  const gw = await gateway(configured({ mcpServers: { big: tools(900), middle: tools(450), small: tools(150) } }));
  try {
    const page = await gw.open();
    for (const late = Date.now() + 60_000; (await api(page, "GET", "servers")).body.reduce((n, s) => n + s.tools, 0) !== 1500;) assert.ok(Date.now() < late, "the servers do not start");
    await visit(page, "catalog");
    await page.getByText("What clients see: 1,500 tools from 3 servers").waitFor();
    // The whole list costs this much in a conversation, and each server its part.
    await page.getByTestId("treemap").getByRole("button", { name: /^big/ }).waitFor();
    assert.equal(await page.getByTestId("treemap").getByRole("button").count(), 3);
    const rows = page.getByTestId("catalog-rows");
    await rows.getByText("big", { exact: true }).waitFor();
    assert.ok(await rows.getByRole("switch").count() < 200, "rows outside the view are not drawn");
    await accessible(page);
    const took = await work(page, async () => {
      await page.locator("[data-filter]").fill("small tool_149");
      await page.getByTestId("row-small-tool_149").waitFor();
    });
    assert.ok(took < 300, `${took} ms of work for a filter`);
    await close(page);
  } finally { await gw.end(); }
});

test("console/approve a message leads to the exact call, and the yes is for what was shown", async () => {
  const told = [];
  let hear;
  const heard = new Promise((r) => { hear = r; });
  const hook = createServer(async (req, res) => { let s = ""; for await (const part of req) s += part; told.push(JSON.parse(s)); res.end(); hear(); });
  await new Promise((r) => hook.listen(0, "127.0.0.1", r));
  const gw = await gateway(configured({ inbox: { webhook: { url: `http://127.0.0.1:${hook.address().port}/`, format: "json" } }, mcpServers: { demo: { ...demo, tools: { echo: { ask: true } } } } }));
  try {
    const page = await gw.open({ width: 390, height: 800 });
    const call = await connect("far-away", {}, gw.url);
    const answer = call("tools/call", { name: await toolName(call, "echo"), arguments: { message: "a secret" } });
    await heard;
    assert.equal(told[0].tool, "echo");
    assert.ok(!JSON.stringify(told[0]).includes("a secret"), "arguments are not sent");
    assert.equal(new URL(told[0].link).origin, gw.url);
    await page.goto(told[0].link);
    const card = page.getByTestId("question-approval");
    await card.getByText('"a secret"').waitFor();
    await accessible(page);
    const sent = page.waitForRequest((r) => r.method() === "POST" && r.url().includes("/inbox/"));
    await card.getByRole("button", { name: "Allow once" }).click();
    assert.ok((await sent).url().endsWith("/inbox/" + told[0].id), "the yes names what was shown"); // the id ends with its digest
    assert.match(await answer, /a secret/);
    await close(page);
  } finally { await gw.end(); hook.close(); }
});
