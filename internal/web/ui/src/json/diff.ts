// Differences between two values, or two texts.
import { Exact, isObject, stringify, type Json } from "./exact.ts";

export interface Change { path: string; kind: "added" | "removed" | "changed"; before?: string; after?: string }

const most = 1000;

/** diff compares structure, not text. */
export function diff(before: Json, after: Json): Change[] {
  const out: Change[] = [];
  walk(before, after, "", out);
  return out;
}

function same(a: Json, b: Json): boolean {
  if (a instanceof Exact || b instanceof Exact) return stringify(a) === stringify(b);
  return a === b;
}

function walk(a: Json, b: Json, path: string, out: Change[]): void {
  if (out.length >= most) return;
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) member(a[i], b[i], `${path}[${i}]`, out);
    return;
  }
  if (isObject(a) && isObject(b)) {
    for (const k of new Set([...Object.keys(a), ...Object.keys(b)])) member(a[k], b[k], path ? `${path}.${k}` : k, out);
    return;
  }
  if (!same(a, b)) out.push({ path, kind: "changed", before: stringify(a), after: stringify(b) });
}

function member(a: Json | undefined, b: Json | undefined, path: string, out: Change[]): void {
  if (out.length >= most) return;
  if (a === undefined) out.push({ path, kind: "added", after: stringify(b!) });
  else if (b === undefined) out.push({ path, kind: "removed", before: stringify(a) });
  else walk(a, b, path, out);
}

export interface DiffLine { kind: " " | "-" | "+"; text: string }

/** lineDiff returns the shortest difference between two texts, by lines. */
export function lineDiff(before: string, after: string): DiffLine[] {
  const a = before.split("\n"), b = after.split("\n");
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const out: DiffLine[] = a.slice(0, head).map((text) => ({ kind: " ", text }));
  out.push(...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)));
  out.push(...a.slice(a.length - tail).map((text) => ({ kind: " " as const, text })));
  return out;
}

function middle(a: string[], b: string[]): DiffLine[] {
  const removed = (t: string): DiffLine => ({ kind: "-", text: t });
  const added = (t: string): DiffLine => ({ kind: "+", text: t });
  // For more than a million cells the shortest difference is not worth the
  // time.
  if (!a.length || !b.length || a.length * b.length > 1_000_000) return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1]! + 1
        : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!);
    }
  }
  const out: DiffLine[] = [];
  let i = 0, j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) { out.push({ kind: " ", text: a[i]! }); i++; j++; }
    else if (table[(i + 1) * width + j]! >= table[i * width + j + 1]!) out.push(removed(a[i++]!));
    else out.push(added(b[j++]!));
  }
  return [...out, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}
