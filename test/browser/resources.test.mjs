import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, commandLine, done, newPage, result, suite, visit } from "./lib.mjs";

suite();

const resource = (uri) => "bench/demo/resources/" + encodeURIComponent(uri);

test("read a resource", async () => {
  const page = await newPage();
  await visit(page, resource("demo://text/2"));
  await page.getByTestId("read").click();
  await (await result(page)).getByText("This is text number 2.").waitFor();
  await commandLine(page, "mcp-all-in-one read demo demo://text/2");
  await accessible(page);
  await visit(page, resource("demo://binary/1"));
  await page.getByTestId("read").click();
  await (await result(page)).locator("img").waitFor();
  await done(page);
});

test("a template completes its variable, then reads", async () => {
  const page = await newPage();
  await visit(page, resource("demo://text/{id}"));
  await page.getByTestId("completions").locator("option[value='3']").waitFor({ state: "attached" });
  assert.equal(await page.getByTestId("read").isDisabled(), true);
  await page.locator("#v-id").fill("3");
  await page.getByTestId("read").click();
  await (await result(page)).getByText("This is text number 3.").waitFor();
  assert.equal(await page.getByTestId("uri").innerText(), "demo://text/3");
  await done(page);
});

test("subscribe and see what an update changed", async () => {
  const page = await newPage();
  await visit(page, resource("demo://clock"));
  await page.getByTestId("read").click();
  await result(page);
  await page.getByRole("button", { name: "Subscribe" }).click();
  await page.locator("[data-testid=update] .plus").first().waitFor();
  await page.locator("[data-testid=update] .minus").first().waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Unsubscribe" }).click();
  await page.getByRole("button", { name: "Subscribe", exact: true }).waitFor();
  await done(page);
});
