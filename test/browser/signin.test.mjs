import assert from "node:assert/strict";
import { after, test } from "node:test";
import { accessible, api, done, newPage, suite, visit } from "./lib.mjs";
import { authorised } from "./authorised.mjs";

suite();
let guarded;
after(() => guarded?.close());

test("a server that wants a sign-in has a button for it", async () => {
  guarded = await authorised();
  const page = await newPage();
  await api(page, "PUT", "servers/default/guarded", { entry: { type: "http", url: guarded.url }, confirm: "" });
  await visit(page, "overview");
  await page.locator(".attention-card", { hasText: "guarded" }).getByRole("button", { name: "Sign in" }).waitFor();
  await visit(page, "doctor/default/guarded");
  await page.getByTestId("finding-guarded").getByText(/^mcp-all-in-one auth login guarded( |$)/).waitFor();
  await page.getByTestId("finding-guarded").getByRole("list", { name: "Connection path" }).getByText("Sign-in").waitFor();
  await visit(page, "servers/default/guarded");
  await page.locator("main [data-state=auth]").first().waitFor();
  await accessible(page);
  const [tab] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("button", { name: "Sign in" }).click()]);
  // The authorization server sends the browser back to the gateway.
  await tab.waitForURL(/127\.0\.0\.1:\d+\/.*code=/);
  await page.locator("main [data-state=up]").first().waitFor();
  assert.equal((await api(page, "GET", "servers/default/guarded")).body.tools, 1);
  await page.getByRole("region", { name: "Connection" }).getByText(`at ${new URL(guarded.url).host}`).waitFor();
  await api(page, "DELETE", "servers/default/guarded");
  await done(page);
});

test("a sign-in that cannot begin says why", async () => {
  const page = await newPage();
  const refused = await api(page, "POST", "servers/default/demo/signin");
  assert.equal(refused.status, 422);
  assert.match(refused.body.error.message, /not reached over HTTP/);
  assert.equal((await api(page, "POST", "servers/default/nobody/signin")).status, 404);
  await done(page);
});
