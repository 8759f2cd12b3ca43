// A server that a model added: read before it is approved, and counted once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, done, newPage, suite, visit } from "./lib.mjs";
import { addPending } from "./pending.mjs";

suite();

const entry = { command: process.env.CORPUS_COMMAND, args: ["two words"], env: { WAITING_KEY: "hush" } };

test("a server that waits shows what it would run, and is approved on its page", async () => {
  const page = await newPage();
  await addPending(page, "waits", entry);
  await visit(page, "servers/default/waits");
  const launch = page.getByTestId("launch");
  assert.equal(await launch.locator("pre").innerText(), JSON.stringify(entry, null, 2));
  assert.deepEqual(await page.locator("main .head .button").evaluateAll((list) => list.slice(0, 2).map((e) => e.textContent)), ["Approve", "Remove"]);
  assert.equal(await page.locator("main .button.primary").innerText(), "Approve");
  await accessible(page);
  await page.locator("main .button.primary").click();
  await page.locator("main [data-state=up]").first().waitFor();
  await launch.waitFor({ state: "detached" });
  await api(page, "DELETE", "servers/default/waits");
  await done(page);
});

test("a server that waits is one finding, and is removed in the inbox", async () => {
  const page = await newPage({ lang: "zh-CN" });
  await addPending(page, "waits", entry);
  await visit(page, "doctor");
  await page.getByTestId("finding-waits").getByText("等待批准").waitFor();
  await page.getByTestId("finding-demo").getByText(/^就绪/).waitFor();
  assert.equal(await page.getByTestId("finding-config").count(), 1);
  assert.equal(await page.locator(".finding.bad", { hasText: "waits" }).count(), 1);
  await visit(page, "overview");
  const due = page.locator(".attention-card li", { hasText: "waits" });
  assert.match(await due.innerText(), /waits\s+等待批准\s+查看/);
  assert.match(await page.locator("main tr", { hasText: "demo" }).first().innerText(), /运行中 \d+ (秒|分钟)/);
  await visit(page, "inbox");
  const card = page.getByTestId("approval-waits");
  await card.getByRole("button", { name: "移除" }).click();
  await card.waitFor({ state: "detached" });
  assert.match(page.url(), /\/ui\/inbox$/);
  await done(page);
});

test("an unknown server is said in the language of the page, with a way back", async () => {
  const page = await newPage({ lang: "zh-CN" });
  await visit(page, "servers/default/nobody");
  await page.getByText("找不到服务器“nobody”").waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "返回服务器列表" }).click();
  await page.waitForURL("**/ui/servers");
  await done(page);
});
