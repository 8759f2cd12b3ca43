// What a person sees of a script that a client runs: its code in Traffic and in the Inbox.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible, connect, done, suite, visit } from "./lib.mjs";
import { configured, gateway } from "./gateway.mjs";

suite();

let gw;
before(async () => {
  const [command, ...args] = process.env.PROMPTS_COMMAND.split(" ");
  gw = await gateway(configured({ mode: "code", mcpServers: { demo: { command, args, tools: { echo: { ask: true } } } } }));
});
after(async () => gw?.end());

const run = (call, code) => call("tools/call", { name: "run", arguments: { code } });

test("code/traffic a script of a client is shown with its code and its calls", async () => {
  const page = await gw.open();
  const call = await connect("script-client", {}, gw.url);
  assert.match(await run(call, "const {sum} = await tools.demo.add({a: 40, b: 2}); return 'the sum is ' + sum"), /the sum is 42/);
  await visit(page, "traffic");
  await page.locator(".grid-row", { hasText: "script-client" }).filter({ hasText: "run" }).first().locator("a").click();
  const entry = page.getByTestId("entry");
  await entry.getByLabel("Request").getByText("await tools.demo.add({a: 40, b: 2})").first().waitFor();
  await entry.getByLabel("Response").getByText("the sum is 42").first().waitFor();
  await entry.getByRole("tab", { name: "Server side" }).click();
  await entry.locator("[role=tabpanel]").getByText('"add"').first().waitFor();
  await accessible(page);
  await done(page);
});

test("code/inbox a call of a script is shown with the code; a yes for one call is for that call", async () => {
  const page = await gw.open();
  await visit(page, "inbox");
  const call = await connect("script-client", {}, gw.url);
  const answer = run(call, "const said = [];\nfor (const message of ['one', 'two']) try { said.push(await tools.demo.echo({message})) } catch (e) { said.push(e.name) }\nreturn said.join()");
  const card = page.getByTestId("question-approval");
  await card.getByText('"one"').waitFor();
  await card.getByLabel("From this script").getByText("for (const message of ['one', 'two'])").waitFor();
  await card.getByText("All further calls of demo.echo by this one run").waitFor();
  await accessible(page);
  await card.getByRole("button", { name: "Allow once" }).click();
  await card.getByText('"two"').waitFor();
  await card.getByRole("button", { name: "Deny" }).click();
  assert.match(await answer, /one,CallError/);
  await card.waitFor({ state: "detached" });
  await done(page);
});

test("code/inbox a yes for the script is for its further calls, and not for the next script", async () => {
  const page = await gw.open({ lang: "zh-CN" });
  await visit(page, "inbox");
  const call = await connect("script-client", {}, gw.url);
  const code = "const said = []; for (const message of ['one', 'two', 'three']) said.push(await tools.demo.echo({message})); return said.join()";
  let answer = run(call, code);
  const card = page.getByTestId("question-approval");
  await card.getByText('"one"').waitFor();
  await card.getByLabel("来自此脚本").getByText("return said.join()").waitFor();
  await card.getByRole("button", { name: "对此脚本允许" }).click();
  assert.match(await answer, /one,two,three/);
  await card.waitFor({ state: "detached" });
  answer = run(call, code);
  await card.getByText('"one"').waitFor();
  await card.getByRole("button", { name: "拒绝" }).click();
  assert.match(await answer, /no person approved it/);
  await done(page);
});
