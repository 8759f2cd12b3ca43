import assert from "node:assert/strict";
import { test } from "node:test";
import { configured, freePorts, gateway } from "./gateway.mjs";
import { accessible, api, done, newPage, suite, visit } from "./lib.mjs";

suite();

test("a server that is down is on the attention list, with the reason", async () => {
  const page = await newPage();
  await visit(page, "overview");
  await page.locator(".attention-card", { hasText: "broken" }).getByText(/no such file|not found|no-such-server/).waitFor();
  await page.locator(".attention-card").getByRole("link", { name: "Doctor", exact: true }).first().click();
  await page.waitForURL("**/ui/doctor/default/broken");
  await visit(page, "servers/default/broken");
  await page.locator(".notice.err").waitFor();
  await done(page);
});

test("add, disable, enable, restart, remove and undo", async () => {
  const page = await newPage();
  await visit(page, "servers/new?from=command");
  await page.locator("#s-name").fill("extra");
  await page.locator("#s-command").fill(process.env.CORPUS_COMMAND);
  await page.getByRole("button", { name: "Add row" }).click();
  await page.getByLabel("Environment name 1").fill("EXTRA_KEY");
  await page.getByLabel("Environment value 1").fill("very-secret");
  await page.getByTestId("will-run-rows").getByText("EXTRA_KEY=${secret:extra.EXTRA_KEY}").waitFor();
  await page.getByTestId("will-run-rows").getByText(process.env.CORPUS_COMMAND, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Add and start" }).click();
  await page.getByTestId("added").getByRole("link", { name: "Open server" }).click();
  await page.waitForURL("**/ui/servers/default/extra");
  await page.locator("main [data-state=up]").first().waitFor();

  const detail = await api(page, "GET", "servers/default/extra");
  assert.ok(!JSON.stringify(detail.body).includes("very-secret"), "a secret was read back");
  await page.getByTestId("tab-config").click();
  assert.equal(await page.getByLabel("Environment value 1").inputValue(), "${secret:extra.EXTRA_KEY}");
  await accessible(page);

  await page.getByTestId("menu-extra").click();
  await page.getByRole("button", { name: "Turn off" }).click();
  await page.locator("main [data-state=disabled]").first().waitFor();
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.locator("main [data-state=up]").first().waitFor();
  await page.getByRole("button", { name: "Restart" }).click();
  await page.getByText("Restarting extra…").waitFor();
  await page.locator("main [data-state=up]").first().waitFor();
  await page.getByTestId("menu-extra").click();
  await page.locator(".pop:popover-open").getByRole("button", { name: "Remove" }).click();
  await page.waitForURL("**/ui/servers");
  await page.getByTestId("server-extra").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByTestId("server-extra").locator("[data-state=up]").waitFor();
  await page.getByTestId("menu-extra").click();
  await page.locator(".pop:popover-open").getByRole("button", { name: "Remove" }).click();
  await page.getByTestId("server-extra").waitFor({ state: "detached" });
  await done(page);
});

test("the handshake and the last stderr are shown", async () => {
  const page = await newPage();
  await visit(page, "servers/default/corpus");
  await page.getByText("Raw handshake").click();
  await page.getByText('"serverInfo"').waitFor();
  await page.getByText("corpus is listening").first().waitFor();
  await done(page);
});

test("import shows what will run, and saves it", async () => {
  const page = await newPage();
  await visit(page, "servers/import");
  await page.locator("#import-text").fill(JSON.stringify({ servers: { imported: { type: "stdio", command: process.env.CORPUS_COMMAND } } }));
  await page.locator("td code", { hasText: process.env.CORPUS_COMMAND }).waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Import 1", exact: true }).click();
  await page.waitForURL("**/ui/servers");
  await page.getByTestId("server-imported").locator("[data-state=up]").waitFor();
  await page.getByTestId("menu-imported").click();
  await page.getByTestId("server-imported").getByRole("button", { name: "Remove" }).click();
  await page.getByTestId("server-imported").waitFor({ state: "detached" });
  await done(page);
});

test("export is a config file without secrets", async () => {
  const page = await newPage();
  await visit(page, "servers");
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
  const chunks = [];
  for await (const c of await file.createReadStream()) chunks.push(c);
  const text = Buffer.concat(chunks).toString();
  assert.ok(JSON.parse(text).mcpServers.demo.command);
  assert.ok(!text.includes("s3cret"));
  await done(page);
});

test("a setting is changed in the file and shown again", async () => {
  const page = await newPage();
  await visit(page, "settings?q=startWait");
  const box = page.locator("[id='set-startWait']");
  await box.fill("12s");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByTestId("setting-startWait").getByText("Saved").waitFor();
  await page.reload();
  await box.waitFor();
  assert.equal(await box.inputValue(), "12s");
  await done(page);
});

test("a server's page has its ping, and over https its certificate", async () => {
  const tls = { cert: process.env.CERTIFICATE + "/cert.pem", key: process.env.CERTIFICATE + "/key.pem" };
  const command = process.env.PROMPTS_COMMAND.split(" ")[0], [port] = await freePorts(1);
  const far = await gateway(configured({ server: { tls }, mcpServers: { demo: { command, args: ["-role", "demo"] } } }), port);
  const near = await gateway(configured({ mcpServers: { far: { type: "http", url: `https://127.0.0.1:${port}/mcp` }, modern: { command, args: ["-role", "demo", "-era", "modern"] } } }), 0, { SSL_CERT_FILE: tls.cert });
  try {
    const page = await near.open();
    await visit(page, "servers/default/far");
    await page.getByTestId("ping").getByText(/^ping [\d.]+ (µs|ms|s)$/).waitFor();
    const card = page.getByRole("region", { name: "Connection" });
    await card.getByText(/^Valid until \w+ \d+, \d{4}$/).waitFor();
    await card.getByText("127.0.0.1, issued by 127.0.0.1").waitFor();
    await accessible(page);
    const again = page.waitForRequest((r) => r.url().endsWith("/far/ping"));
    await page.getByTestId("ping").click();
    await again;
    // A server of the modern era has no ping, and answers nevertheless.
    await visit(page, "servers/default/modern");
    await page.getByTestId("ping").getByText(/^ping [\d.]+ (µs|ms|s)$/).waitFor();
    assert.equal(await page.getByText("Valid until").count(), 0);
    await done(page);
  } finally { await near.end(); await far.end(); }
});
