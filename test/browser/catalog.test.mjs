import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, commandLine, connect, done, newPage, suite, toolName, visit } from "./lib.mjs";

suite();

test("the catalog shows names, cost, limits and equal names", async () => {
  const page = await newPage();
  await visit(page, "catalog");
  // The server that costs most stands first, and open.
  await page.getByTestId("catalog-rows").getByText("corpus__form_web").waitFor();
  const row = page.getByTestId("row-demo-echo");
  await page.locator("[data-filter]").fill("demo echo");
  await row.getByText("demo__echo").waitFor();
  assert.match(await row.innerText(), /same name as (modern|corpus)\/echo/);
  await page.getByText("Context cost by server").waitFor();
  await page.getByLabel("Client limits").getByText(/of 100 tools/).waitFor();
  await commandLine(page, "mcp-all-in-one cost");
  await page.locator("[data-filter]").fill("demo add");
  await page.getByTestId("row-demo-add").waitFor();
  await page.getByTestId("row-demo-echo").waitFor({ state: "detached" });
  await done(page);
});

test("a tool is switched off for every client, and on again", async () => {
  const page = await newPage();
  const call = await connect("catalog-client");
  await visit(page, "catalog?q=demo+get_audio");
  const row = page.getByTestId("row-demo-get_audio");
  await row.getByRole("switch").click();
  await page.getByText("Turned off get_audio").waitFor();
  await row.getByText("Off", { exact: true }).waitFor();
  assert.equal(await toolName(call, "get_audio", "demo"), undefined);
  const { body } = await api(page, "GET", "servers/default/demo");
  assert.deepEqual(body.entry.tools, { get_audio: { enabled: false } });
  await page.getByRole("button", { name: "Undo" }).click();
  await row.getByText("demo__get_audio").waitFor();
  assert.equal(await toolName(call, "get_audio", "demo"), "demo__get_audio");
  // What needs no saying is not left in the file.
  assert.equal((await api(page, "GET", "servers/default/demo")).body.entry.tools, undefined);
  await done(page);
});

test("the lens shows what one connected client sees", async () => {
  const page = await newPage();
  await connect("lens-client");
  await visit(page, "clients");
  const client = page.getByTestId("client-lens-client");
  await client.getByRole("link", { name: "View as this client" }).click();
  await page.waitForURL(/catalog\?as=/);
  await page.locator("[data-filter]").fill("demo echo");
  await page.getByTestId("row-demo-echo").getByText("Visible", { exact: true }).waitFor();
  assert.match(await page.getByTestId("lens").locator("option:checked").innerText(), /lens-client/);
  await accessible(page);
  await done(page);
});

test("selected tools ask before they run, and no longer", async () => {
  const page = await newPage();
  const call = await connect("asking-client");
  await visit(page, "catalog?q=demo+echo");
  const row = page.getByTestId("row-demo-echo"), bulk = page.getByTestId("bulk");
  await row.getByRole("checkbox").check();
  await bulk.getByRole("button", { name: "Ask before running" }).click();
  await page.getByText("1 tool asks before running").waitFor();
  await row.getByText("asks first").waitFor();
  assert.deepEqual((await api(page, "GET", "servers/default/demo")).body.entry.tools, { echo: { ask: true } });
  await accessible(page);
  await visit(page, "servers/default/demo?tab=tools");
  await page.getByRole("row", { name: /echo/ }).getByText("asks first").first().waitFor();
  // It is the decision that clients meet: the call waits in the Inbox.
  const answer = call("tools/call", { name: await toolName(call, "echo", "demo"), arguments: { message: "asked first" } });
  await visit(page, "inbox");
  await page.getByTestId("question-approval").getByRole("button", { name: "Allow once" }).click();
  assert.match(await answer, /asked first/);
  await visit(page, "catalog?q=demo+echo");
  await row.getByRole("checkbox").check();
  await bulk.getByRole("button", { name: "Run without asking" }).click();
  await row.getByText("asks first").waitFor({ state: "detached" });
  assert.equal((await api(page, "GET", "servers/default/demo")).body.entry.tools, undefined);
  await done(page);
});
