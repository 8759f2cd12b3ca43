// The settings of a gateway of its own: the file as JSON, and a restart.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { configured, freePorts, gateway } from "./gateway.mjs";
import { accessible, api, suite, visit } from "./lib.mjs";

suite();
const demo = { command: process.env.PROMPTS_COMMAND.split(" ")[0], args: ["-role", "demo"], env: { DEMO_KEY: "s3cret" } };

async function close(page) {
  assert.deepEqual(page.troubles, []);
  await page.context().close();
}

/** edit replaces the text of the editor. */
async function edit(page, change) {
  const box = page.getByTestId("as-json").locator(".cm-content");
  await box.waitFor();
  const text = (await api(page, "GET", "config")).body.text;
  await box.fill(change(text));
}

test("console/settings the file is edited as JSON: secrets stay, comments stay, commands are confirmed", async () => {
  const home = configured({});
  writeFileSync(home.file, `// ours\n${JSON.stringify({ mcpServers: { demo } }, null, 2)}\n`);
  const gw = await gateway(home);
  try {
    const page = await gw.open();
    await visit(page, "settings");
    await page.getByRole("button", { name: "Edit as JSON" }).click();
    await page.getByTestId("as-json").getByText(home.file).waitFor();
    const save = page.getByRole("button", { name: "Save" });
    await edit(page, (text) => { assert.ok(!text.includes("s3cret")); return text.replace("{", '{\n  "startWait": "7s",'); });
    await accessible(page);
    await save.click();
    await page.getByText(`Saved ${home.file}`).waitFor();
    for (const part of [/^\/\/ ours/, /"startWait": "7s"/, /"DEMO_KEY": "s3cret"/]) assert.match(readFileSync(home.file, "utf8"), part);
    // What cannot be used is not written.
    await page.getByRole("button", { name: "Edit as JSON" }).click();
    await edit(page, (text) => text.replace('"7s"', '"soon"'));
    await save.click();
    await page.locator(".notice.err", { hasText: "startWait" }).waitFor();
    assert.match(readFileSync(home.file, "utf8"), /"7s"/);
    // A command that the file did not run before is shown, and runs after a yes.
    await edit(page, (text) => text.replace('"demo"', `"more": ${JSON.stringify({ command: demo.command, args: ["-role", "demo", "-era", "modern"] })},\n    "demo"`));
    await save.click();
    await page.getByTestId("confirm").getByText("-role demo -era modern").waitFor();
    assert.doesNotMatch(readFileSync(home.file, "utf8"), /"more"/);
    await page.getByTestId("confirm").getByRole("button", { name: "Run command" }).click();
    await page.getByTestId("as-json").waitFor({ state: "detached" }); // it was saved; the notice of the first time may still be there
    await visit(page, "servers/default/more");
    await page.locator("main [data-state=up]").first().waitFor();
    // A file that another hand has changed since is not overwritten.
    await visit(page, "settings?as=json");
    await edit(page, (text) => text.replace('"7s"', '"8s"'));
    writeFileSync(home.file, readFileSync(home.file, "utf8").replace('"7s"', '"9s"'));
    await save.click();
    await page.locator(".notice.err", { hasText: "has changed since" }).waitFor();
    assert.match(readFileSync(home.file, "utf8"), /"9s"/);
    await close(page);
  } finally { await gw.end(); }
});

test("console/settings a value that needs a restart waits for it, also for the next page, and the page restarts the gateway", async () => {
  const [port] = await freePorts(1);
  const gw = await gateway(configured({ mcpServers: { demo } }), port);
  try {
    const page = await gw.open();
    const pid = async () => (await api(page, "GET", "servers/default/demo")).body.pid;
    const was = await pid();
    await visit(page, "settings?q=limits.sessions");
    await page.locator("[id='set-limits.sessions']").fill("77");
    await page.getByTestId("setting-limits.sessions").getByRole("button", { name: "Save" }).click();
    await page.getByTestId("setting-limits.sessions").getByText("needs restart").waitFor();
    await page.reload();
    await page.getByText("Saved: limits.sessions. Restart the gateway to apply.").waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "Restart now" }).click();
    await page.getByText("Saved: limits.sessions.", { exact: false }).waitFor({ state: "detached" });
    assert.equal(await page.locator("[id='set-limits.sessions']").inputValue(), "77");
    await page.locator("[data-testid=live] [data-state=live]").waitFor();
    for (const late = Date.now() + 30_000; [undefined, was].includes(await pid());) assert.ok(Date.now() < late, "the server of the gateway is the one from before");
    await close(page);
  } finally { await gw.end(); }
});

test("console/settings after a restart at another port the page goes there", async () => {
  const [port, next] = await freePorts(2);
  const gw = await gateway(configured({ server: { port }, mcpServers: { demo } }), null);
  try {
    const page = await gw.open();
    page.at = `http://127.0.0.1:${port}`;
    await visit(page, "settings?q=server.port");
    await page.locator("[id='set-server.port']").fill(String(next));
    await page.getByTestId("setting-server.port").getByRole("button", { name: "Save" }).click();
    await page.getByRole("button", { name: "Restart now" }).click();
    await page.waitForURL(`http://127.0.0.1:${next}/ui/settings?q=server.port`);
    await page.locator("[data-testid=live] [data-state=live]").waitFor();
    assert.equal(await page.locator("[id='set-server.port']").inputValue(), String(next));
    // An address that was kept leads there, too.
    await page.goto(`http://127.0.0.1:${port}/ui/servers`);
    await page.waitForURL(`http://127.0.0.1:${next}/ui/servers`);
    await page.context().close();
  } finally { await gw.end(); }
});

test("console/settings rows are as high as you choose, and stay so", async () => {
  const gw = await gateway(configured({ mcpServers: { demo } }));
  try {
    const page = await gw.open();
    const height = async () => Math.round((await page.getByTestId("row-demo-echo").boundingBox()).height);
    await visit(page, "catalog?q=echo");
    const before = await height();
    await visit(page, "settings");
    await page.getByRole("radiogroup", { name: "Row height" }).getByRole("radio", { name: "Comfortable" }).click();
    await accessible(page);
    await visit(page, "catalog?q=echo");
    assert.equal(await height(), before + 8);
    await close(page);
  } finally { await gw.end(); }
});
