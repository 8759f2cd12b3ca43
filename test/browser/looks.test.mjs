// What pages look like: nothing is cut, hidden or said in other words than meant.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gateway } from "./gateway.mjs";
import { accessible, api, done, newPage, suite, visit } from "./lib.mjs";

suite();
const phone = { width: 390, height: 800 };

test("console/looks a server to import is whole on a phone", async () => {
  const home = mkdtempSync(join(tmpdir(), "console-"));
  mkdirSync(join(home, ".cursor"));
  writeFileSync(join(home, ".cursor", "mcp.json"), '{"mcpServers":{"github":{"command":"npx","args":["-y","@modelcontextprotocol/server-github-with-a-long-name"]}}}');
  const gw = await gateway({ home });
  try {
    const page = await gw.open(phone);
    await visit(page, "servers/import");
    const card = page.getByTestId("from-programs"), cell = card.locator("td").last();
    await cell.getByText("server-github-with-a-long-name").waitFor();
    const [inner, outer] = [await cell.boundingBox(), await card.boundingBox()];
    assert.ok(inner.x + inner.width <= outer.x + outer.width, `${inner.x + inner.width} is beyond ${outer.x + outer.width}`);
    await done(page);
  } finally { await gw.end(); }
});

test("console/looks the filter of new tests, and the button that ends a run, are whole on a phone", async () => {
  const page = await newPage(phone);
  await visit(page, "tests/new");
  assert.ok((await page.locator(".new-suite [data-filter]").boundingBox()).width > 300);
  await visit(page, "bench/demo/prompts");
  await page.getByTestId("feature-list").locator(".feature").first().waitFor();
  assert.ok(!await page.getByText("Select an item from the list").isVisible(), "a list alone needs no second pane");
  await visit(page, "bench/demo/tools/ask_name");
  await page.getByTestId("run").click();
  const end = page.getByRole("button", { name: "Cancel run" });
  await end.waitFor();
  const box = await end.boundingBox();
  assert.ok(box.x + box.width <= phone.width, `it ends at ${box.x + box.width}`);
  await end.click();
  await page.locator("[data-testid=result][data-state=cancelled]").waitFor();
  await done(page);
});

test("console/looks the inbox says who is asking, and a short JSON has no tools", async () => {
  const page = await newPage();
  const { body: bench } = await api(page, "POST", "bench", { target: { server: "demo", schema: "default", via: "direct" }, confirm: "", fresh: true });
  await api(page, "POST", `bench/${bench.id}/calls`, { method: "tools/call", params: { name: "ask_name", arguments: {} } });
  await visit(page, "inbox");
  await page.locator(".ibl a", { hasText: "demo is asking" }).waitFor();
  const json = page.getByTestId("caused");
  await json.getByText('"ask_name"').waitFor();
  assert.equal(await json.getByRole("searchbox").count(), 0);
  assert.equal(await json.getByRole("button", { name: "Copy" }).count(), 1);
  await accessible(page);
  await api(page, "DELETE", "bench/" + bench.id);
  await done(page);
});

test("console/looks the Bench begins like every page, and tells its sessions apart", async () => {
  const page = await newPage();
  for (const via of ["direct", "gateway"]) await api(page, "POST", "bench", { target: { server: "demo", schema: "default", via }, confirm: "", fresh: true });
  await visit(page, "bench");
  await page.locator(".head h1", { hasText: "Bench" }).waitFor();
  await page.locator(".target-list").last().getByText(/^Through gateway · /).first().waitFor();
  await accessible(page);
  await done(page);
});

test("console/looks what failed in the Bench is no reason of the Overview", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/large?a=" + Buffer.from('{"megabytes":"many"}').toString("base64url"));
  await page.getByTestId("run").click();
  await page.getByTestId("run").filter({ hasText: "Send anyway" }).click();
  await page.locator("[data-testid=result]:not([data-state=running])").waitFor();
  await visit(page, "traffic?q=" + encodeURIComponent("server:corpus bench:yes status:error,tool_error"));
  await page.locator(".vlist-rows .grid-row").first().waitFor();
  await visit(page, "overview");
  await page.getByRole("heading", { name: "Top error reasons" }).waitFor();
  await page.locator(".plot svg").first().waitFor();
  assert.equal(await page.locator(".reasons", { hasText: "corpus" }).count(), 0);
  await done(page);
});

test("console/looks the name of a setting is whole in the palette", async () => {
  const page = await newPage({ lang: "zh-CN" });
  await visit(page, "overview");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("registries");
  const name = page.locator("[data-id='setting registries'], [role=option]").filter({ hasText: "registries" }).first().locator("> span").first();
  await name.waitFor();
  assert.ok(await name.evaluate((e) => e.scrollWidth <= e.clientWidth));
  await done(page);
});
