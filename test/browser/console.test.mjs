// What the console must get right: the editor of a server, the search, the rows
// of the traffic, a gateway that does not answer, counts and switches.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { configured, gateway } from "./gateway.mjs";
import { accessible, api, base, commandLine, connect, done, newPage, suite, toolName, visit } from "./lib.mjs";

suite();

/** add configures a server and says yes to its command. */
async function add(page, name, entry) {
  const url = "servers/default/" + encodeURIComponent(name);
  const asked = await api(page, "PUT", url, { entry, confirm: "" });
  if (asked.body?.error?.run) await api(page, "PUT", url, { entry, confirm: asked.body.error.run });
}

test("console/2 a server that is saved unchanged is the same to the byte", async () => {
  const page = await newPage();
  const args = ["one\ntwo", "  blanks  ", "", "-x", "a b"];
  await add(page, "exact", { command: process.env.CORPUS_COMMAND, args, env: {} });
  const before = readFileSync(process.env.CONSOLE_CONFIG, "utf8");
  await visit(page, "servers/default/exact?tab=config");
  const fields = page.getByTestId("arguments").locator("textarea");
  await fields.nth(4).waitFor();
  assert.deepEqual(await fields.evaluateAll((list) => list.map((e) => e.value)), args);
  await accessible(page);
  const save = async () => {
    await page.getByRole("button", { name: "Save", exact: true }).click();
    const confirm = page.getByTestId("confirm").getByRole("button", { name: "Run command" });
    await confirm.or(page.locator(".toast", { hasText: "Saved exact" }).last()).first().waitFor();
    if (await confirm.isVisible()) await confirm.click();
    await page.locator(".toast", { hasText: "Saved exact" }).last().waitFor();
  };
  await save();
  assert.equal(readFileSync(process.env.CONSOLE_CONFIG, "utf8"), before);
  // Another field is changed: the arguments stay.
  await page.locator("#s-cwd").fill("/tmp");
  await save();
  await page.waitForFunction(async () => (await (await fetch("/api/v1/servers/default/exact")).json()).entry.cwd === "/tmp");
  assert.deepEqual((await api(page, "GET", "servers/default/exact")).body.entry, { command: process.env.CORPUS_COMMAND, args, env: {}, cwd: "/tmp" });
  await api(page, "DELETE", "servers/default/exact");
  await done(page);
});

test("console/3 the search finds tools, servers, clients, pages and verbs, ranked", async () => {
  const page = await newPage();
  await connect("palette-client");
  await visit(page, "overview");
  const ask = async (text) => { await page.getByRole("combobox").fill(text); };
  const ids = () => page.locator(".palette [role=option]").evaluateAll((list) => list.map((e) => e.dataset.id));
  await page.keyboard.press("Control+k");
  // Nobody has opened the Bench of this server.
  await ask("demo get_audio");
  await page.locator("[data-id='tool default/demo/get_audio'][aria-selected=true]").waitFor();
  await ask("add");
  await page.locator("[data-id='tool default/demo/add']").waitFor();
  assert.match((await ids())[0], /^tool default\/(demo|modern)\/add$/, "an equal name is first");
  for (const [text, id] of [["corpus", "server default/corpus"], ["palette-client", /^client /], ["sett", "page settings"], ["restart demo", "verb restart default/demo"], ["failed calls modern", "verb calls modern"], ["cors enabled", "setting server.cors.enabled"]]) {
    await ask(text);
    const first = page.locator(".palette [aria-selected=true]");
    await page.waitForFunction((want) => { const id = document.querySelector(".palette [aria-selected=true]")?.dataset.id ?? ""; return want.startsWith("/") ? new RegExp(want.slice(1, -1)).test(id) : id === want; }, id instanceof RegExp ? String(id) : id);
    assert.ok(await first.isVisible());
  }
  // The chosen row stays in view.
  await ask("e");
  for (let i = 0; i < 30; i++) await page.keyboard.press("ArrowDown");
  const inside = await page.evaluate(() => { const row = document.querySelector(".palette [aria-selected=true]").getBoundingClientRect(), box = document.querySelector(".palette ul").getBoundingClientRect(); return row.top >= box.top - 1 && row.bottom <= box.bottom + 1; });
  assert.ok(inside, "the chosen row left the view");
  // Nothing found says so, and offers the traffic.
  await ask("zzqqxx");
  await page.getByTestId("palette-none").waitFor();
  await accessible(page);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/ui\/traffic\?q=zzqqxx/);
  // What was used last is first.
  await page.keyboard.press("Control+k");
  await ask("doctor");
  await page.locator("[data-id='page doctor'][aria-selected=true]").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/ui/doctor");
  await page.keyboard.press("Control+k");
  await page.locator(".palette [role=option]").first().waitFor();
  assert.equal((await ids())[0], "page doctor");
  await done(page);
});

