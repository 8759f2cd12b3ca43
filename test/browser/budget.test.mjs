// What the page may weigh.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { done, newPage, suite, visit } from "./lib.mjs";

suite();
const assets = new URL("../../internal/web/dist/assets/", import.meta.url);
const packed = (name) => gzipSync(readFileSync(new URL(name, assets)), { level: 9 }).length;

test("the first screen loads at most 60 KB of script and 12 KB of style, packed", async () => {
  const page = await newPage();
  const loaded = [];
  page.on("response", (r) => { if (r.url().includes("/ui/assets/")) loaded.push(new URL(r.url()).pathname.split("/").pop()); });
  await visit(page, "overview");
  const script = loaded.filter((f) => f.endsWith(".js")).reduce((n, f) => n + packed(f), 0);
  const style = loaded.filter((f) => f.endsWith(".css")).reduce((n, f) => n + packed(f), 0);
  assert.ok(script > 0 && script <= 60 * 1024, `${script} bytes of script`);
  assert.ok(style > 0 && style <= 12 * 1024, `${style} bytes of style`);
  assert.ok(!loaded.some((f) => f.startsWith("codemirror")), "the editor is loaded on demand");
  await done(page);
});

test("everything together is at most 700 KB", () => {
  const total = readdirSync(assets).reduce((n, f) => n + readFileSync(new URL(f, assets)).length, 0);
  assert.ok(total <= 700 * 1024, `${total} bytes`);
});
