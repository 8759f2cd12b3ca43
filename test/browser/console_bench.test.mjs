// What the Bench must get right.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, done, newPage, result, suite, visit, work } from "./lib.mjs";

suite();

const echoed = async (page) => {
  await page.getByTestId("run").click();
  const pane = await result(page);
  await pane.getByTestId("tab-content").click();
  await pane.getByRole("button", { name: "text", exact: true }).click();
  return (await pane.locator("pre").first().innerText()).trim();
};

test("console/1 a schema that contains itself opens as deep as one goes", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_chain");
  let id = "#t_first", want = "";
  for (let depth = 0; depth < 8; depth++) {
    await page.locator(id + "_value").fill("v" + depth);
    await page.locator(id + "_next").click();
    id += "_next";
  }
  await page.locator(id + "_value").fill("last");
  want = '{"value":"last"}';
  for (let depth = 7; depth >= 0; depth--) want = `{"value":"v${depth}","next":${want}}`;
  await page.getByTestId("run").click();
  // The innermost has no next, which the schema wants; it is sent anyway.
  await page.getByTestId("run").filter({ hasText: "Send anyway" }).waitFor();
  assert.equal(await echoed(page), `{"first":${want}}`);
  await accessible(page);
  await done(page);
});

test("console/1 what is typed is not called missing until it is checked", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_chain");
  const judged = page.waitForResponse(async (r) => r.url().endsWith("/api/v1/validate") && (await r.text()).includes("/first/next/value"));
  await page.locator("#t_first_next").click();
  await judged;
  let go;
  const held = new Promise((r) => { go = r; });
  await page.route("**/api/v1/validate", async (route) => { await held; await route.continue(); });
  await page.locator("#t_first_next_value").fill("v");
  assert.equal(await page.locator(".form-pane [data-path='/first/next/value'] [role=alert]").count(), 0);
  go();
  await done(page);
});

test("console/1 types that contain one another cost no more than they say", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools");
  const ms = await work(page, async () => {
    await page.getByTestId("feature-list").getByText("form_web", { exact: true }).click();
    await page.locator("#t_p0_p1").waitFor();
  });
  assert.ok(ms < 1000, `${ms} ms`);
  await page.locator("#t_p0_p1").click();
  await page.locator("#t_p0_p1_p2").click();
  await page.locator("#t_p0_p1_p2_leaf").fill("deep");
  assert.equal(await echoed(page), '{"p0":{"p1":{"p2":{"leaf":"deep"}}}}');
  await done(page);
});

/** asking runs ask_name and waits until its question stands at the run. */
async function asking() {
  const page = await newPage();
  await visit(page, "bench/demo/tools/ask_name");
  await page.getByTestId("run").click();
  await page.locator("[data-testid=result][data-state=running]").getByTestId("question-elicitation").waitFor();
  return page;
}

const waiting = async (page) => (await api(page, "GET", "inbox")).body.filter((q) => q.tool === "ask_name").length;

test("console/4 a question stands at the run that asked and ends with it", async () => {
  const page = await asking();
  assert.equal(await waiting(page), 1);
  // Another tool of the same session has a result of its own.
  await page.getByTestId("feature-list").getByText("echo", { exact: true }).click();
  await page.locator("#t_message").fill("hello");
  await page.getByTestId("run").click();
  await (await result(page)).getByText("hello").first().waitFor();
  assert.equal(await page.getByTestId("question-elicitation").count(), 0);
  await page.getByTestId("feature-list").getByText("ask_name", { exact: true }).click();
  await page.locator(".run-row [data-state=asking]").first().click();
  await page.getByTestId("question-elicitation").waitFor();
  await page.getByRole("button", { name: "Cancel run" }).click();
  await result(page, "cancelled");
  assert.equal(await page.getByTestId("question-elicitation").count(), 0);
  assert.equal(await waiting(page), 0);
  await done(page);
});

test("console/4 a question ends when its server ends", async () => {
  const page = await asking();
  // Other sessions of the same server may be open, in another version or as a client.
  const own = (b) => b.target.server === "demo" && b.target.via === "direct" && !b.target.protocol && !b.target.as && !b.down;
  const [mine, ...others] = (await api(page, "GET", "bench")).body.filter(own);
  assert.deepEqual(others, []);
  process.kill(mine.info.pid, "SIGKILL");
  await result(page, "failed");
  assert.equal(await page.getByTestId("question-elicitation").count(), 0);
  assert.equal(await waiting(page), 0);
  await page.getByRole("button", { name: "Reconnect" }).click();
  await page.getByTestId("run").waitFor();
  await done(page);
});

test("console/8 a question's fields hold the defaults of the server, and booleans are switches", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/ask_defaults");
  await page.getByTestId("run").click();
  const card = page.getByTestId("question-elicitation");
  await card.waitFor();
  assert.equal(await card.getByRole("textbox", { name: "max_cost" }).inputValue(), "2");
  assert.equal(await card.getByRole("textbox", { name: "notify" }).inputValue(), "team@example.com");
  assert.equal(await card.getByRole("switch", { name: "dry_run" }).getAttribute("aria-checked"), "true");
  assert.equal(await card.getByRole("switch", { name: "verbose" }).getAttribute("aria-checked"), "false");
  await card.getByRole("switch", { name: "verbose" }).click();
  await accessible(page);
  await card.getByRole("button", { name: "Answer" }).click();
  const pane = await result(page);
  await pane.getByText('"dry_run"').first().waitFor();
  assert.deepEqual(JSON.parse((await api(page, "GET", "runs?export=1")).body.findLast((r) => r.name === "ask_defaults").result.content[0].text),
    { mode: "sample", max_cost: 2, notify: "team@example.com", dry_run: true, verbose: true });
  await done(page);
});

test("console/9 a prompt shows its wire form, both hops", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/prompts/plain?via=gateway");
  await page.getByTestId("get-prompt").click();
  const pane = await result(page);
  await pane.getByTestId("tab-wire").click();
  for (const hop of ["hop-1", "hop-2"]) {
    const sent = pane.getByTestId(hop).getByTestId("sent").first();
    await sent.getByText('"prompts/get"').waitFor();
    assert.doesNotMatch(await sent.innerText(), /"arguments"/);
    await pane.getByTestId(hop).getByText("arguments: absent").first().waitFor();
  }
  await accessible(page);
  await done(page);
});

test("console/9 every other request shows its wire form as well", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/prompts/summarize");
  await page.locator("#p-style").fill("f");
  await page.locator("#p-style-list option[value=formal]").waitFor({ state: "attached" });
  await page.getByTestId("tab-session").click();
  const requests = page.getByTestId("requests");
  for (const method of ["initialize", "tools/list", "prompts/list", "completion/complete"]) {
    await requests.getByRole("button", { name: method }).first().click();
    await page.getByTestId("wire").getByTestId("sent").getByText(`"${method}"`).first().waitFor();
  }
  await visit(page, "bench/demo/resources/demo%3A%2F%2Ftext%2F1");
  await page.getByTestId("read").click();
  await (await result(page)).getByTestId("tab-wire").click();
  await page.getByTestId("wire").getByTestId("sent").getByText('"resources/read"').first().waitFor();
  await done(page);
});
