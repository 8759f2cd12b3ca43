import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, commandLine, done, newPage, suite, visit } from "./lib.mjs";

suite();

const screens = [
  ["overview", "Overview", "总览", "mcp-all-in-one status"],
  ["servers", "Servers", "服务器", "mcp-all-in-one list servers"],
  ["servers/new", "Add server", "添加服务器", "mcp-all-in-one search WORD"],
  ["servers/default/demo", "demo", "demo", "mcp-all-in-one inspect demo"],
  ["servers/default/demo?tab=config", "demo", "demo", "mcp-all-in-one inspect demo"],
  ["servers/default/demo?tab=logs", "demo", "demo", "mcp-all-in-one logs demo"],
  ["servers/default/demo?tab=history", "demo", "demo", "mcp-all-in-one approve demo"],
  ["catalog", "Catalog", "目录", "mcp-all-in-one cost"],
  ["clients", "Clients", "客户端", "mcp-all-in-one list clients"],
  ["clients/zed", "Clients", "客户端", "mcp-all-in-one connect zed"],
  ["tests/new", "Create tests from traffic", "用流量生成测试", "mcp-all-in-one test from-traffic FILTER"],
  ["doctor", "Doctor", "诊断", "mcp-all-in-one doctor"],
  ["doctor/default/demo", "Doctor", "诊断", "mcp-all-in-one doctor demo"],
  ["traffic", "Traffic", "流量", "mcp-all-in-one traffic -f"],
  ["bench", "Bench", "工作台", "mcp-all-in-one inspect TARGET"],
  ["bench/demo/tools/echo", "demo", "demo", "mcp-all-in-one call demo.echo"],
  ["bench/demo/session", "demo", "demo", "mcp-all-in-one inspect demo"],
  ["inbox", "Inbox", "待办", "mcp-all-in-one inbox"],
  ["settings", "Settings", "设置", "mcp-all-in-one config show"],
];

for (const [path, en, zh, cli] of screens) {
  for (const [lang, title, dark] of [["en", en, false], ["zh-CN", zh, true]]) {
    test(`${path} in ${lang}, ${dark ? "dark" : "light"}`, async () => {
      const page = await newPage({ lang, dark });
      await visit(page, path);
      await page.locator("main h1", { hasText: title }).first().waitFor({ state: "attached" });
      await commandLine(page, cli);
      assert.equal(await page.evaluate(() => document.documentElement.lang), lang);
      assert.equal(await page.locator("h1").count(), 1);
      for (const landmark of [".app > .side nav", "main", "footer.cli-bar"]) assert.equal(await page.locator(landmark).count(), 1, landmark);
      await accessible(page);
      // A phone has less to show than a screen in the other colours.
      if (dark) { await done(page); return; }
      await page.setViewportSize({ width: 390, height: 800 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `the page is ${wide} px wide on a phone`);
      await accessible(page);
      await done(page);
    });
  }
}

test("tables fit a window of 1,300 px", async () => {
  const page = await newPage({ width: 1300 });
  for (const path of ["overview", "servers", "settings", "tests"]) {
    await visit(page, path);
    await page.locator("main [data-state], main table, main .empty, main .sr").first().waitFor();
    const over = await page.evaluate(() => [...document.querySelectorAll("main .scroll, main .card")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => `${e.getAttribute("aria-label")} ${e.scrollWidth} > ${e.clientWidth}`));
    assert.deepEqual(over, [], path);
  }
  await done(page);
});

test("the palette finds servers, screens and actions by keyboard", async () => {
  const page = await newPage();
  await visit(page, "overview");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("traff");
  await accessible(page);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/ui/traffic");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("bench demo");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/ui/bench/demo");
  await done(page);
});

test("shortcuts reach every screen; ? lists them", async () => {
  const page = await newPage();
  await visit(page, "overview");
  for (const [keys, path] of [["gs", "servers"], ["gc", "catalog"], ["gl", "clients"], ["gt", "traffic"], ["gb", "bench"], ["gx", "tests"], ["gd", "doctor"], ["ge", "settings"], ["go", "overview"], [".", "inbox"]]) {
    for (const k of keys) await page.keyboard.press(k);
    await page.waitForURL("**/ui/" + path);
  }
  await page.keyboard.press("?");
  await page.getByRole("complementary", { name: "Keyboard" }).waitFor();
  await done(page);
});

test("language and theme are switched and remembered", async () => {
  const page = await newPage();
  await visit(page, "overview");
  await page.getByTestId("language").click();
  await page.getByRole("navigation").getByText("服务器").waitFor();
  await page.getByTestId("theme").click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.reload();
  await page.getByRole("navigation").getByText("服务器").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await done(page);
});

test("several tabs share one event stream", async () => {
  const first = await newPage();
  const streams = [];
  const count = (page) => page.on("request", (r) => { if (r.url().includes("/api/v1/events")) streams.push(r.url()); });
  count(first);
  await visit(first, "overview");
  await first.locator("[data-testid=live] [data-state=live]").waitFor();
  const second = await newPage({ context: first.context() });
  count(second);
  await visit(second, "servers");
  await second.locator("[data-testid=live] [data-state=live]").waitFor();
  assert.equal(streams.length, 1);
  await first.close();
  // The other tab takes over.
  await second.waitForFunction(() => performance.getEntriesByType("resource").length > 0);
  await second.locator("[data-testid=live] [data-state=live]").waitFor();
  await done(second);
});