test("console/5 a row opens wherever it is clicked, and says why a call failed", async () => {
  const page = await newPage();
  await visit(page, "traffic");
  const call = await connect("row-client");
  await call("tools/call", { name: await toolName(call, "fail"), arguments: {} });
  const row = page.locator(".vlist-rows .grid-row", { hasText: "row-client" }).filter({ hasText: "fail" }).first();
  await row.getByText("this tool always fails").waitFor();
  await row.locator(".c-result").click();
  const entry = page.getByTestId("entry");
  await entry.getByTestId("why").getByText("this tool always fails").waitFor();
  await entry.getByTestId("waterfall").getByText("Server processing").waitFor();
  await commandLine(page, /traffic --open \d+$/);
  // What comes meanwhile does not move what is read.
  const before = await page.locator(".vlist-rows .grid-row").first().getAttribute("class");
  await call("tools/call", { name: await toolName(call, "echo"), arguments: { message: "later" } });
  await page.locator(".tfoot").getByText(/\d+ new/).waitFor();
  assert.equal(await page.locator(".vlist-rows .grid-row").first().getAttribute("class"), before);
  await page.keyboard.press("Escape");
  await page.locator(".vlist-rows .grid-row", { hasText: "later" }).first().waitFor();
  await accessible(page);
  await done(page);
});

test("console/5 a marked time of the overview's chart leads to its calls", async () => {
  const page = await newPage();
  const call = await connect("brush-client");
  await call("tools/call", { name: await toolName(call, "fail"), arguments: {} });
  await visit(page, "overview");
  const chart = page.getByTestId("timeline");
  await chart.waitFor();
  await chart.focus();
  await page.keyboard.press("ArrowLeft");
  for (let i = 0; i < 5; i++) await page.keyboard.press("Shift+ArrowLeft");
  await page.getByTestId("brush").waitFor();
  await page.getByTestId("selected").getByRole("link", { name: "Show these calls" }).click();
  await page.waitForURL(/traffic\?q=hop%3Aclient\+from/);
  await page.locator(".vlist-rows .grid-row", { hasText: "brush-client" }).first().waitFor();
  await done(page);
});

test("console/6 a gateway that does not answer: a banner, grey data, no changes; it comes back by itself", async () => {
  const home = configured({ mcpServers: { corpus: { command: process.env.CORPUS_COMMAND } } });
  let gw = await gateway(home);
  const page = await newPage({ login: false });
  try {
    // A slow first answer is "Connecting", never "offline".
    await page.route("**/api/v1/events*", async (route) => { await hold; await route.continue(); });
    let go;
    const hold = new Promise((r) => { go = r; });
    await page.goto(gw.url + "/ui/" + new URL(await gw.run("ui", "--print")).hash);
    await page.locator("[data-testid=live] [data-state=connecting]").waitFor();
    assert.equal(await page.getByTestId("offline").count(), 0);
    go();
    await page.locator("[data-testid=live] [data-state=live]").waitFor();
    await page.goto(gw.url + "/ui/servers");
    await page.getByTestId("server-corpus").waitFor();
    await page.locator("[data-testid=live] [data-state=live]").waitFor();
    const port = new URL(gw.url).port;
    await gw.end();
    await page.getByTestId("offline").waitFor();
    await page.getByTestId("offline").getByText(/not responding\. Showing data from \d\d:\d\d:\d\d/).waitFor();
    assert.match(await page.locator("main.screen").evaluate((e) => getComputedStyle(e).filter), /grayscale/);
    assert.equal(await page.getByRole("link", { name: "Add server" }).count(), 0);
    await page.getByTestId("server-corpus").waitFor();
    await accessible(page);
    gw = await gateway(home, port);
    // It may have come back by itself already.
    await page.getByRole("button", { name: "Retry now" }).click({ timeout: 2000 }).catch((e) => assert.match(e.message, /Timeout/));
    await page.getByTestId("offline").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Add server" }).waitFor();
  } finally { await page.context().close(); await gw.end(); }
});

