// Scripts in the Bench: the engine of the command script, with the rights of who looks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, commandLine, done, newPage, result, suite, visit } from "./lib.mjs";

suite();

/** ran runs code and returns the pane of its result. */
async function ran(page, code, state = "ok") {
  await page.locator("#script-code").fill(code);
  await page.getByTestId("run-script").click();
  return result(page, state);
}

test("code/bench a script shows its value, its log and its calls, each in Traffic", async () => {
  const page = await newPage();
  await visit(page, "bench/demo");
  await page.getByRole("button", { name: "Script", exact: true }).click();
  await page.waitForURL("**/ui/bench/~default/script");
  await commandLine(page, "mcp-all-in-one script FILE");
  await page.locator("#script-args").fill('{"b":40}');
  const pane = await ran(page, "const {sum} = await tools.demo.add({a: 2, b: args.b});\nconsole.log('the sum is', sum);\nawait tools.modern.echo({message: 'hi'});\nreturn {sum, twice: 2 * sum}");
  await pane.getByTestId("tab-value").click();
  await pane.getByTestId("script-value").getByText('"twice"').waitFor();
  await pane.getByTestId("script-value").getByText("84").waitFor();
  await accessible(page);
  await pane.getByTestId("tab-log").click();
  await pane.getByTestId("script-log").getByText("the sum is 42").waitFor();
  await pane.getByTestId("tab-calls").click();
  const calls = pane.getByTestId("script-calls");
  await calls.getByRole("row").filter({ hasText: "demo add" }).getByText("OK").waitFor();
  await calls.getByRole("row").filter({ hasText: "modern echo" }).getByText("OK").waitFor();
  await accessible(page);
  await calls.getByRole("link", { name: "demo add" }).click();
  await page.getByTestId("entry").getByText('"sum"').first().waitFor();
  // Every inner call came through the same door as any other, by name and principal.
  const id = new URL(page.url()).pathname.split("/").at(-1);
  const { call, related } = (await api(page, "GET", "traffic/" + id)).body;
  const outer = related.find((c) => c.name === "mcp-all-in-one/script");
  assert.equal(call.server, "demo");
  assert.equal(call.principal, outer.principal);
  await done(page);
});

test("code/bench an error says the line and what had succeeded, and the same limits hold", async () => {
  const page = await newPage();
  await visit(page, "bench/~default/script");
  await page.locator("#script-args").fill("");
  let pane = await ran(page, "await tools.demo.add({a: 1, b: 1});\nthrow new Error('on purpose')", "tool_error");
  await pane.getByTestId("tab-value").click();
  await pane.getByTestId("script-value").getByText("on purpose").waitFor();
  await pane.getByTestId("script-value").getByText(/had succeeded.*add/s).waitFor();
  pane = await ran(page, "return await tools.demo.no_such_tool({})", "tool_error");
  await pane.getByTestId("script-value").getByText("no_such_tool").first().waitFor();
  await page.locator("#script-args").fill("[1]");
  await page.getByTestId("run-script").click();
  await page.getByText("args must be a JSON object").waitFor();
  await page.locator("#script-args").fill("");
  await done(page);
});

test("code/bench a tool of the list is written into the code; a script can be stopped", async () => {
  const page = await newPage({ dark: true, lang: "zh-CN" });
  await visit(page, "bench/~default/script");
  await page.locator("#script-code").fill("");
  await page.getByTestId("feature-list").getByText("demo / add", { exact: true }).click();
  await page.waitForFunction(() => document.getElementById("script-code").value === "await tools.demo.add({})");
  await accessible(page);
  await page.locator("#script-code").fill("await sleep(600000)");
  await page.getByTestId("run-script").click();
  await page.locator("[data-testid=result][data-state=running]").getByRole("button").filter({ has: page.locator("svg") }).first().click();
  await result(page, "cancelled");
  await done(page);
});
