// A client that wants access: its page shows a code, a person enters it in the
// Inbox, and the page goes on to the client.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { configured, freePorts, gateway } from "./gateway.mjs";
import { accessible, newPage, suite, visit } from "./lib.mjs";

suite();
let gw, client, back;
const arrived = [];
before(async () => {
  const [port] = await freePorts(1), url = "http://127.0.0.1:" + port;
  gw = await gateway(configured({ server: { port }, access: { keys: "keys.json", share: { url } }, mcpServers: {} }), null);
  client = createServer((req, res) => { arrived.push(new URL(req.url, back)); res.setHeader("Content-Type", "text/html"); res.end("<!doctype html><title>Client</title><h1>Connected</h1>"); });
  await new Promise((r) => client.listen(0, "127.0.0.1", r));
  back = `http://127.0.0.1:${client.address().port}/callback`;
});
after(async () => { client?.close(); await gw?.end(); });

/** begin opens the page of a client that wants access, as the client does. */
async function begin(options) {
  const c = await (await fetch(gw.url + "/oauth/register", { method: "POST", body: JSON.stringify({ client_name: "Chat <b>", redirect_uris: [back] }) })).json();
  const page = await newPage({ ...options, login: false, at: gw.url });
  const q = new URLSearchParams({ response_type: "code", client_id: c.client_id, redirect_uri: back, state: "s", code_challenge: "A".repeat(43), code_challenge_method: "S256" });
  await page.goto(gw.url + "/oauth/authorize?" + q);
  return page;
}
/** still is a copy of a page that does not go on by itself. */
async function still(page, options = {}) {
  const copy = await newPage({ ...options, login: false, at: gw.url });
  const html = await (await fetch(page.url().replace("again&", ""), { headers: { "Accept-Language": options.lang ?? "en" } })).text();
  await copy.setContent(html);
  return copy;
}
const codeOf = (copy) => copy.locator("output").innerText();
const shot = async (page, name) => { if (process.env.SCREENS) await page.screenshot({ path: `${process.env.SCREENS}/share-${name}.png` }); };

test("console/share a person enters the code, and the client gets its answer", async () => {
  const theirs = await begin(), page = await gw.open();
  await theirs.getByRole("heading", { name: "127.0.0.1 asks for access to this gateway" }).waitFor();
  await theirs.getByText("“Chat <b>”").waitFor();
  const copy = await still(theirs);
  await accessible(copy);
  await shot(copy, "page");
  await visit(page, "inbox");
  const card = page.getByTestId("question-share");
  await card.getByText("read-only tools of the schema default for 30 days").waitFor();
  const yes = card.getByRole("button", { name: "Approve" });
  assert.ok(await yes.isDisabled());
  await card.getByLabel("Code on its page").fill(await codeOf(copy));
  await accessible(page);
  await shot(page, "inbox");
  await yes.click();
  await card.waitFor({ state: "detached" });
  await theirs.getByRole("heading", { name: "Connected" }).waitFor();
  const sent = arrived.at(-1).searchParams;
  assert.ok(sent.get("code"));
  assert.equal(sent.get("state"), "s");
  assert.equal(sent.get("iss"), gw.url);
  await page.getByText("Done", { exact: true }).click();
  await page.getByTestId("done").getByText("Allowed").waitFor();
  assert.deepEqual(page.troubles, []);
  await page.context().close();
  await copy.context().close();
  await theirs.context().close();
});

test("console/share a wrong code refuses the client; Chinese, dark, narrow", async () => {
  const look = { lang: "zh-CN", dark: true, width: 390, height: 800 };
  const theirs = await begin(look), page = await gw.open(look);
  await theirs.getByRole("heading", { name: "127.0.0.1 请求访问此网关" }).waitFor();
  const copy = await still(theirs, look);
  await accessible(copy);
  await shot(copy, "page-zh");
  await visit(page, "inbox");
  await page.locator(".ibl li a").first().click();
  const card = page.getByTestId("question-share");
  const wrong = (await codeOf(copy)).replace(/\d$/, (d) => String((Number(d) + 1) % 10));
  await card.getByLabel("其页面上的验证码").fill(wrong);
  await accessible(page);
  await shot(page, "inbox-zh");
  await card.getByRole("button", { name: "批准" }).click();
  await page.getByText("这不是客户端页面上的验证码").waitFor();
  await theirs.getByRole("heading", { name: "Connected" }).waitFor();
  assert.equal(arrived.at(-1).searchParams.get("error"), "access_denied");
  assert.equal(arrived.at(-1).searchParams.get("code"), null);
  await page.context().close();
  await copy.context().close();
  await theirs.context().close();
});
