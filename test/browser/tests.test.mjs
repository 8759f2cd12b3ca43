import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { accessible, commandLine, connect, done, newPage, suite, toolName, visit } from "./lib.mjs";

suite();
const folder = join(dirname(process.env.CONSOLE_CONFIG), "mcp-tests");

test("a test file is run, fails with a reason, is corrected in the page, and passes", async () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "sums.yaml"), "target: demo\ntests:\n  - name: adds\n    call: add\n    args: { a: 1, b: 2 }\n    expect: { jq: '.sum == 4' }\n  - name: echoes\n    call: echo\n    args: { message: hi }\n    expect: { contains: hi }\n");
  const page = await newPage();
  await visit(page, "tests");
  await page.getByTestId("suite-sums").getByText("Never run").waitFor();
  await accessible(page);
  await page.getByTestId("suite-sums").getByRole("button", { name: "Run" }).click();
  await page.getByTestId("suite-sums").getByText("1 passed, 1 failed").waitFor();
  await page.getByTestId("suite-sums").getByRole("link", { name: "sums" }).click();
  await page.getByText('jq .sum == 4 gives false').waitFor();
  assert.equal(await page.locator("[data-testid=test-result][data-state=passed]").count(), 1);
  await commandLine(page, "mcp-all-in-one test " + join(folder, "sums.yaml"));
  await accessible(page);
  await page.getByTestId("tab-file").click();
  const box = page.getByRole("textbox", { name: "File" });
  const text = await box.inputValue();
  // What cannot be read is not saved.
  await box.fill(text + "  - nonsense: 1\n");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".notice.err").waitFor();
  assert.equal(readFileSync(join(folder, "sums.yaml"), "utf8"), text);
  await box.fill(text.replace("== 4", "== 3"));
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved sums").waitFor();
  await page.getByTestId("run-suite").click();
  await page.locator("main [data-state=passed]").first().waitFor();
  await page.getByTestId("tab-results").click();
  await page.getByRole("img", { name: "Last 2 runs, 1 failed" }).waitFor();
  await done(page);
});

test("tests are made from what a client really did", async () => {
  const page = await newPage();
  const call = await connect("maker");
  await call("tools/call", { name: await toolName(call, "echo"), arguments: { message: "from a maker" } });
  await call("tools/call", { name: await toolName(call, "fail"), arguments: {} });
  await visit(page, "traffic?q=" + encodeURIComponent("client:maker server:demo"));
  await page.getByRole("link", { name: "Create tests" }).click();
  await page.waitForURL(/tests\/new\?q=/);
  const box = page.getByRole("textbox", { name: "File" });
  await box.waitFor();
  await commandLine(page, "mcp-all-in-one test from-traffic 'client:maker server:demo'");
  assert.match(await box.inputValue(), /call: echo[\s\S]*from a maker[\s\S]*call: fail[\s\S]*is_error: true/);
  await accessible(page);
  await page.getByLabel("Name", { exact: true }).fill("made");
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForURL("**/ui/tests/made");
  await page.getByTestId("run-suite").click();
  await page.getByText("snapshot written").first().waitFor();
  await page.getByTestId("run-suite").click();
  await page.getByRole("img", { name: "Last 2 runs, 0 failed" }).waitFor();
  await page.getByRole("button", { name: "Remove" }).click();
  await page.waitForURL("**/ui/tests");
  await page.getByTestId("suite-made").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByTestId("suite-made").waitFor();
  await done(page);
});

test("a name that is being typed is not mixed with the suggested one", async () => {
  const page = await newPage();
  let go;
  const held = new Promise((r) => { go = r; });
  await page.route("**/api/v1/suites/draft", async (route) => { await held; await route.continue(); });
  await visit(page, "tests/new?q=" + encodeURIComponent("client:maker server:demo"));
  const name = page.getByLabel("Name", { exact: true });
  await name.focus();
  go();
  await page.getByRole("textbox", { name: "File" }).waitFor();
  await page.keyboard.type("made");
  assert.equal(await name.inputValue(), "made");
  await name.fill("");
  await name.blur();
  assert.equal(await name.inputValue(), "demo");
  await done(page);
});

test("a file that starts a command says what will run", async () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "command.yaml"), `command: [${JSON.stringify(process.env.CORPUS_COMMAND)}]\ntests:\n  - list: tools\n    expect: { jq: '.tools | length > 0' }\n`);
  const page = await newPage();
  await visit(page, "tests/command");
  await page.getByTestId("run-suite").click();
  await page.getByTestId("confirm").getByText(process.env.CORPUS_COMMAND).waitFor();
  await page.getByTestId("confirm").getByRole("button", { name: "Run command" }).click();
  await page.locator("main [data-state=passed]").first().waitFor();
  await done(page);
});

test("a file with evals says how a model is asked", async () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "picks.yaml"), "target: demo\nevals:\n  - { task: What is 2 + 3?, expect: { tool: add } }\n");
  const page = await newPage();
  await visit(page, "tests/picks");
  await page.getByText("1 eval in this file needs a model").waitFor();
  await page.getByText("mcp-all-in-one eval " + join(folder, "picks.yaml")).waitFor();
  assert.ok(await page.getByTestId("run-suite").isDisabled());
  await accessible(page);
  await done(page);
});
