// JSON that keeps every digit: a number that JavaScript would change is kept as
// text.

export class Exact {
  constructor(readonly raw: string) {}
}

export type Json = null | boolean | number | string | Exact | Json[] | { [key: string]: Json };

export class JsonError extends Error {
  constructor(message: string, readonly offset: number, readonly line: number, readonly column: number) {
    super(`${message} (${line}:${column})`);
  }
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const blank = /[ \t\r\n]*/y;

/** parse reads JSON strictly. */
export function parse(text: string): Json {
  let at = 0;
  const fail = (message: string): never => {
    const before = text.slice(0, at).split("\n");
    throw new JsonError(message, at, before.length, before.at(-1)!.length + 1);
  };
  const skip = () => { blank.lastIndex = at; blank.test(text); at = blank.lastIndex; };
  const expect = (c: string) => { skip(); if (text[at] !== c) fail(at < text.length ? `expected ${c}` : `expected ${c}, found the end`); at++; };
  const string = (): string => {
    const start = at++;
    for (; at < text.length; at++) {
      const c = text.charCodeAt(at);
      if (c === 92) at++;
      else if (c === 34) {
        at++;
        try { return JSON.parse(text.slice(start, at)); } catch { at = start; fail("bad string"); }
      } else if (c < 32) fail("a line break inside a string");
    }
    at = start;
    return fail("a string without an end");
  };
  const value = (depth: number): Json => {
    if (depth > 500) fail("nested too deeply");
    skip();
    switch (text[at]) {
      case "{": return object(depth);
      case "[": return array(depth);
      case '"': return string();
    }
    for (const [word, v] of [["true", true], ["false", false], ["null", null]] as const) {
      if (text.startsWith(word, at)) { at += word.length; return v; }
    }
    number.lastIndex = at;
    const m = number.exec(text);
    if (!m) return fail(at < text.length ? `unexpected ${text[at]}` : "expected a value");
    at = number.lastIndex;
    return exactly(m[0]);
  };
  const object = (depth: number): Json => {
    const out: { [key: string]: Json } = {};
    at++;
    skip();
    if (text[at] === "}") { at++; return out; }
    for (;;) {
      skip();
      if (text[at] !== '"') fail("expected a name in quotes");
      const key = string();
      expect(":");
      Object.defineProperty(out, key, { value: value(depth + 1), enumerable: true, configurable: true, writable: true });
      skip();
      if (text[at] === ",") { at++; continue; }
      expect("}");
      return out;
    }
  };
  const array = (depth: number): Json => {
    const out: Json[] = [];
    at++;
    skip();
    if (text[at] === "]") { at++; return out; }
    for (;;) {
      out.push(value(depth + 1));
      skip();
      if (text[at] === ",") { at++; continue; }
      expect("]");
      return out;
    }
  };
  const out = value(0);
  skip();
  if (at < text.length) fail("unexpected text after the value");
  return out;
}

/** exactly returns a number, or its text if JavaScript would change it. */
export function exactly(raw: string): number | Exact {
  const n = Number(raw);
  return String(n) === raw ? n : new Exact(raw);
}

/** stringify is the inverse of parse. */
export function stringify(v: Json, indent = 0, level = 0): string {
  if (v instanceof Exact) return v.raw;
  if (v === null || typeof v !== "object") return JSON.stringify(v);
  const array = Array.isArray(v);
  const parts = array ? v.map((x) => stringify(x, indent, level + 1))
    : Object.keys(v).map((k) => JSON.stringify(k) + (indent ? ": " : ":") + stringify(v[k]!, indent, level + 1));
  const [open, close] = array ? "[]" : "{}";
  if (!parts.length) return open! + close;
  if (!indent) return open + parts.join(",") + close;
  const pad = "\n" + " ".repeat(indent * (level + 1));
  return open + pad + parts.join("," + pad) + "\n" + " ".repeat(indent * level) + close;
}

export function isObject(v: unknown): v is { [key: string]: Json } {
  return typeof v === "object" && v !== null && !Array.isArray(v) && !(v instanceof Exact);
}
