// What one does from the Bench: save, copy, run again, let things go wrong,
// sign in, look at skills.
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { authorised } from "./authorised.mjs";
import { accessible, api, base, done, newPage, result, suite, visit } from "./lib.mjs";

suite();
const run = promisify(execFile);
let guarded;
after(() => guarded?.close());

/** called runs echo with a message that has every kind of quote. */
const message = `it's "5" \\ 中文`;
async function called(page, where = "bench/demo/tools/echo") {
  await visit(page, where);
  await page.locator("#t_message").fill(message);
  await page.getByTestId("run").click();
  return result(page);
}

/** copied is what a line of the menu puts into the clipboard. */
async function copied(page, what) {
  await page.getByTestId("copy-as").click();
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await page.getByTestId("copy-" + what).click();
  await page.getByText("Copied", { exact: true }).last().waitFor();
  for (const late = Date.now() + 15_000; ;) {
    const text = await page.evaluate(() => navigator.clipboard.readText());
    if (text) return text;
    assert.ok(Date.now() < late, `${what} was not copied`);
  }
}

async function withClipboard() {
  const page = await newPage();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
  return page;
}

/** sdks is the folder with the published SDKs. */
const sdks = () => execFileSync("bash", [new URL("../interop/deps.sh", import.meta.url).pathname], { encoding: "utf8" }).trim();
const root = new URL("../../", import.meta.url).pathname;

test("console/copy what is copied as a command line, curl, TypeScript, Python and Go runs and says the same", async () => {
  const page = await withClipboard();
  await called(page);
  const dir = mkdtempSync(join(tmpdir(), "snippet-"));
  const cache = sdks();
  const env = { ...process.env, DEMO_KEY: "s3cret" };
  const texts = {};
  for (const what of ["line", "curl", "typescript", "python", "go", "rpc"]) texts[what] = await copied(page, what);
  assert.deepEqual(JSON.parse(texts.rpc).params, { name: "echo", arguments: { message } });
  assert.ok(!Object.values(texts).some((text) => text.includes("s3cret")), "a secret was copied");

  writeFileSync(join(dir, "line.sh"), texts.line.replace(/^mcp-all-in-one/, process.env.PROGRAM));
  const line = await run("sh", [join(dir, "line.sh")], { env });
  assert.ok(line.stdout.includes(message), line.stdout);

  writeFileSync(join(dir, "curl.sh"), texts.curl);
  const curl = await run("bash", [join(dir, "curl.sh")], { env });
  assert.ok(curl.stdout.includes(JSON.stringify(message).slice(1, -1)), `${texts.curl}\ngives ${curl.stdout} ${curl.stderr}`);

  const own = mkdtempSync(join(cache, "npm", "run-"));
  writeFileSync(join(own, "snippet.mjs"), texts.typescript);
  const ts = await run("node", [join(own, "snippet.mjs")], { env });
  assert.equal(JSON.parse(ts.stdout).content[0].text, message);

  writeFileSync(join(dir, "snippet.py"), texts.python);
  const py = await run(join(cache, "python", "bin", "python"), [join(dir, "snippet.py")], { env });
  assert.equal(JSON.parse(py.stdout).content[0].text, message);

  mkdirSync(join(dir, "go"));
  writeFileSync(join(dir, "go", "main.go"), texts.go);
  const go = await run("go", ["run", join(dir, "go", "main.go")], { cwd: root, env });
  assert.equal(JSON.parse(go.stdout).content[0].text, message);
  await done(page);
});

