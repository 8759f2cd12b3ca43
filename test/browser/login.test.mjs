import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, base, done, newPage, suite, visit } from "./lib.mjs";

suite();

test("without a login the page says what to run", async () => {
  const page = await newPage({ login: false });
  await page.goto(base + "/ui/");
  await page.getByText("mcp-all-in-one ui").waitFor();
  await accessible(page);
  await done(page);
});

test("a one-time code becomes a cookie that scripts cannot read, and leaves the address", async () => {
  const admin = await newPage();
  const { body } = await api(admin, "POST", "codes");
  const page = await newPage({ login: false });
  await page.goto(`${base}/ui/servers#code=${body.code}`);
  await page.getByRole("heading", { name: "Servers" }).waitFor();
  assert.equal(new URL(page.url()).hash, "");
  assert.equal(await page.evaluate(() => document.cookie), "");
  assert.ok(!(await page.content()).includes(body.code));
  assert.equal(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }).includes("aio_s")), false);
  const cookie = (await page.context().cookies()).find((c) => c.name === "aio_s");
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, "Strict");
  const again = await newPage({ login: false });
  await again.goto(`${base}/ui/#code=${body.code}`);
  await again.getByText("already used").waitFor();
  await done(again);
  await done(page);
  await done(admin);
});

test("a page of another site can neither read nor change", async () => {
  const page = await newPage();
  await visit(page, "overview");
  for (const [headers, want] of [[{ "X-MCP-AIO": "1", Origin: "http://evil.example" }, 403], [{ Origin: base }, 403]]) {
    const r = await page.request.fetch(base + "/api/v1/logout", { method: "POST", headers });
    assert.equal(r.status(), want);
  }
  const read = await page.request.fetch(base + "/api/v1/servers", { headers: { "Sec-Fetch-Site": "cross-site" } });
  assert.equal(read.status(), 403);
  await done(page);
});

test("logging out ends the session", async () => {
  const admin = await newPage();
  const { body } = await api(admin, "POST", "codes");
  const page = await newPage({ login: false });
  await page.goto(`${base}/ui/settings#code=${body.code}`);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByText("mcp-all-in-one ui").waitFor();
  assert.equal((await api(page, "GET", "session")).status, 401);
  await done(page);
  await done(admin);
});

test("the policy allows nothing inline and nothing from elsewhere", async () => {
  const page = await newPage();
  const response = await page.goto(base + "/ui/");
  const csp = response.headers()["content-security-policy"];
  assert.match(csp, /default-src 'none'/);
  assert.doesNotMatch(csp, /unsafe|https?:/);
  assert.doesNotMatch(await response.text(), /<script(?![^>]*src=)|<style| on\w+=/);
  await done(page);
});
