import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { isObject, parse, stringify, type Json } from "../src/json/exact.ts";
import { compile, type Form } from "../src/form/compile.ts";
import { draftOf, initialDraft, read, type Draft } from "../src/form/draft.ts";

// Run with UPDATE=1 to accept what the compiler makes now.
const corpus = parse(readFileSync("test/corpus.json", "utf8")) as { [name: string]: { [k: string]: Json } };
const goldenFile = "test/golden.json";
const made = Object.fromEntries(Object.entries(corpus).map(([name, c]) => [name, compile(c.schema!)]));
if (process.env.UPDATE) {
  const lines = Object.entries(made).map(([name, form]) => `${JSON.stringify(name)}: ${JSON.stringify(form)}`);
  writeFileSync(goldenFile, "{\n" + lines.join(",\n") + "\n}\n");
}
const golden: Record<string, Form> = JSON.parse(readFileSync(goldenFile, "utf8"));

for (const [name, c] of Object.entries(corpus)) {
  test("compile: " + name, () => assert.deepEqual(JSON.parse(JSON.stringify(made[name])), golden[name]));
  for (const value of c.values as string[]) {
    test(`round trip: ${name}: ${value}`, () => {
      const form = made[name]!;
      const { value: back, troubles } = read(form, form.root, draftOf(form, form.root, parse(value)));
      assert.deepEqual(troubles, []);
      assert.equal(stringify(sorted(back!)), stringify(sorted(parse(value))));
    });
  }
}

/** sorted orders names, because a form prints them in its own order. */
function sorted(v: Json): Json {
  if (Array.isArray(v)) return v.map(sorted);
  return isObject(v) ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k]!)])) : v;
}

const form = (schema: string) => compile(parse(schema));
const json = (f: Form, d: Draft) => { const r = read(f, f.root, d); return r.value === undefined ? undefined : stringify(r.value); };

test("an optional field that is empty is left out, an explicit empty string is sent", () => {
  const f = form('{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}');
  assert.equal(json(f, { props: { a: { text: "" }, b: { text: "" } } }), "{}");
  assert.equal(json(f, { props: { a: { empty: true } } }), '{"a":""}');
});

test("null, absent and empty are three things", () => {
  const f = form('{"type":"object","properties":{"a":{"type":["string","null"]}}}');
  assert.equal(json(f, {}), "{}");
  assert.equal(json(f, { props: { a: { isNull: true } } }), '{"a":null}');
  assert.equal(json(f, { props: { a: { empty: true } } }), '{"a":""}');
});

test("integers beyond 2^53 stay as typed", () => {
  const f = form('{"type":"object","properties":{"id":{"type":"integer"}}}');
  assert.equal(json(f, { props: { id: { text: "9007199254740993" } } }), '{"id":9007199254740993}');
});

test("what is no number is trouble, not silence", () => {
  const f = form('{"type":"object","properties":{"id":{"type":"integer"}}}');
  assert.deepEqual(read(f, f.root, { props: { id: { text: "12x" } } }).troubles, [{ path: "/id", reason: "number" }]);
  assert.deepEqual(read(f, f.root, { props: { id: { raw: "{" } } }).troubles, [{ path: "/id", reason: "json" }]);
});

test("the constant of a chosen variant is filled in", () => {
  const f = made["discriminator by const"]!;
  assert.equal(json(f, { variant: 1, inner: { props: { side: { text: "2" } } } }), '{"kind":"square","side":2}');
});

test("required fields start with their defaults, optional ones are left to the server", () => {
  assert.equal(json(made.defaults!, initialDraft(made.defaults!)), '{"req":5}');
});

test("a map tells about a name that is there twice", () => {
  const f = form('{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}}}');
  const d: Draft = { props: { m: { rows: [{ key: "a", value: { text: "1" } }, { key: "a", value: { text: "2" } }] } } };
  assert.deepEqual(read(f, f.root, d).troubles, [{ path: "/m", reason: "duplicate" }]);
});

test("a hostile schema ends", () => {
  let deep: Json = { type: "string" };
  for (let i = 0; i < 200; i++) deep = { type: "object", properties: { x: deep } };
  assert.ok(compile(deep));
  assert.ok(form('{"$ref":"#"}'));
  assert.ok(form('{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}'));
  assert.ok(form('{"allOf":[{"$ref":"#"}]}'));
});
