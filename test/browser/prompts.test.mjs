// The six cases of the prompt tester, clicked through.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, done, newPage, result, suite, visit } from "./lib.mjs";

suite();

const message = async (page) => (await (await result(page)).getByTestId("prompt-message").innerText()).replace(/\s+/g, " ");
const cases = [
  ["TC01 req/S004-13 no arguments", "plain", {}, "arguments: absent"],
  ["TC02 req/S004-14 one optional, blank", "optional", {}, "arguments: absent"],
  ["TC03 req/S004-15 one optional, filled", "optional", { topic: "MCP" }, 'arguments: {"topic":"MCP"}'],
  ["TC05 req/S004-17 one required, filled", "required", { topic: "MCP" }, 'arguments: {"topic":"MCP"}'],
  ["TC06 req/S004-18 required and optional, only required filled", "mixed", { topic: "MCP" }, 'arguments: {"topic":"MCP"}'],
];

for (const [name, prompt, values, want] of cases) {
  for (const [lang, label] of [["en", "Get"], ["zh-CN", "获取"]]) {
    test(`${name}, ${lang}`, async () => {
      const page = await newPage({ lang });
      await visit(page, "bench/corpus/prompts");
      await page.getByTestId("feature-list").getByText(prompt, { exact: true }).click();
      for (const [k, v] of Object.entries(values)) await page.locator("#p-" + k).fill(v);
      await page.getByTestId("get-prompt").filter({ hasText: label }).click();
      assert.ok((await message(page)).includes(want), await message(page));
      await done(page);
    });
  }
}

test("TC04 req/S004-16 one required, blank: the page stops it and sends nothing", async () => {
  const page = await newPage({ lang: "zh-CN" });
  await visit(page, "bench/corpus/prompts/required");
  await page.getByTestId("get-prompt").waitFor();
  const before = (await api(page, "GET", "runs?method=prompts/get")).body.length;
  await page.getByTestId("get-prompt").click();
  assert.equal(await page.getByTestId("missing").innerText(), "参数必需");
  assert.equal((await api(page, "GET", "runs?method=prompts/get")).body.length, before);
  await accessible(page);
  await done(page);
});

test("req/S004-12 an explicit empty value is sent", async () => {
  const page = await newPage();
  await visit(page, "bench/corpus/prompts/optional");
  await page.getByRole("button", { name: "Send empty string" }).click();
  await page.getByTestId("get-prompt").click();
  assert.ok((await message(page)).includes('arguments: {"topic":""}'));
  await done(page);
});

test("req/S004-23 a failure has the words of the original", async () => {
  const page = await newPage({ lang: "zh-CN" });
  await visit(page, "bench/corpus/prompts/broken");
  await page.getByTestId("get-prompt").click();
  assert.equal(await page.getByTestId("prompt-failure").innerText(), "获取提示词失败: MCP error 0: Missing required arguments");
  await done(page);
});

test("completion offers values of the server", async () => {
  const page = await newPage();
  await visit(page, "bench/demo/prompts/summarize");
  await page.locator("#p-style").fill("f");
  await page.locator("#p-style-list option[value=formal]").waitFor({ state: "attached" });
  await done(page);
});