test("console/6 a client that says nothing for minutes is not shown as there", async () => {
  const page = await newPage();
  await connect("gone-client");
  await visit(page, "clients");
  await page.getByTestId("client-gone-client").locator("[data-state=here]").waitFor();
  await page.getByTestId("client-gone-client").getByText(/Active now|Last seen/).waitFor();
  await page.evaluate(() => { const real = Date.now; Date.now = () => real() + 25 * 60_000; });
  await page.getByTestId("client-gone-client").locator("[data-state=quiet]").waitFor();
  await page.getByTestId("client-gone-client").getByText("Last seen 25 min ago").waitFor();
  await done(page);
});

test("console/8 booleans are switches that act at once and can be undone", async () => {
  const page = await newPage();
  await visit(page, "settings?q=compact.types");
  const box = page.locator("[id='set-compact.types']");
  await box.waitFor();
  assert.equal(await box.getAttribute("role"), "switch");
  assert.equal(await box.getAttribute("aria-checked"), "false");
  await box.click();
  await page.locator("[id='set-compact.types'][aria-checked=true]").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.locator("[id='set-compact.types'][aria-checked=false]").waitFor();
  await visit(page, "settings");
  await page.locator(".sr .switch").first().waitFor();
  assert.equal(await page.locator(".sr input").evaluateAll((list) => list.filter((e) => /^(true|false)$/.test(e.value)).length), 0);
  await done(page);
});

test("console/8 counts say what is there", async () => {
  const page = await newPage();
  await visit(page, "catalog");
  await page.getByTestId("matching").getByText(/\d+ of \d+ visible/).waitFor();
  await page.locator("[data-filter]").fill("no-such-tool-anywhere");
  await page.getByTestId("matching").getByText(/^0 of \d+$/).waitFor();
  await page.getByText("No matches").waitFor();
  await visit(page, "traffic?q=client:nobody-at-all");
  await page.getByTestId("row-count").getByText(/^0\s+calls shown/).waitFor();
  await done(page);
});

test("console/8 a long name breaks neither the footer nor the page", async () => {
  const page = await newPage();
  const name = "a-server-with-quite-a-long-name-" + "x".repeat(80);
  await add(page, name, { command: process.env.CORPUS_COMMAND });
  for (const width of [1440, 1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    for (const path of ["servers/default/" + name, "servers", "overview", "catalog"]) {
      await visit(page, path);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `${path} at ${width}`);
      if (width === 390) continue;
      const foot = await page.locator("footer.cli-bar").evaluate((e) => ({ h: e.getBoundingClientRect().height, over: [...e.children].filter((c) => c.getBoundingClientRect().right > innerWidth + 1).length }));
      assert.deepEqual(foot, { h: 30, over: 0 }, `${path} at ${width}`);
    }
  }
  await api(page, "DELETE", "servers/default/" + name);
  await done(page);
});

test("console/8 the config file has changed: the page says so and reads it again", async () => {
  const config = (...names) => ({ mcpServers: Object.fromEntries(names.map((n) => [n, { command: process.env.CORPUS_COMMAND }])) });
  const gw = await gateway(configured(config("corpus")));
  const page = await gw.open();
  try {
    await page.locator("[data-testid=live] [data-state=live]").waitFor();
    writeFileSync(gw.file, JSON.stringify(config("corpus", "second")));
    await page.reload();
    const bar = page.getByTestId("unread"), row = page.locator("main tr", { hasText: "second" });
    await bar.getByText("The config file has changed and is not in use yet: second").waitFor();
    assert.equal(await row.count(), 0);
    await accessible(page);
    await bar.getByRole("button", { name: "Reload" }).click();
    await row.first().waitFor();
    await bar.waitFor({ state: "detached" });
    // One that cannot be read says why, and the gateway goes on with the other.
    writeFileSync(gw.file, "{");
    await page.reload();
    await bar.getByText("The config file has changed but cannot be read").waitFor();
    await row.first().waitFor();
    assert.deepEqual(page.troubles, []);
  } finally { await page.context().close(); await gw.end(); }
});

test("console/8 nothing is asked of another host", async () => {
  const page = await newPage();
  for (const path of ["overview", "servers", "catalog", "clients", "traffic", "inbox", "tests", "doctor", "settings"]) await visit(page, path);
  assert.ok(base.startsWith("http://127.0.0.1"));
  await done(page); // it fails when there was a request to anywhere else
});
