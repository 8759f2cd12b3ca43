import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { accessible, api, base, commandLine, connect, done, newPage, suite, visit } from "./lib.mjs";

suite();
const file = join(process.env.HOME, ".cursor", "mcp.json");
const before = '{\n  // mine\n  "mcpServers": {\n    "github": {\n      "command": "npx",\n      "env": { "GITHUB_TOKEN": "ghp_very_secret" }\n    }\n  }\n}\n';

test("a client that connects is on the page at once, with what it offers", async () => {
  const page = await newPage();
  await visit(page, "clients");
  await page.getByText("Connect a client").waitFor();
  // No reload: the event stream tells.
  await connect("newcomer", { roots: {}, elicitation: {} });
  const row = page.getByTestId("client-newcomer");
  await row.getByText("newcomer").waitFor();
  await row.getByText("elicitation").waitFor();
  await row.getByText("roots").waitFor();
  assert.match(await row.innerText(), /1\.0/);
  await done(page);
});

test("connect wizard: the exact difference, a backup, then undo to the byte", async () => {
  mkdirSync(join(process.env.HOME, ".cursor"), { recursive: true });
  writeFileSync(file, before);
  const page = await newPage();
  await visit(page, "clients");
  await page.getByTestId("program-cursor").getByRole("link", { name: /Connect/ }).click();
  await page.waitForURL("**/ui/clients/cursor");
  const diff = page.getByTestId("diff");
  await diff.getByText('"mcp-all-in-one"').waitFor();
  assert.ok(!(await diff.innerText()).includes("ghp_very_secret"), "a secret is in the page");
  assert.equal(readFileSync(file, "utf8"), before, "a preview wrote the file");
  await commandLine(page, "mcp-all-in-one connect cursor");
  await accessible(page);
  await page.getByRole("button", { name: "Save with backup" }).click();
  await page.getByTestId("wizard").locator("[data-state=waiting]").waitFor();
  const after = readFileSync(file, "utf8");
  assert.ok(after.includes('"mcp-all-in-one"') && after.includes("// mine") && after.includes("ghp_very_secret"), after);
  const backup = await page.getByTestId("wizard").locator("code").last().innerText();
  assert.ok(existsSync(backup) && readFileSync(backup, "utf8") === before, backup);
  // It comes, and the page says so.
  await connect("cursor-vscode");
  await page.getByTestId("wizard").locator("[data-state=come]").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Disconnected Cursor").waitFor();
  assert.equal(readFileSync(file, "utf8"), before);
  await done(page);
});

test("connect wizard: by URL, and its own servers moved behind the gateway", async () => {
  writeFileSync(file, before);
  const page = await newPage();
  await visit(page, "clients/cursor");
  await page.getByLabel("Connects by URL").check();
  await page.getByTestId("diff").getByText(base + "/mcp").waitFor();
  await page.getByLabel(/Also route its/).check();
  await page.getByText("Will go through the gateway: github").waitFor();
  await page.getByRole("button", { name: "Save with backup" }).click();
  await page.getByTestId("wizard").locator("[data-state=waiting]").waitFor();
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(file, "utf8").replace(/^\s*\/\/.*$/m, "")).mcpServers), ["mcp-all-in-one"]);
  assert.equal((await api(page, "GET", "servers/default/github")).body.entry.env.GITHUB_TOKEN, "***");
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Disconnected Cursor").waitFor();
  assert.equal(readFileSync(file, "utf8"), before);
  assert.equal((await api(page, "GET", "servers/default/github")).status, 404); // it went back with the rest
  await done(page);
});

test("a file that changed since the preview is not overwritten", async () => {
  writeFileSync(file, before);
  const page = await newPage();
  await visit(page, "clients/cursor");
  await page.getByTestId("diff").waitFor();
  const mine = before.replace("github", "gitlab");
  writeFileSync(file, mine);
  await page.getByRole("button", { name: "Save with backup" }).click();
  await page.getByText("the file has changed since").waitFor();
  assert.equal(readFileSync(file, "utf8"), mine);
  await done(page);
});
