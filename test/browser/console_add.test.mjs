// Adding a server: by name, bundle, command and URL.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { accessible, api, commandLine, done, newPage, suite, visit } from "./lib.mjs";

suite();

const rows = (page) => page.getByTestId("will-run-rows");
const file = () => readFileSync(process.env.CONSOLE_CONFIG, "utf8");
const remove = (page, name) => api(page, "DELETE", "servers/default/" + name);

test("console/add a server of a registry: searched, shown whole, its secret asked for, added and started", async () => {
  const page = await newPage();
  await visit(page, "servers");
  await page.getByRole("link", { name: "Add server" }).click();
  await page.locator("#add-search").fill("notes");
  await page.getByTestId("found-com.example/notes").getByText("2.1.0").waitFor();
  await commandLine(page, "mcp-all-in-one search notes");
  await accessible(page);
  await page.getByTestId("found-com.example/notes").click();
  await rows(page).getByText("remote http://127.0.0.1").waitFor();
  await rows(page).getByText("Authorization=Bearer ${secret:notes.key}").waitFor();
  await commandLine(page, /^mcp-all-in-one add com\.example\/notes/);
  const go = page.getByTestId("add-go");
  assert.ok(await go.isDisabled(), "it can be added without its secret");
  await page.getByText("Still needed: key").waitFor();
  await page.locator("#add-q-key").fill("team-key");
  assert.equal(await page.locator("#add-q-key").getAttribute("type"), "password");
  await page.getByText("Nothing has been downloaded or started yet").waitFor();
  await accessible(page);
  const answers = [];
  page.on("response", (r) => { if (r.url().includes("/api/v1/")) answers.push(r.text().catch(() => "")); });
  const sent = page.waitForRequest((r) => r.url().endsWith("/install"));
  await go.click();
  assert.match(JSON.parse((await sent).postData()).hash, /^[0-9a-f]{64}$/);
  await page.getByTestId("added").getByText(/notes is up with \d+ tools/).waitFor();
  await accessible(page);
  assert.ok(!file().includes("team-key"), "the secret is in the config file");
  assert.ok(file().includes("${secret:notes.key}"));
  await page.getByTestId("added").getByRole("link", { name: "Open server" }).click();
  await page.locator("main [data-state=up]").first().waitFor();
  await page.getByTestId("tab-config").click();
  await page.locator("#s-url").waitFor();
  assert.ok(!(await page.content()).includes("team-key"), "the secret is in the page");
  for (const text of await Promise.all(answers)) assert.ok(!text.includes("team-key"), "the secret came back: " + text.slice(0, 200));
  await visit(page, "servers/new?q=notes");
  await page.getByTestId("found-com.example/notes").getByText("added as notes").waitFor();
  await remove(page, "notes");
  await done(page);
});

test("console/add what a package runs is exact, and another way to run it is a choice", async () => {
  const page = await newPage();
  await visit(page, "servers/new?q=airtable");
  await page.getByTestId("found-io.github.domdomegg/airtable-mcp-server").click();
  await rows(page).getByText("npx -y airtable-mcp-server@1.7.3", { exact: true }).waitFor();
  await rows(page).getByText("AIRTABLE_API_KEY=${secret:airtable.AIRTABLE_API_KEY}").waitFor();
  await rows(page).getByText("npm airtable-mcp-server 1.7.3").waitFor();
  await rows(page).getByText(/^on: reads its own files/).waitFor();
  await page.getByRole("switch", { name: "Run in a sandbox" }).click();
  await rows(page).getByText("off: it can do all that you can").waitFor();
  await page.locator("#add-name").fill("tables");
  await rows(page).getByText("${secret:tables.AIRTABLE_API_KEY}").waitFor();
  await commandLine(page, "mcp-all-in-one add io.github.domdomegg/airtable-mcp-server --name tables --no-sandbox");
  await page.getByText("Config entry").click();
  await page.getByTestId("will-run-entry").getByText('"registry": "work"').waitFor();
  await page.locator("#add-way").selectOption("oci");
  // The registry of the image is asked for its digest, which not every machine can do.
  await page.getByText(/cannot be had from its registry|needs docker|docker run -i --rm/).first().waitFor();
  await done(page);
});

