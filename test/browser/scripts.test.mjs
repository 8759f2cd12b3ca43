// Scripts of a server: seen with code and schema, added, changed, and run only
// as a person has approved them.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { configured, gateway } from "./gateway.mjs";
import { accessible, api, connect, suite, toolName, visit } from "./lib.mjs";

suite();
let gw;
const schema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] };
before(async () => {
  const home = configured({ mcpServers: {
    demo: { command: process.env.PROMPTS_COMMAND.split(" ")[0], args: ["-role", "demo"] },
    reports: { scripts: { daily: { description: "The sum of a day.", file: "daily.js", readOnly: true }, twice: { arguments: schema, code: "return (await tools.demo.add({a: args.a, b: args.a})).sum", timeout: "5s" } } },
  } });
  writeFileSync(join(dirname(home.file), "daily.js"), "const day = 'monday'\nreturn day.length\n");
  gw = await gateway(home);
});
after(() => gw.end());

async function close(page) {
  assert.deepEqual(page.troubles, []);
  await page.context().close();
}

test("console/scripts what waits is read whole and approved, then each script is shown with code and schema", async () => {
  const page = await gw.open();
  await visit(page, "servers/default/reports?tab=scripts");
  const launch = page.getByTestId("launch");
  await launch.getByText("const day = 'monday'").waitFor(); // of the file
  await launch.getByText("tools.demo.add").first().waitFor();
  await page.getByRole("button", { name: "Approve" }).click();
  await page.locator("main [data-state=up]").first().waitFor();
  await launch.waitFor({ state: "detached" });
  const daily = page.getByTestId("script-daily"), twice = page.getByTestId("script-twice");
  await daily.getByText("const day = 'monday'").waitFor();
  await daily.getByText("daily.js").waitFor();
  await daily.getByText("read-only").waitFor();
  await daily.getByText("No arguments").waitFor();
  await twice.getByText('"required"').waitFor();
  await twice.getByText("at most 5s").waitFor();
  await accessible(page);
  // The editor of the entry is the JSON alone: there is no command.
  await page.getByRole("tab", { name: "Config" }).click();
  assert.match(await page.locator("#s-json").inputValue(), /"daily.js"/);
  await close(page);
});

test("console/scripts one is added and changed, waits for approval each time, and runs as approved", async () => {
  const page = await gw.open();
  const call = await connect("script-client", {}, gw.url);
  const approve = async () => {
    await page.getByTestId("launch").waitFor();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByTestId("launch").waitFor({ state: "detached" });
    await page.locator("main [data-state=up]").first().waitFor();
  };
  await visit(page, "servers/default/reports?tab=scripts");
  await page.getByTestId("add-script").click();
  await page.getByLabel("Script name").fill("twice");
  await page.getByText("Name already used").waitFor();
  await page.getByLabel("Script name").fill("greet");
  await page.locator("#sc-description").fill("Says hello.");
  await page.locator("#sc-code").fill("return `hello ${args.name}`");
  await page.locator("#sc-schema").fill("{not json");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("main [role=alert], main .notice.err").first().waitFor();
  await page.locator("#sc-schema").fill('{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}');
  await page.getByRole("switch", { name: "read-only" }).click();
  await accessible(page);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByTestId("launch").getByText("hello ${args.name}").first().waitFor();
  assert.equal(await toolName(call, "greet", "reports"), undefined); // not before the yes
  await approve();
  const name = await toolName(call, "greet", "reports");
  assert.match(await call("tools/call", { name, arguments: { name: "Ada" } }), /hello Ada/);
  const { body } = await api(page, "GET", "servers/default/reports");
  assert.deepEqual(Object.keys(body.entry.scripts), ["daily", "twice", "greet"]);
  assert.deepEqual(body.entry.scripts.greet, { description: "Says hello.", code: "return `hello ${args.name}`", readOnly: true, arguments: { type: "object", properties: { name: { type: "string" } }, required: ["name"] } });
  // A change: what the form does not show stays.
  const card = page.getByTestId("script-twice");
  await card.getByRole("button", { name: "Edit" }).click();
  await page.locator("#sc-code").fill("return args.a * 2");
  await page.getByRole("button", { name: "Save" }).click();
  await approve();
  assert.deepEqual((await api(page, "GET", "servers/default/reports")).body.entry.scripts.twice, { arguments: schema, code: "return args.a * 2", timeout: "5s" });
  assert.match(await call("tools/call", { name: await toolName(call, "twice", "reports"), arguments: { a: 21 } }), /42/);
  // A removal, and back.
  await card.getByRole("button", { name: "Remove" }).click();
  await card.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await card.waitFor();
  await close(page);
});

test("console/scripts a server of scripts is added on the page Add, in Chinese and on a phone", async () => {
  const page = await gw.open({ lang: "zh-CN", dark: true, width: 390, height: 800 });
  await visit(page, "servers/new?from=script");
  await page.getByLabel("服务器名称").fill("demo");
  await page.getByText("名称重复").waitFor(); // it would replace that server
  await page.getByLabel("服务器名称").fill("mine");
  await page.getByLabel("脚本名称").fill("one");
  await page.locator("#sc-code").fill("return 1");
  await accessible(page);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  await page.getByRole("button", { name: "保存" }).click();
  await page.waitForURL("**/servers/default/mine?tab=scripts");
  await page.getByTestId("launch").getByText("return 1").first().waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "批准" }).click();
  await page.getByTestId("script-one").getByText("return 1").waitFor();
  await page.getByTestId("launch").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  await close(page);
});
