import assert from "node:assert/strict";
import { test } from "node:test";
import { Exact, JsonError, parse, stringify } from "../src/json/exact.ts";
import { diff, lineDiff } from "../src/json/diff.ts";
import { indexLines, lineAt, partsOf, visible } from "../src/json/lines.ts";
import { member } from "../src/json/members.ts";

test("numbers keep every digit", () => {
  for (const s of ["9007199254740993", "1.10", "1e400", "-0", "12", "0.1", "123456789012345678901234567890"]) {
    assert.equal(stringify(parse(s)), s);
  }
  assert.ok(parse("9007199254740993") instanceof Exact);
  assert.equal(parse("42"), 42);
});

test("round trip", () => {
  const s = '{"a":[1,{"b":null},"x\\n\\u4f60"],"__proto__":true,"":{}}';
  assert.equal(stringify(parse(s)), '{"a":[1,{"b":null},"x\\n你"],"__proto__":true,"":{}}');
  assert.equal(stringify(parse('{"a":[1,2]}'), 2), '{\n  "a": [\n    1,\n    2\n  ]\n}');
});

test("errors say where", () => {
  for (const [s, where] of [["{", "1:2"], ['{"a":}', "1:6"], ["[1,]", "1:4"], ['"a\nb"', "1:3"], ["1 2", "1:3"], ["{a:1}", "1:2"], ['"a', "1:1"], ["01", "1:2"], ["\n nul", "2:2"]] as const) {
    assert.throws(() => parse(s), (e: unknown) => e instanceof JsonError && `${e.line}:${e.column}` === where, s);
  }
});

test("lines of pretty JSON", () => {
  const l = indexLines('{"a": [1, "x,]\\"}"], "b": {}, "c" : {"d":null}}')!;
  const shown = Array.from({ length: l.count }, (_, i) =>
    "  ".repeat(l.depth[i]!) + (l.keyStart[i]! >= 0 ? l.text.slice(l.keyStart[i]!, l.keyEnd[i]!) + ":" : "") + l.text.slice(l.start[i]!, l.end[i]!));
  assert.deepEqual(shown, ["{", '  "a":[', "    1", '    "x,]\\"}"', "  ]", '  "b":{}', '  "c":{', '    "d":null', "  }", "}"]);
  assert.equal(l.children[0], 3);
  assert.deepEqual([...visible(l, new Set([1]))], [0, 1, 5, 6, 7, 8, 9]);
  assert.equal(lineAt(l, l.text.indexOf("null")), 7);
  for (const bad of ["", "{", "]", '"x']) assert.equal(indexLines(bad), undefined, bad);
});

test("six megabytes are indexed quickly", () => {
  const item = '{"number":1482,"title":"panic on empty arguments","labels":["bug","p1"],"user":{"login":"octocat"}}';
  const text = "[" + Array(60_000).fill(item).join(",") + "]";
  assert.ok(text.length > 5.5e6);
  const began = performance.now();
  assert.equal(indexLines(text)!.count, 60_000 * 11 + 2);
  assert.ok(performance.now() - began < 1000);
});

test("structural diff", () => {
  assert.deepEqual(diff(parse('{"a":1,"b":[1,2],"c":9007199254740993}'), parse('{"a":1,"b":[1,3,4],"d":{}, "c":9007199254740993}')), [
    { path: "b[1]", kind: "changed", before: "2", after: "3" },
    { path: "b[2]", kind: "added", after: "4" },
    { path: "d", kind: "added", after: "{}" },
  ]);
});

test("line diff", () => {
  assert.deepEqual(lineDiff("a\nb\nc\nd", "a\nc\nx\nd").map((l) => l.kind + l.text), [" a", "-b", " c", "+x", " d"]);
  assert.deepEqual(lineDiff("same", "same"), [{ kind: " ", text: "same" }]);
});

test("members of the outermost object", () => {
  const text = '{"content":[{"type":"text"}],"structuredContent":{"a":[1,2]},"isError":false,"e\\u0301":{}}';
  const parts = partsOf(indexLines(text)!);
  assert.deepEqual([...parts].map(([k, p]) => [k, text.slice(p.start, p.end)]), [
    ["content", '[{"type":"text"}]'], ["structuredContent", '{"a":[1,2]}'], ["isError", "false"], ["e\u0301", "{}"],
  ]);
  assert.equal(partsOf(indexLines("[1]")!).size, 0);
  assert.equal(member(text, "structuredContent"), '{"a":[1,2]}');
  assert.equal(member(text, "none"), undefined);
});
