import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, commandLine, done, newPage, result, suite, visit, work } from "./lib.mjs";

suite();

/** echoed runs a form tool and returns the JSON text that the server got. */
async function echoed(page) {
  await page.getByTestId("run").click();
  const pane = await result(page);
  await pane.getByTestId("tab-content").click();
  await pane.getByRole("button", { name: "text", exact: true }).click();
  return (await pane.locator("pre").first().innerText()).trim();
}

test("a form: text, enum, integer, chips, boolean", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_simple");
  await page.locator("#t_query").fill("is:open");
  await page.locator("#t_sort").selectOption({ label: "updated" });
  await page.locator("#t_per_page").fill("50");
  await page.locator("#t_labels").fill("bug");
  await page.keyboard.press("Enter");
  await page.locator("#t_labels").fill("p1");
  await page.keyboard.press("Enter");
  await page.locator("#t_deep").click();
  assert.equal(await echoed(page), '{"query":"is:open","sort":"updated","per_page":50,"labels":["bug","p1"],"deep":true}');
  await commandLine(page, `mcp-all-in-one call corpus.form_simple query=is:open sort=updated per_page:=50 'labels:=["bug","p1"]' deep:=true`);
  await accessible(page);
  await done(page);
});

test("validation stops a call once, then sends it anyway", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_simple");
  await page.locator("#t_query").waitFor();
  await page.getByTestId("run").click();
  await page.locator(".node.invalid[data-path='/query'] .message").waitFor();
  await page.locator("#t_query").fill("x");
  await page.locator("#t_per_page").fill("500");
  await page.locator(".node.invalid[data-path='/per_page']").waitFor();
  await page.getByTestId("run").filter({ hasText: "Send anyway" }).waitFor();
  await page.keyboard.press("Alt+Enter");
  await result(page);
  await done(page);
});

test("a form: anyOf, dates and null", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_union");
  await page.getByRole("radio", { name: "days" }).click();
  await page.locator("#t_range_days").fill("3");
  await page.locator("[data-path='/note']").getByRole("button", { name: "null" }).click();
  assert.equal(await echoed(page), '{"range":{"days":3},"note":null}');
  await page.getByRole("radio", { name: "dates" }).click();
  await page.locator("#t_range_from").fill("2026-11-01");
  assert.equal(await echoed(page), '{"range":{"from":"2026-11-01"},"note":null}');
  await done(page);
});

test("a form: a schema that contains itself", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_tree");
  await page.locator("#t_root_name").fill("a");
  await page.getByRole("button", { name: "Add item" }).click();
  await page.locator("#t_root_children_0_name").fill("b");
  assert.equal(await echoed(page), '{"root":{"name":"a","children":[{"name":"b"}]}}');
  await done(page);
});

test("a form: integers beyond 2^53 and maps", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_big");
  await page.locator("#t_id").fill("9007199254740993");
  await page.locator("[data-path='/tags']").getByRole("button", { name: "Add row" }).click();
  await page.getByPlaceholder("name").fill("env");
  await page.locator("#t_tags_env").fill("prod");
  assert.equal(await echoed(page), '{"id":9007199254740993,"tags":{"env":"prod"}}');
  await done(page);
});

test("a form: root oneOf by its constant", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_choice");
  await page.getByRole("radio", { name: "by name" }).click();
  await page.locator("[id='t_name']").fill("Ada");
  assert.equal(await echoed(page), '{"kind":"name","name":"Ada"}');
  await done(page);
});

test("JSON beside the form, both ways, without losing a digit", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_big");
  await page.locator("#t_id").fill("9007199254740993");
  await page.getByTestId("tab-json").click();
  const editor = page.locator("[data-testid=editor] .cm-content");
  await editor.waitFor();
  assert.match(await editor.innerText(), /9007199254740993/);
  await editor.fill('{"id": 9007199254740995, "tags": {"a": "b"}}');
  await page.getByTestId("tab-form").click();
  assert.equal(await page.locator("#t_id").inputValue(), "9007199254740995");
  assert.equal(await echoed(page), '{"id":9007199254740995,"tags":{"a":"b"}}');
  await page.getByTestId("tab-schema").click();
  await page.getByText('"additionalProperties"').waitFor();
  await done(page);
});

