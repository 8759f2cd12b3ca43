import assert from "node:assert/strict";
import { test } from "node:test";
import { ns, tick } from "../src/format.ts";
import { ready, setLang } from "../src/i18n/index.ts";

test("console/numbers a duration over a minute is in the language of the page", async () => {
  assert.equal(ns(100e9), "1 min 40 s");
  assert.equal(ns(119.7e9), "2 min 0 s");
  globalThis.localStorage ??= { setItem() {}, getItem: () => null } as unknown as Storage;
  await ready;
  setLang("zh-CN");
  while (ns(100e9).includes("min")) await new Promise((r) => setTimeout(r, 1));
  assert.equal(ns(100e9), "1 分 40 秒");
  setLang("en");
  while (!ns(100e9).includes("min")) await new Promise((r) => setTimeout(r, 1));
});

test("console/numbers the values of an axis have one unit", () => {
  assert.deepEqual([0, 500, 1000, 1500].map((v) => tick(v, 1500)), ["0 s", "0.5 s", "1 s", "1.5 s"]);
  assert.deepEqual([0, 250, 500].map((v) => tick(v, 500)), ["0 ms", "250 ms", "500 ms"]);
  assert.equal(tick(100_000, 100_000), "100 s");
});
