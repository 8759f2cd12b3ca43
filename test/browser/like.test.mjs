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

test("console/first the servers of all files that were found are offered, and those that are chosen are imported", async () => {
  const home = mkdtempSync(join(tmpdir(), "first-"));
  mkdirSync(join(home, ".cursor"));
  mkdirSync(join(home, ".codeium", "windsurf"), { recursive: true });
  writeFileSync(join(home, ".cursor", "mcp.json"), JSON.stringify({ mcpServers: { notes: demo, wiki: demo } }));
  writeFileSync(join(home, ".codeium", "windsurf", "mcp_config.json"), JSON.stringify({ mcpServers: { tickets: demo, notes: demo } }));
  const gw = await gateway({ home });
  try {
    const page = await gw.open();
    const step = page.getByTestId("step-1");
    for (const name of ["Cursor", "Windsurf"]) await step.getByRole("checkbox", { name: new RegExp(name) }).waitFor();
    await step.getByRole("link", { name: "Import 4 servers" }).click();
    const found = page.getByTestId("from-programs");
    await found.getByRole("row", { name: /tickets .*Windsurf .*-role demo/ }).waitFor(); // what it would run
    // A name that two files have is chosen once.
    assert.deepEqual(await found.getByRole("checkbox", { checked: true }).evaluateAll((list) => list.map((e) => e.ariaLabel)), ["notes cursor", "wiki cursor", "tickets windsurf"]);
    await accessible(page);
    await found.getByRole("checkbox", { name: "wiki cursor" }).click();
    await found.getByRole("button", { name: "Import 2 servers" }).click();
    for (const name of ["notes", "tickets"]) await page.getByTestId("server-" + name).waitFor();
    assert.equal(await page.getByTestId("server-wiki").count(), 0);
    await visit(page, "servers/import");
    await found.getByRole("row", { name: /notes .*there already/ }).first().waitFor();
    await close(page);
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

test("console/overview the calls are compared with the time before, and the tools with a context window", async () => {
  const page = await newPage();
  const call = await connect("before-client");
  await call("tools/call", { name: await toolName(call, "echo"), arguments: { message: "x" } });
  // A gateway that is as old as the test has no hour before this one.
  await page.route("**/api/v1/history*", async (route) => {
    const response = await route.fetch(), body = await response.json(), { ok, tool, err } = body.total;
    await route.fulfill({ response, json: { ...body, before: { ok: 2 * (ok + tool + err), tool: 0, err: 0 } } });
  });
  await visit(page, "overview");
  await page.getByText("−50% vs. previous 1 h").waitFor();
  await page.getByText(/tokens per conversation · [\d.]+% of a 200k window/).waitFor();
  await accessible(page);
  await done(page);
});

test("console/server it is said who uses a server, and what its tools cost", async () => {
  const page = await newPage();
  const call = await connect("user-of-modern");
  await call("tools/call", { name: await toolName(call, "echo", "modern"), arguments: { message: "x" } });
  await visit(page, "servers/default/modern");
  await page.locator(".kv", { hasText: /Context cost\s*\d+ tokens \d+% of the total/ }).waitFor();
  await page.getByRole("link", { name: /user-of-modern/ }).click();
  await page.waitForURL("**/ui/usage?*server=modern*");
  await page.getByTestId("usage-rows").getByText("user-of-modern").waitFor();
  await done(page);
});

test("console/catalog rows are grouped by server, by cost or not at all, and say when a tool was used last", async () => {
  const page = await newPage();
  const call = await connect("last-client");
  await call("tools/call", { name: await toolName(call, "echo"), arguments: { message: "x" } });
  await visit(page, "catalog?q=demo+echo");
  await page.getByTestId("row-demo-echo").getByText("today").waitFor();
  await visit(page, "catalog");
  await page.getByTestId("group-corpus").waitFor();
  await page.getByRole("radio", { name: "Cost" }).click();
  await page.getByTestId("group-500").getByText("500 tokens or more").waitFor();
  assert.equal(await page.getByTestId("group-corpus").count(), 0);
  await page.getByTestId("row-corpus-form_web").waitFor(); // the one that costs most
  await accessible(page);
  await page.getByRole("radio", { name: "None" }).click();
  await page.getByTestId("group-500").waitFor({ state: "detached" });
  const costs = (await page.locator(".vlist-rows .c-tokens .num").allInnerTexts()).map((x) => Number(x.replaceAll(",", "")));
  assert.deepEqual(costs, [...costs].sort((a, b) => b - a));
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
    // A client that gets more than it takes is on the attention list.
    await connect("windsurf", {}, gw.url);
    await visit(page, "overview");
    await page.locator(".attention-card li", { hasText: "Windsurf" }).getByText("Gets 1,500 tools, the limit is 100").waitFor();
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
