// The console of a cluster of two real gateways: each shows the other one.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { cluster } from "./gateway.mjs";
import { accessible, api, connect, newPage, suite, toolName, visit } from "./lib.mjs";

suite();

let nodes = {}; // by name

before(async () => {
  const corpus = { command: process.env.CORPUS_COMMAND }, demo = { command: process.env.PROMPTS_COMMAND.split(" ")[0], args: ["-role", "demo"] };
  nodes = await cluster({ one: { corpus, "only-one": { ...demo, tools: { add: { ask: true } } } }, two: { corpus, "only-two": { ...demo, tools: { add: { ask: true } } } } });
  // A call that fails and one that works, at the second gateway alone.
  const call = await connect("far-client", {}, nodes.two.url);
  await call("tools/call", { name: await toolName(call, "echo", "only-two"), arguments: { message: "said at two" } });
  await call("tools/call", { name: await toolName(call, "fail", "only-two"), arguments: {} });
  const own = await connect("near-client", {}, nodes.one.url);
  await own("tools/call", { name: await toolName(own, "echo", "only-one"), arguments: { message: "said at one" } });
});
after(() => Promise.all(Object.values(nodes).map((n) => n.end())));

/** open opens the console of the first gateway when it has heard of the second. */
async function open(options) {
  const page = await nodes.one.open(options);
  for (const late = Date.now() + 30_000; (await api(page, "GET", "overview?replica=*")).body.replicas?.filter((r) => !r.error).length !== 2;) assert.ok(Date.now() < late, "the replicas do not find each other");
  return page;
}

async function close(page) {
  assert.deepEqual(page.troubles, []);
  await page.context().close();
}

test("console/replicas the overview has a card with the state of each", async () => {
  for (const lang of ["en", "zh-CN"]) {
    const page = await open({ lang, dark: lang !== "en" });
    await visit(page, "overview");
    const card = page.getByTestId("replicas-card");
    for (const name of Object.keys(nodes)) await card.getByRole("row", { name: new RegExp(`^${name} `) }).getByText(lang === "en" ? "2 of 2 servers up" : "2/2 个服务器运行中").waitFor();
    // Each has a server that the other one has not.
    await card.getByRole("row", { name: /^two / }).getByText(lang === "en" ? "its configuration differs" : "配置不同", { exact: false }).waitFor();
    await accessible(page);
    await close(page);
  }
});

test("console/replicas the servers of another replica are a choice, and of all of them", async () => {
  const page = await open();
  await visit(page, "servers");
  await page.getByTestId("server-only-one").waitFor();
  assert.equal(await page.getByText("only-two").count(), 0);
  const choice = page.getByTestId("replicas");
  assert.deepEqual(await choice.locator("option").allInnerTexts(), ["Replica one", "Replica two", "All replicas"]);
  await choice.selectOption("Replica two");
  const rows = page.getByTestId("replica-servers").locator("tbody tr");
  await rows.filter({ hasText: "only-two" }).waitFor();
  assert.equal(await rows.count(), 2);
  await choice.selectOption("All replicas");
  await rows.filter({ hasText: "only-one" }).waitFor();
  assert.equal(await rows.count(), 4);
  await accessible(page);
  await choice.selectOption("Replica one");
  await page.getByTestId("server-only-one").waitFor();
  await close(page);
});

test("console/replicas a server of another replica opens, and is read from there", async () => {
  const page = await open();
  await visit(page, "servers?replica=*");
  const rows = page.getByTestId("replica-servers").locator("tbody tr");
  await rows.filter({ hasText: "only-two" }).click();
  await page.waitForURL("**/ui/servers/default/only-two?replica=two");
  await page.getByText("This server is on replica two", { exact: false }).waitFor();
  await page.locator("main [data-state=up]").first().waitFor();
  await page.locator(".kv", { hasText: "far-client" }).waitFor(); // who used it, there
  const echo = page.locator(".tool-table tbody tr", { hasText: "echo" });
  await echo.waitFor();
  assert.ok(await echo.getByRole("switch").isDisabled());
  // What this gateway cannot change has no button.
  for (const name of ["Restart", "Turn off"]) assert.equal(await page.getByRole("button", { name }).count(), 0, name);
  assert.equal(await page.getByTestId("tab-config").count(), 0);
  await accessible(page);
  await page.getByRole("link", { name: "Show calls" }).click();
  await page.locator(".grid-row", { hasText: "far-client" }).first().waitFor();
  // A server of this gateway opens as ever.
  await visit(page, "servers?replica=*");
  await rows.filter({ hasText: "only-one" }).getByRole("link").click();
  await page.waitForURL("**/ui/servers/default/only-one");
  await page.getByRole("button", { name: "Restart" }).waitFor();
  await close(page);
});

