import assert from "node:assert/strict";
import { test } from "node:test";
import { addEn } from "../src/i18n/add.ts";
import { benchEn } from "../src/i18n/bench.ts";
import { en } from "../src/i18n/en.ts";
import { t } from "../src/i18n/index.ts";

// These always have more than one.
const many = ["allServers", "allTools", "usageChart"];

test("console/words a counted thing has a singular", () => {
  const nouns = /\{0\} (tool|server|client|call|token|name|run|test|file|suggestion|problem|failure|message|day|result|row)s\b/;
  const wrong = Object.entries({ ...en, ...benchEn, ...addEn }).filter(([key, text]) => nouns.test(text) && !text.includes("|") && !many.includes(key));
  assert.deepEqual(wrong, []);
  assert.equal(t("whatClientsSee", t("anyNumber", 1), t("serversN", 1)), "What clients see: 1 tool from 1 server");
});

test("console/words large numbers are grouped", () => {
  assert.equal(t("anyNumber", 1500), "1,500 tools");
});