test("JSON that is typed before the editor is loaded is in the editor", async () => {
  const page = await newPage();
  let go;
  const held = new Promise((r) => { go = r; });
  await page.route("**/codemirror*", async (route) => { await held; await route.continue(); });
  await visit(page, "bench/corpus/tools/form_big");
  await page.getByTestId("tab-json").click();
  await page.locator(".json-editor textarea").fill('{"id": 7}');
  go();
  const editor = page.locator("[data-testid=editor] .cm-content");
  await editor.waitFor();
  assert.equal(await editor.innerText(), '{"id": 7}');
  assert.equal(await echoed(page), '{"id":7}');
  await done(page);
});

test("the link of a screen carries its arguments", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/form_big");
  await page.locator("#t_id").fill("9007199254740993");
  await page.waitForURL(/a=/);
  const url = page.url();
  await page.goto(url);
  await page.locator("#t_id").waitFor();
  assert.equal(await page.locator("#t_id").inputValue(), "9007199254740993");
  await done(page);
});

test("progress, then cancel", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/tools/long_task");
  await page.locator("#t_seconds").fill("60");
  await page.locator("#t_steps").fill("600");
  await page.getByTestId("run").click();
  await page.getByText(/step 2 of 600/).first().waitFor();
  await page.keyboard.press("Escape");
  await result(page, "cancelled");
  await done(page);
});

test("a call that is silent too long times out", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/tools/long_task");
  await page.getByRole("button", { name: /^Timeout/ }).click();
  await page.getByLabel("Idle timeout").fill("1");
  await page.getByLabel("Idle timeout").blur();
  await page.locator("#t_seconds").fill("60");
  await page.locator("#t_steps").fill("1");
  await page.getByTestId("run").click();
  await result(page, "timeout");
  await page.getByText("no answer and no progress in time").first().waitFor();
  await done(page);
});

test("results: structured with its schema, raw, wire, diff", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/tools/add");
  for (const a of ["1", "2"]) {
    await page.locator("#t_a").fill(a);
    await page.locator("#t_b").fill("40");
    await page.getByTestId("run").click();
    const pane = await result(page);
    await pane.getByText(`${Number(a) + 40}`, { exact: true }).first().waitFor();
  }
  await page.getByTitle("Matches output schema").waitFor();
  await page.getByTestId("tab-raw").click();
  await page.getByText('"structuredContent"').waitFor();
  await page.getByTestId("tab-wire").click();
  await page.getByText('"tools/call"').first().waitFor();
  await page.getByTestId("tab-diff").click();
  await page.locator(".diff .before", { hasText: "41" }).first().waitFor();
  await accessible(page);
  await done(page);
});

test("results: markdown, links, embedded resources, unknown kinds", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/tools/links");
  await page.getByTestId("run").click();
  const pane = await result(page);
  await pane.locator(".md-h1", { hasText: "Title" }).waitFor();
  await pane.getByRole("button", { name: "text 1" }).waitFor();
  await pane.getByText('"embedded"').waitFor();
  await pane.getByText('"hologram"').waitFor();
  await accessible(page);
  await done(page);
});

test("results: image and audio", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/tools/get_image");
  await page.getByTestId("run").click();
  const image = (await result(page)).locator("img");
  await image.waitFor();
  assert.ok(await image.evaluate((i) => i.complete && i.naturalWidth > 0));
  await visit(page, "bench/demo/tools/get_audio");
  await page.getByTestId("run").click();
  await (await result(page)).locator("audio").waitFor();
  await done(page);
});

