import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, commandLine, done, newPage, suite, visit } from "./lib.mjs";

suite();

test("the doctor says what is wrong, and what to do", async () => {
  const page = await newPage();
  await visit(page, "doctor");
  const broken = page.getByTestId("finding-broken");
  await broken.getByText(/no such file/).waitFor();
  await broken.getByText("How to fix").waitFor();
  await page.getByTestId("finding-demo").getByText(/ready, protocol 2025-11-25/).waitFor();
  await page.getByTestId("finding-demo").getByText(/suggestions?$/).click();
  await page.getByTestId("finding-demo").getByText(/it has no description|have no description/).first().waitFor();
  await accessible(page);
  await done(page);
});

test("the way to a server over HTTP is shown to where it ends", async () => {
  const page = await newPage();
  await api(page, "PUT", "servers/default/gone", { entry: { type: "http", url: "http://127.0.0.1:9/mcp" }, confirm: "" });
  await visit(page, "doctor/default/gone");
  const way = page.getByTestId("finding-gone").getByRole("list", { name: "Connection path" });
  await way.getByText("DNS").waitFor();
  assert.match(await way.locator("li.bad").innerText(), /TCP[\s\S]*refused/);
  await page.getByText("start the server, or correct the port in its url").waitFor();
  await commandLine(page, "mcp-all-in-one doctor gone");
  await api(page, "DELETE", "servers/default/gone");
  await done(page);
});

test("the doctor speaks the language of the page", async () => {
  const page = await newPage({ lang: "zh-CN" });
  await visit(page, "doctor");
  await page.getByTestId("finding-demo").getByText(/协议 2025-11-25/).waitFor();
  await page.getByTestId("finding-broken").getByText(/没有这个文件/).waitFor();
  await page.getByTestId("finding-demo").getByText(/条建议/).click();
  await page.getByTestId("finding-demo").getByText(/没有描述/).first().waitFor();
  await visit(page, "servers");
  await page.getByText(/启动 .* 失败：没有这个文件/).first().waitFor();
  await visit(page, "doctor");
  await page.getByTestId("language").click();
  await page.getByTestId("finding-demo").getByText(/protocol 2025-11-25/).waitFor();
  await done(page);
});
