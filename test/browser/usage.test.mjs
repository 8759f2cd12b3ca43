import assert from "node:assert/strict";
import { before, test } from "node:test";
import { accessible, api, commandLine, connect, done, newPage, suite, toolName, visit } from "./lib.mjs";

suite();

/** Two clients: one calls, the other fails. */
before(async () => {
  const one = await connect("usage-one"), two = await connect("usage-two");
  const echo = await toolName(one, "echo", "demo");
  for (let i = 0; i < 5; i++) await one("tools/call", { name: echo, arguments: { message: "a secret message" } });
  await one("tools/call", { name: await toolName(one, "long_task", "demo"), arguments: { seconds: 0.2, steps: 1 } });
  await two("tools/call", { name: await toolName(two, "fail", "demo"), arguments: {} });
});

test("console/usage who called what, how slow, what it cost", async () => {
  const page = await newPage();
  await visit(page, "usage");
  await page.getByRole("img", { name: /Calls in the last 7 days: .* of which .* failed/ }).waitFor();
  await commandLine(page, "mcp-all-in-one usage");
  const rows = page.getByTestId("usage-rows"), row = (name) => rows.getByRole("row", { name });
  await row(/demo echo/).waitFor();
  assert.match(await row(/demo fail/).innerText(), /100%/);
  await page.getByText(/in arguments and results, .* in tool definitions/).waitFor();
  // The slowest first, when asked.
  await rows.getByRole("button", { name: "p95" }).click();
  assert.equal(await rows.getByRole("columnheader", { name: "p95" }).getAttribute("aria-sort"), "descending");
  // A tool leads to who called it.
  await row(/demo echo/).click();
  await row("usage-one").waitFor();
  await row("usage-two").waitFor({ state: "detached" });
  await commandLine(page, "mcp-all-in-one usage --by client");
  await page.getByRole("button", { name: "Server demo" }).click();
  await page.getByRole("button", { name: "Tool echo" }).click();
  await row("usage-two").waitFor();
  await page.getByRole("radio", { name: "30 d" }).click();
  await commandLine(page, "mcp-all-in-one usage --days 30 --by client");
  await accessible(page);
  const { body } = await api(page, "GET", "usage");
  assert.ok(!JSON.stringify(body).includes("secret message"));
  await done(page);
});

test("console/usage tools that nobody called lead to where they are turned off", async () => {
  const page = await newPage();
  const unused = async () => (await api(page, "GET", "usage?days=30")).body.unused.map((x) => x.server + " " + x.name);
  assert.ok(!(await unused()).includes("demo echo"));
  assert.ok((await unused()).includes("corpus form_web"));
  await visit(page, "usage");
  const card = page.getByTestId("unused");
  await card.getByText(/Turning them off saves .* tokens/).waitFor();
  await card.getByRole("link", { name: "Trim" }).click();
  await page.waitForURL(/catalog\?only=unused/);
  await page.getByTestId("catalog-rows").getByText("corpus__form_web").waitFor();
  await page.getByText(/tools have not been called since [A-Z]/).waitFor();
  await page.locator("[data-filter]").fill("demo echo");
  await page.getByText("No matches").waitFor();
  await done(page);
});

for (const [look, options] of Object.entries({ dark: { dark: true }, "dark and in Chinese": { dark: true, lang: "zh-CN" }, "on a phone": { width: 390, height: 800 } })) {
  test("console/usage is readable " + look, async () => {
    const page = await newPage(options);
    await visit(page, "usage");
    await page.getByTestId("usage-rows").getByText("echo", { exact: true }).first().waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "it scrolls sideways");
    if (options.lang) await page.getByRole("heading", { name: "谁调用了什么" }).waitFor();
    await accessible(page);
    if (process.env.LOOK) await page.screenshot({ path: `${process.env.LOOK}/usage-${look.replaceAll(" ", "-")}.png` });
    await done(page);
  });
}

test("console/usage before the first call, and when it is turned off", async () => {
  const page = await newPage();
  const none = { ok: 0, tool: 0, err: 0, p50: 0, p95: 0, tokens: 0, definitions: 0 };
  await page.route("**/api/v1/usage*", (r) => r.fulfill({ json: { on: false, by: "tool", days: [{ day: "2026-11-17", ...none }], total: none, rows: [] } }));
  await visit(page, "usage");
  await page.getByText("No calls counted yet").waitFor();
  await page.getByText("Usage is turned off").waitFor();
  await page.getByRole("link", { name: "Connect a client" }).waitFor();
  await accessible(page);
  // Calls from before it was turned off say nothing about what was not called since.
  const some = { ...none, ok: 1 };
  await page.route("**/api/v1/usage*", (r) => r.fulfill({ json: { on: false, by: "tool", days: [{ day: "2026-11-17", ...some }], total: some, unreadable: ["2026-11-15"], rows: [{ server: "demo", kind: "tool", name: "echo", last: "2026-11-17", ...some }] } }));
  await visit(page, "usage");
  await page.getByTestId("unused").getByText("Usage is turned off").waitFor();
  await page.getByText("The data of 2026-11-15 cannot be read").waitFor();
  await done(page);
});

test("console/usage a key without admin is not told that every tool was called", async () => {
  const page = await newPage();
  // The gateway leaves the tools that nobody called out for such a key.
  await page.route("**/api/v1/usage*", async (r) => {
    const { unused, ...rest } = await (await r.fetch()).json();
    assert.ok(unused);
    await r.fulfill({ json: rest });
  });
  await visit(page, "usage");
  await page.getByTestId("unused").getByText("Your key sees only its own calls").waitFor();
  assert.equal(await page.getByText("Every tool was called").count(), 0);
  await visit(page, "catalog");
  await page.getByRole("button", { name: /^Off/ }).waitFor();
  assert.equal(await page.getByText(/Not called/).count(), 0);
  await page.unrouteAll({ behavior: "ignoreErrors" }); // a request that is still being answered fails when the page closes
  await done(page);
});