test("console/copy prompts and resources run as programs, too, over HTTP", async () => {
  const page = await withClipboard();
  const cache = sdks();
  const own = mkdtempSync(join(cache, "npm", "run-"));
  for (const [where, button, want] of [["bench/~default/prompts", "get-prompt", /messages/], ["bench/~default/resources", "read", /contents/]]) {
    await visit(page, where);
    await page.getByTestId("feature-list").locator(".feature button").first().click();
    for (const box of await page.locator(".form input").all()) await box.fill("1");
    await page.getByTestId(button).click();
    await result(page);
    writeFileSync(join(own, "snippet.mjs"), await copied(page, "typescript"));
    assert.match((await run("node", [join(own, "snippet.mjs")])).stdout, want);
    writeFileSync(join(own, "snippet.py"), await copied(page, "python"));
    assert.match((await run(join(cache, "python", "bin", "python"), [join(own, "snippet.py")])).stdout, want);
    writeFileSync(join(own, "curl.sh"), await copied(page, "curl"));
    assert.match((await run("bash", [join(own, "curl.sh")])).stdout, want);
  }
  await done(page);
});

test("console/save a run becomes a test, and the test passes", async () => {
  const page = await newPage();
  await called(page);
  for (const _ of [1, 2]) {
    await page.getByTestId("save-test").click();
    await page.locator("#suite-name").fill("from-bench");
    await accessible(page);
    await page.locator("#suite-name").press("Enter");
    await page.locator("#suite-name").waitFor({ state: "detached" });
    await page.getByTestId("feature-list").getByText("add", { exact: true }).click();
    await page.locator("#t_a").fill("1");
    await page.locator("#t_b").fill("2");
    await page.getByTestId("run").click();
    await result(page);
  }
  const { body } = await api(page, "GET", "suites/from-bench");
  assert.equal(body.tests, 2, body.text);
  const ran = await api(page, "POST", "suites/from-bench/run", {});
  assert.ok(ran.status < 300, JSON.stringify(ran.body));
  await visit(page, "tests/from-bench");
  await page.waitForFunction(async () => { const s = await (await fetch("/api/v1/suites/from-bench")).json(); return !s.isRunning && s.runs[0]?.passed === 2; }, undefined, { polling: 200 });
  await api(page, "DELETE", "suites/from-bench");
  await done(page);
});

test("console/diff run again and compare by key", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/tools/get_current_time");
  await page.getByTestId("run").click();
  await result(page);
  const first = await page.locator(".run-row").count();
  await page.locator(".run-row").first().hover();
  await page.getByRole("button", { name: "Run again and compare" }).first().click();
  await page.waitForFunction((n) => document.querySelectorAll(".run-row").length > n, first);
  const pane = await result(page);
  await pane.getByRole("table", { name: "Differences" }).or(pane.getByText("No differences")).waitFor();
  await visit(page, "bench/demo/tools/echo");
  for (const text of ["one", "two"]) {
    await page.locator("#t_message").fill(text);
    await page.getByTestId("run").click();
    await (await result(page)).getByText(new RegExp(`\\b${text}\\b`)).first().waitFor();
  }
  await page.keyboard.press("Escape");
  await page.getByTestId("tab-diff").click();
  const row = page.getByRole("table", { name: "Differences" }).locator("tr", { hasText: "content[0].text" });
  await row.getByText('"one"').waitFor();
  await row.getByText('"two"').waitFor();
  await accessible(page);
  await done(page);
});

test("console/chaos delay, error and cut hit this session and no other client", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/session");
  await page.getByRole("textbox", { name: "Delay in milliseconds" }).fill("700");
  await page.getByRole("textbox", { name: "Delay in milliseconds" }).press("Tab");
  await page.getByTestId("chaos-on").getByText("700 ms").waitFor();
  await accessible(page);
  await called(page);
  const slow = (await api(page, "GET", "runs?method=tools/call")).body[0];
  assert.ok(slow.total >= 0.7e9, JSON.stringify(slow));
  await api(page, "PUT", `bench/${slow.bench}/chaos`, { error: true });
  await visit(page, "bench/demo/tools/echo");
  await page.locator("#t_message").fill("x");
  await page.getByTestId("run").click();
  await (await result(page, "error")).getByText("the server was not asked").first().waitFor();
  // Another session of the same server is left alone.
  await called(page, "bench/demo/tools/echo?via=gateway");
  await api(page, "PUT", `bench/${slow.bench}/chaos`, { cut: true });
  await visit(page, "bench/demo/tools/long_task");
  await page.getByTestId("run").click();
  const pane = await result(page, "failed");
  await pane.getByText("cut the connection").first().waitFor();
  await pane.getByTestId("tab-wire").click();
  await pane.getByTestId("sent").getByText('"tools/call"').first().waitFor();
  await page.getByRole("button", { name: "Reconnect" }).click();
  await page.getByTestId("run").waitFor();
  await called(page);
  await done(page);
});