test("console/replicas a call of another replica is in the rows and opens with both hops", async () => {
  const page = await open();
  await visit(page, "traffic");
  const rows = page.getByTestId("traffic-rows").locator(".vlist-rows .grid-row");
  await rows.filter({ hasText: "near-client" }).first().waitFor();
  assert.equal(await rows.filter({ hasText: "far-client" }).count(), 0);
  await page.getByTestId("replicas").selectOption("All replicas");
  const far = rows.filter({ hasText: "far-client" });
  await far.filter({ hasText: "fail" }).waitFor();
  await rows.filter({ hasText: "near-client" }).first().waitFor();
  await page.getByRole("button", { name: "Tool errors 1" }).waitFor(); // it counts what is shown
  await far.filter({ hasText: "said at two" }).locator(".c-result").click();
  const entry = page.getByTestId("entry");
  await entry.getByText("Replica two").waitFor();
  await entry.getByRole("tab", { name: "Server side" }).click();
  await entry.getByText('"said at two"').first().waitFor();
  await accessible(page);
  // The address of the page leads to the same entry.
  await page.reload();
  await entry.getByText('"said at two"').first().waitFor();
  await page.keyboard.press("Escape");
  await entry.waitFor({ state: "detached" });
  await page.getByTestId("replicas").selectOption("Replica two");
  await far.filter({ hasText: "fail" }).waitFor();
  assert.equal(await rows.filter({ hasText: "near-client" }).count(), 0);
  // The filter is for the other replica as well.
  await page.getByRole("button", { name: /^Tool errors/ }).click();
  await far.filter({ hasText: "said at two" }).waitFor({ state: "detached" });
  await far.filter({ hasText: "fail" }).click();
  await entry.getByTestId("why").waitFor();
  await close(page);
});

test("console/replicas a new call of another replica appears by itself", async () => {
  const page = await open();
  await visit(page, "traffic?replica=two");
  await page.locator(".grid-row", { hasText: "far-client" }).first().waitFor();
  const call = await connect("late-client", {}, nodes.two.url);
  await call("tools/call", { name: await toolName(call, "echo", "only-two"), arguments: { message: "later" } });
  await page.locator(".grid-row", { hasText: "late-client" }).filter({ hasText: "later" }).waitFor();
  await close(page);
});

test("console/replicas a question of another replica is in the inbox, and is answered there", async () => {
  for (const lang of ["en", "zh-CN"]) {
    const page = await open({ lang });
    await visit(page, "overview");
    const call = await connect("asking-client", {}, nodes.two.url);
    const answer = call("tools/call", { name: await toolName(call, "add", "only-two"), arguments: { a: 20, b: 22 } });
    await page.getByTestId("inbox-badge").filter({ hasText: "1" }).waitFor();
    await visit(page, "inbox");
    const card = page.getByTestId("question-approval"), where = lang === "en" ? "Replica two" : "副本 two";
    await card.getByText(where, { exact: false }).waitFor();
    const choice = page.getByTestId("replicas");
    await choice.selectOption(lang === "en" ? "Replica one" : "副本 one");
    await card.waitFor({ state: "detached" });
    await choice.selectOption(where);
    await card.waitFor();
    await accessible(page);
    await card.locator(".button.primary").click();
    assert.match(await answer, /42/);
    await card.waitFor({ state: "detached" });
    await page.getByTestId("inbox-badge").waitFor({ state: "detached" });
    await visit(page, "inbox?tab=done");
    await page.getByTestId("done").filter({ hasText: where }).first().waitFor();
    await accessible(page);
    await close(page);
  }
});

test("console/replicas a second tab keeps the questions of other replicas when one comes at its own", async () => {
  const first = await open();
  await visit(first, "overview");
  const ask = async (node, server) => {
    const call = await connect("asking-client", {}, nodes[node].url);
    return call("tools/call", { name: await toolName(call, "add", server), arguments: { a: 20, b: 22 } });
  };
  const far = ask("two", "only-two");
  await first.getByTestId("inbox-badge").filter({ hasText: "1" }).waitFor();
  const second = await newPage({ context: first.context(), at: nodes.one.url });
  await visit(second, "inbox");
  await second.getByText("only-two wants to run").waitFor();
  const own = ask("one", "only-one");
  await second.getByText("only-one wants to run").waitFor();
  assert.equal(await second.getByText("only-two wants to run").count(), 1);
  for (const left of ["1", ""]) {
    await second.getByTestId("question-approval").locator(".button.primary").click();
    await second.getByTestId("inbox-badge").filter({ hasText: left }).waitFor({ state: left ? "visible" : "detached" });
  }
  assert.match(await far + await own, /42.*42/s);
  assert.deepEqual(second.troubles, []);
  await close(first);
});

test("console/replicas a config file that another replica cannot read is named with it", async () => {
  const page = await open();
  writeFileSync(nodes.two.file, "{");
  await page.reload();
  await page.getByTestId("unread").getByText("two: ", { exact: false }).waitFor();
  await accessible(page);
  writeFileSync(nodes.two.file, JSON.stringify(nodes.two.config));
  await page.reload();
  await page.getByTestId("replicas-card").waitFor();
  assert.equal(await page.getByTestId("unread").count(), 0);
  await close(page);
});

// The last test: it ends the second gateway.
test("console/replicas one that does not answer is said, and its rows are gone", async () => {
  const page = await open();
  await visit(page, "traffic?replica=*");
  await page.locator(".grid-row", { hasText: "far-client" }).first().waitFor();
  await nodes.two.end("SIGKILL");
  await page.getByText(/^Replica two does not answer: /).waitFor();
  await page.locator(".grid-row", { hasText: "far-client" }).first().waitFor({ state: "detached" });
  await visit(page, "inbox");
  await page.getByText(/^Replica two does not answer: /).waitFor();
  await visit(page, "overview");
  await page.getByTestId("replicas-card").getByRole("row", { name: /^two / }).locator("[data-state=down]").waitFor();
  await accessible(page);
  await close(page);
});
