import assert from "node:assert/strict";
import { test } from "node:test";
import { Markdown, looksLikeMarkdown } from "../src/parts/markdown.tsx";

/** flat writes elements as text: table(tr(th(a))). */
function flat(v: any): string {
  if (v === null || v === undefined || typeof v === "boolean") return "";
  if (Array.isArray(v)) return v.map(flat).join("");
  if (typeof v !== "object") return String(v);
  return `${v.type}(${flat(v.props.children)})`;
}

test("console/8 a Markdown table is a table", () => {
  const text = "Sizes:\n\n| name | size |\n|:--|--:|\n| a \\| b | `1` |\n| c |\n\nafter";
  const got = flat(Markdown({ text }));
  assert.match(got, /thead\(tr\(th\(name\)th\(size\)\)\)/);
  assert.match(got, /tbody\(tr\(td\(a \| b\)td\(code\(1\)\)\)tr\(td\(c\)td\(\)\)\)/);
  assert.match(got, /p\(after\)/);
  assert.ok(looksLikeMarkdown(text));
});

test("console/8 a bar in a sentence is no table", () => {
  assert.equal(flat(Markdown({ text: "either | or\nnothing" })).includes("table"), false);
});