test("console/signin every request of a sign-in is shown, both hops", async () => {
  guarded = await authorised();
  const page = await newPage();
  await api(page, "PUT", "servers/default/guarded", { entry: { type: "http", url: guarded.url }, confirm: "" });
  await visit(page, "overview");
  await page.waitForFunction(async () => (await (await fetch("/api/v1/servers")).json()).some((s) => s.name === "guarded" && s.state === "auth"), undefined, { polling: 200 });
  await visit(page, "bench/guarded");
  const box = page.getByTestId("sign-in");
  await box.getByRole("button", { name: "Sign in" }).click();
  const link = box.getByRole("link", { name: "Open the sign-in page" });
  await link.waitFor();
  await box.locator("[data-step=stepBrowser]").waitFor();
  await accessible(page);
  assert.deepEqual(await box.getByTestId("sign-in-step").evaluateAll((list) => list.map((e) => e.dataset.step)), ["stepChallenge", "stepResource", "stepAuthority", "stepRegister", "stepBrowser"]);
  await box.locator("[data-step=stepRegister] summary").click();
  await box.locator("[data-step=stepRegister]").getByText("redirect_uris").first().waitFor();
  const [tab] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
  await tab.waitForURL(/127\.0\.0\.1:\d+\/.*code=/);
  await page.getByTestId("feature-list").getByText("secret_tool").waitFor();
  const { body } = await api(page, "GET", "servers/default/guarded/signin");
  assert.deepEqual(body.steps.map((s) => s.hop), ["server", "authority", "authority", "authority", "browser", "callback", "authority"]);
  assert.ok(body.done && !body.message);
  assert.doesNotMatch(JSON.stringify(body), /"good"|code-1|code_verifier=[^*]/);
  await api(page, "DELETE", "servers/default/guarded");
  await done(page);
});

test("console/skills list, content and digest", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/skills");
  await page.getByTestId("feature-list").getByText("refunds").click();
  const files = page.getByTestId("skill-files");
  await files.locator("[data-state=same]").first().waitFor();
  await (await result(page)).locator(".md-h1", { hasText: "Refunds" }).waitFor();
  await files.getByText("templates/letter.md").click();
  await (await result(page)).getByText("Dear customer,").waitFor();
  assert.equal(await files.locator("[data-state=same]").count(), 2);
  await accessible(page);
  await page.getByTestId("feature-list").getByText("tampered").click();
  await page.getByTestId("skill-files").locator("[data-state=other]").waitFor();
  await page.getByText("Does not match its digest").waitFor();
  await done(page);
});

test("console/panes the lines between the panes move and stay", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/tools/echo");
  const width = async (name) => (await page.locator("." + name).boundingBox()).width;
  await page.getByTestId("run").waitFor();
  assert.ok(await width("result-pane") > 1440 / 2, "the result is the widest");
  const [list, form] = [await width("list-pane"), await width("form-pane")];
  const box = await page.getByTestId("gutter-form").boundingBox();
  await page.mouse.move(box.x, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + 120, box.y + 100, { steps: 5 });
  await page.mouse.up();
  assert.ok(Math.abs(await width("form-pane") - form - 120) < 8);
  await page.getByTestId("gutter-list").focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(Math.round(await width("list-pane") - list), 16);
  await page.reload();
  await page.getByTestId("run").waitFor();
  assert.equal(Math.round(await width("list-pane") - list), 16);
  await page.getByTestId("gutter-list").dblclick();
  assert.equal(await width("list-pane"), list);
  await page.keyboard.press("[");
  assert.equal(Math.round(await width("list-pane")), 0);
  await done(page);
});