test("console/add a bundle is read, asked about, unpacked after the yes", async () => {
  const page = await newPage();
  await visit(page, "servers/new?from=bundle");
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Choose file" }).click()]);
  await chooser.setFiles(process.env.BUNDLE);
  await rows(page).getByText("hello.mcpb").waitFor();
  await rows(page).locator("div", { hasText: "signed" }).getByText("no", { exact: true }).waitFor();
  await accessible(page);
  await page.locator("#add-q-folders").fill("/no/such/folder");
  await page.getByText("there is no /no/such/folder").waitFor();
  assert.ok(await page.getByTestId("add-go").isDisabled());
  const folder = mkdtempSync(join(tmpdir(), "chosen-"));
  await page.locator("#add-q-key").fill("s3cret-key");
  await page.locator("#add-q-folders").fill(folder); // last: what is shown with it was made with both
  await rows(page).getByText(folder).first().waitFor();
  await page.locator("[data-testid=add-go]:enabled").click();
  await page.getByTestId("added").getByText("hello is up with 1 tool").waitFor();
  assert.ok(!file().includes("s3cret-key"));
  // Its name is taken now.
  await page.getByRole("button", { name: "Add another" }).click();
  await page.locator("#add-bundle").fill(process.env.BUNDLE);
  await page.getByRole("button", { name: "Look inside" }).click();
  await page.getByText("there is a server hello already; choose another name").waitFor();
  await remove(page, "hello");
  await done(page);
});

test("console/add a command that does not start stays, turned off, with the reason", async () => {
  const page = await newPage();
  await visit(page, "servers/new?from=command");
  await page.locator("#s-name").fill("gone");
  await page.locator("#s-command").fill("/no/such/program");
  await rows(page).getByText("/no/such/program", { exact: true }).waitFor();
  await page.locator("[data-testid=add-go]:enabled").click();
  await page.getByTestId("added").getByText("turned off, because it did not start").waitFor();
  await page.getByTestId("added").getByText(/no such file/).waitFor();
  await accessible(page);
  const s = await api(page, "GET", "servers/default/gone");
  assert.equal(s.body.state, "disabled");
  await remove(page, "gone");
  await done(page);
});

test("console/add a URL with a secret header", async () => {
  const page = await newPage();
  await visit(page, "servers/new?from=url");
  await page.locator("#s-name").fill("far");
  await page.locator("#s-url").fill("http://127.0.0.1:9/mcp");
  await page.getByRole("button", { name: "Add row" }).click();
  await page.getByLabel("Headers name 1").fill("X-Team");
  await page.getByLabel("Headers value 1").fill("plain");
  await rows(page).getByText("X-Team=plain").waitFor();
  await page.getByRole("button", { name: "Keep X-Team in the secret store" }).click();
  await rows(page).getByText("X-Team=${secret:far.X-Team}").waitFor();
  await rows(page).getByText("not needed: it is not started here").waitFor();
  await commandLine(page, "mcp-all-in-one add far http://127.0.0.1:9/mcp");
  await done(page);
});

test("console/add in Chinese, dark and on a phone", async () => {
  const page = await newPage({ lang: "zh-CN", dark: true, width: 390, height: 800 });
  await visit(page, "servers/new?q=airtable");
  await page.getByTestId("found-io.github.domdomegg/airtable-mcp-server").click();
  await rows(page).getByText("npx -y airtable-mcp-server@1.7.3", { exact: true }).waitFor();
  await page.getByText("还需填写：AIRTABLE_API_KEY").waitFor();
  await accessible(page);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
  await done(page);
});

test("console/add what was typed since is not added as it was shown", async () => {
  const page = await newPage();
  await visit(page, "servers/new?from=command");
  await page.locator("#s-name").fill("typed");
  await page.locator("#s-command").fill("first-program");
  await rows(page).getByText("first-program", { exact: true }).waitFor();
  await page.locator("[data-testid=add-go]:enabled").waitFor();
  // In the same task as the input, before anything is asked.
  const off = await page.locator("#s-command").evaluate((box) => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(box, "second-program");
    box.dispatchEvent(new InputEvent("input", { bubbles: true }));
    return new Promise((r) => requestAnimationFrame(() => r(document.querySelector("[data-testid=add-go]").disabled)));
  });
  assert.ok(off, "what was shown before can be added");
  await rows(page).getByText("second-program", { exact: true }).waitFor();
  await page.locator("[data-testid=add-go]:enabled").waitFor();
  await done(page);
});
