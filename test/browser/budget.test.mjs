// What the page may weigh, and how long it may take.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { api, base, connect, done, newPage, suite, toolName, visit, work } from "./lib.mjs";

suite();
const assets = new URL("../../internal/web/dist/assets/", import.meta.url);
const packed = (name) => readFileSync(new URL(name + ".gz", assets)).length;

test("console/budget the first page loads at most 110 KB, packed, with its fonts", async () => {
  const page = await newPage();
  const loaded = new Set();
  page.on("response", (r) => { if (r.url().includes("/ui/assets/")) loaded.add(new URL(r.url()).pathname.split("/").pop()); });
  await visit(page, "overview");
  await page.evaluate(() => document.fonts.ready);
  await page.locator("[data-testid=live] [data-state=live]").waitFor();
  const sum = (ext) => [...loaded].filter((f) => f.endsWith(ext)).reduce((n, f) => n + packed(f), 0);
  const [script, style, fonts] = [sum(".js"), sum(".css"), sum(".woff2")];
  const sizes = `${script} bytes of script, ${style} of style, ${fonts} of fonts`;
  console.log("# " + sizes);
  assert.ok(script > 0 && script <= 60 * 1024, sizes);
  assert.ok(style > 0 && style <= 17 * 1024, sizes);
  assert.ok(fonts > 0 && fonts <= 29 * 1024, sizes);
  assert.ok(script + style + fonts + 4 * 1024 <= 110 * 1024, sizes);
  assert.ok(![...loaded].some((f) => f.startsWith("codemirror")), "the editor is loaded on demand");
  await done(page);
});

test("everything together is at most 800 KB, and the bridge for apps at most 500 KB more", () => {
  const size = (list) => list.reduce((n, f) => n + gunzipSync(readFileSync(new URL(f, assets))).length, 0);
  // What an app's host is made of is loaded with the first app.
  const bridge = /^(host|webapi)-/;
  const all = readdirSync(assets);
  const [own, apps] = [size(all.filter((f) => !bridge.test(f))), size(all.filter((f) => bridge.test(f)))];
  assert.ok(own <= 800 * 1024 && apps <= 500 * 1024, `${own} bytes and ${apps} bytes`);
});

test("console/budget the first paint takes under 300 ms on loopback", async () => {
  const page = await newPage();
  const paint = async (url) => {
    await page.goto(url);
    await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
    return page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  };
  // A line of text from the same gateway shows what the machine takes for any
  // page: by how much that is late on an idle machine (30 ms), the page may be.
  let line = Infinity, whole = Infinity, best = Infinity;
  for (let i = 0; i < 12 && (i < 4 || best >= 300); i++) {
    line = Math.min(line, await paint(base + "/health"));
    whole = Math.min(whole, await paint(base + "/ui/overview"));
    best = whole - Math.max(0, line - 30);
  }
  console.log(`# first paint ${Math.round(whole)} ms, of a line of text ${Math.round(line)} ms`);
  assert.ok(best < 300, `${best} ms`);
  await done(page);
});

test("console/budget from an input to its picture the page works under 50 ms", async () => {
  const page = await newPage();
  const call = await connect("paint-client");
  await call("tools/call", { name: await toolName(call, "echo"), arguments: { message: "x" } });
  const painted = () => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
  const acts = {
    "the search opens": ["overview", async () => { await page.keyboard.press("Control+k"); await page.getByRole("combobox").waitFor(); }],
    "a letter is typed": ["overview", async () => { await page.keyboard.press("a"); }],
    "a row opens": ["traffic", async (at) => { await page.mouse.click(...at); await page.getByTestId("entry").waitFor(); }, ".vlist-rows .grid-row .c-result"],
    "a menu opens": ["servers", async (at) => { await page.mouse.click(...at); await page.locator(".pop:popover-open").waitFor(); }, "[data-testid=menu-demo]"],
    "a filter is typed": ["catalog", async () => { await page.keyboard.press("d"); }, "[data-filter]"],
  };
  let at = "";
  for (const [name, [path, act, target = "[data-testid=timeline]"]] of Object.entries(acts)) {
    if (path !== at) { await visit(page, path); await page.locator("main .skeleton").waitFor({ state: "detached" }); at = path; }
    // Where to click is found before: what the test itself runs in the page is not the page's work.
    const part = page.locator(target).first(), box = await part.boundingBox();
    if (path === "catalog") await part.focus();
    const ms = await work(page, async () => { await act([box.x + box.width / 2, box.y + box.height / 2]); await painted(); });
    console.log(`# ${name}: ${ms.toFixed(1)} ms`);
    assert.ok(ms < 50, `${name}: ${ms} ms`);
  }
  await done(page);
});

test("console/7 at 200 calls a second and 10,000 rows the page is busy under 15 % of the time", async () => {
  const page = await newPage();
  await page.addInitScript(() => localStorage.setItem("traffic.hops", "true"));
  const calls = await Promise.all(Array.from({ length: 8 }, (_, i) => connect("busy-" + i)));
  const name = await toolName(calls[0], "echo");
  const once = (i) => calls[i % 8]("tools/call", { name, arguments: { message: "x" } });
  const have = (await api(page, "GET", "traffic?limit=1")).body.rev / 2;
  for (let left = Math.max(200, (10_200 - have) / 2); left > 0; left -= 64) await Promise.all(Array.from({ length: 64 }, (_, i) => once(i)));
  await visit(page, "traffic");
  const list = page.getByTestId("traffic-rows");
  await list.waitFor();
  const rows = () => list.evaluate((el) => Number(el.getAttribute("aria-rowcount")));
  for (let n = await rows(), last = 0; n < 9_900 && n !== last;) {
    last = n;
    await list.evaluate((el) => { el.scrollTop = el.scrollHeight; });
    await page.waitForFunction((n) => Number(document.querySelector("[data-testid=traffic-rows]").getAttribute("aria-rowcount")) > n, n).catch(() => {});
    n = await rows();
  }
  assert.ok(await rows() >= 9_000, `${await rows()} rows`);
  await list.evaluate((el) => { el.scrollTop = 0; });
  await page.getByTestId("fresh").waitFor({ state: "detached" }).catch(() => {});
  // Five seconds of load, paced by the clock and not by the answers; up to three
  // times, because what is busy only once was the machine.
  const seconds = 5, shares = [];
  while (shares.length < 3 && !(Math.min(...shares) < 0.15)) {
    const sent = [], began = Date.now();
    const ms = await work(page, async () => {
      await new Promise((resolve) => {
        const timer = setInterval(() => {
          while (sent.length < (Date.now() - began) / 5 && sent.length < 200 * seconds) sent.push(once(sent.length));
          if (sent.length >= 200 * seconds) { clearInterval(timer); resolve(); }
        }, 20);
      });
      await Promise.all(sent);
      await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
    });
    shares.push(ms / (seconds * 1000));
  }
  const said = shares.map((s) => (s * 100).toFixed(1) + " %").join(", ");
  console.log(`# busy ${said} at 200 calls/s, ${await rows()} rows`);
  assert.ok(Math.min(...shares) < 0.15, `${said} busy`);
  assert.ok(await page.locator(".vlist-rows .grid-row").count() <= 200);
  await done(page);
});