test("six megabytes are shown in under 300 ms, as a tree and as a table", async () => {
  const page = await newPage();
  let ms = Infinity; // the best of three: what else the machine does makes a processor slower
  for (let i = 0; i < 3 && ms >= 300; i++) {
    await visit(page, "bench/corpus/tools/large");
    await page.reload();
    await page.getByTestId("run").waitFor();
    ms = Math.min(ms, await work(page, async () => {
      await page.getByTestId("run").click();
      await page.locator("[data-testid=json-lines] .json-line").first().waitFor();
    }));
  }
  const size = await page.evaluate(() => performance.getEntriesByType("resource").filter((e) => /runs\/.*\/body/.test(e.name)).at(-1).decodedBodySize);
  assert.ok(size > 6_000_000, `${size} bytes`);
  assert.ok(ms < 300, `${ms} ms`);
  assert.ok(await page.locator("*").count() < 1500);
  await page.getByText("9007199254740993").first().waitFor();
  await page.getByTestId("tab-table").click();
  await page.getByTestId("table-rows").getByText("issue 3", { exact: true }).waitFor();
  await accessible(page);
  await done(page);
});

test("the same call on several targets, with what differs", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/tools/echo");
  await page.locator("#t_message").fill("hello");
  await page.getByRole("button", { name: "Run on…" }).click();
  await page.getByRole("checkbox", { name: "corpus" }).check();
  await page.getByRole("button", { name: "Run on 2 servers" }).click();
  const columns = page.locator(".column");
  await columns.nth(0).getByText("hello").waitFor();
  await columns.nth(1).locator(".err").first().waitFor();
  await accessible(page);
  await done(page);
});

test("earlier runs can be shown and used again", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/tools/echo");
  await page.locator("#t_message").fill("first");
  await page.getByTestId("run").click();
  await result(page);
  await visit(page, "bench/demo/tools/echo");
  await page.locator(".run-row").first().hover();
  await page.locator(".runs").getByRole("button", { name: "Reuse arguments" }).first().click();
  await page.waitForFunction(() => document.querySelector("#t_message")?.value === "first");
  await done(page);
});

test("any server by command: the page says what will run", async () => {
  const page = await newPage();
  await visit(page, "bench");
  await page.locator("#c-command").fill(process.env.CORPUS_COMMAND);
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  const confirm = page.getByTestId("confirm");
  await confirm.getByText(process.env.CORPUS_COMMAND).waitFor();
  await accessible(page);
  await confirm.getByRole("button", { name: "Run command" }).click();
  await page.waitForURL(/bench\/(@|%40)/);
  await page.getByTestId("feature-list").getByText("form_simple").waitFor();
  await page.getByRole("button", { name: "Disconnect" }).click();
  await page.waitForURL("**/ui/bench");
  await done(page);
});

test("a command that does not start says why", async () => {
  const page = await newPage();
  await visit(page, "bench");
  await page.locator("#c-command").fill("/no/such/program");
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByTestId("confirm").getByRole("button", { name: "Run command" }).click();
  await page.getByText(/no such file/).first().waitFor();
  await done(page);
});

test("ping, log level, roots and raw requests", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/session");
  await page.getByRole("button", { name: "Ping" }).click();
  await page.getByTestId("ping").waitFor();
  await page.getByLabel("Server log level").selectOption("debug");
  await page.getByText("Log level set to debug").waitFor();
  await page.locator(".session-pane").getByRole("button", { name: "Add row" }).click();
  await page.getByPlaceholder("file:///…").fill("file:///srv/project");
  await page.getByRole("button", { name: "Set roots" }).click();
  await page.getByText("Roots updated").waitFor();
  await page.getByText("Raw request").click();
  await page.locator("#raw-method").fill("tools/list");
  await page.getByRole("button", { name: "Send" }).click();
  await (await result(page)).getByText('"tools"').first().waitFor();
  await visit(page, "bench/demo/tools/show_roots");
  await page.getByTestId("run").click();
  await (await result(page)).getByText("file:///srv/project").first().waitFor();
  await visit(page, "bench/demo/tools/log_something");
  await page.getByTestId("run").click();
  await (await result(page)).getByText("something happened").first().waitFor();
  await done(page);
});

test("the history is exported and imported", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/tools/echo");
  await page.locator("#t_message").fill("kept");
  await page.getByTestId("run").click();
  await result(page);
  const exported = await api(page, "GET", "runs?export=1");
  assert.ok(exported.body.some((r) => r.params?.arguments?.message === "kept" && r.result));
  const imported = await api(page, "POST", "runs", exported.body);
  assert.equal(imported.body.imported, exported.body.length);
  await done(page);
});
