// The current input of a form, and the JSON it stands for.
import { exactly, isObject, parse, stringify, type Json } from "../json/exact.ts";
import { resolve, type Field, type Form } from "./compile.ts";

/** A Draft keeps text exactly as typed. */
export interface Draft {
  /** raw is JSON typed by hand; it overrides all other members. */
  raw?: string;
  isNull?: boolean;
  text?: string;
  /** empty sends "" for an empty box, instead of leaving it out. */
  empty?: boolean;
  items?: Draft[];
  props?: Record<string, Draft>;
  rows?: { key: string; value: Draft }[];
  variant?: number;
  /** inner is the draft of the chosen variant. */
  inner?: Draft;
  /** present keeps an object without members. */
  present?: boolean;
}

export interface Trouble { path: string; reason: "number" | "json" | "duplicate" }
export interface Read { value: Json | undefined; troubles: Trouble[] }

/** read converts a draft to a value; undefined means that it is left out. */
export function read(form: Form, field: Field, draft: Draft | undefined, required = true, path = ""): Read {
  // A recursive schema ends where the user has not entered anything.
  if (!draft && (!required || field.kind === "ref")) return { value: undefined, troubles: [] };
  const f = resolve(form, field);
  const troubles: Trouble[] = [];
  const done = (value: Json | undefined): Read => ({ value, troubles });
  if (draft?.raw !== undefined) {
    if (!draft.raw.trim()) return done(undefined);
    try { return done(parse(draft.raw)); } catch { troubles.push({ path, reason: "json" }); return done(undefined); }
  }
  if (draft?.isNull) return done(null);
  const sub = (g: Field, d: Draft | undefined, req: boolean, part: string | number): Json | undefined => {
    const r = read(form, g, d, req, `${path}/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`);
    troubles.push(...r.troubles);
    return r.value;
  };
  switch (f.kind) {
    case "const": return done(parse(f.value));
    case "null": return done(null);
    case "string": return done(draft?.text ? draft.text : draft?.empty ? "" : undefined);
    // A switch has two states, so a required switch that was not touched is
    // off.
    case "boolean": return done(draft?.text === "true" ? true : draft?.text === "false" || required ? false : undefined);
    case "enum": return done(draft?.text ? parse(draft.text) : undefined);
    case "number":
    case "integer": {
      const t = draft?.text?.trim();
      if (!t) return done(undefined);
      if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(t)) troubles.push({ path, reason: "number" });
      else return done(exactly(t));
      return done(undefined);
    }
    case "choices": return done(draft?.items ? draft.items.map((d) => parse(d.text!)) : undefined);
    case "array": {
      if (!draft?.items) return done(undefined);
      const out = draft.items.map((d, i) => sub(f.item, d, true, i));
      return done(out.filter((v) => v !== undefined));
    }
    case "map": return done(rows(f.value, draft, sub, troubles, path));
    case "object": {
      const out: { [k: string]: Json } = {};
      for (const p of f.props) {
        const v = sub(p.field, draft?.props?.[p.name], p.required, p.name);
        if (v !== undefined) out[p.name] = v;
      }
      if (f.extra && draft?.rows) Object.assign(out, rows(f.extra, draft, sub, troubles, path));
      return done(required || draft?.present || Object.keys(out).length > fixedCount(f) ? out : undefined);
    }
    case "union": {
      const v = f.variants[draft?.variant ?? 0];
      if (!v) return done(undefined);
      const r = read(form, v.field, draft?.inner, required || draft?.variant !== undefined, path);
      troubles.push(...r.troubles);
      return done(r.value);
    }
    default: return done(undefined);
  }
}

const fixedCount = (f: Field & { kind: "object" }) => f.props.filter((p) => p.required && p.field.kind === "const").length;

function rows(field: Field, draft: Draft | undefined, sub: (f: Field, d: Draft, r: boolean, k: string) => Json | undefined,
  troubles: Trouble[], path: string): { [k: string]: Json } | undefined {
  if (!draft?.rows) return undefined;
  const out: { [k: string]: Json } = {};
  for (const row of draft.rows) {
    if (!row.key) continue;
    if (row.key in out) troubles.push({ path, reason: "duplicate" });
    out[row.key] = sub(field, row.value, true, row.key) ?? (field.kind === "string" ? "" : null);
  }
  return out;
}

/** drafts caches the results of draftOf: nested alternatives ask for the same draft again and again. */
const drafts = new WeakMap<Field, WeakMap<object, Draft | undefined>>();

/** draftOf returns a draft that reads as the given value. */
export function draftOf(form: Form, field: Field, value: Json | undefined): Draft | undefined {
  if (typeof value !== "object" || value === null) return makeDraft(form, field, value);
  let known = drafts.get(field);
  if (!known) drafts.set(field, known = new WeakMap());
  if (!known.has(value)) known.set(value, makeDraft(form, field, value));
  return known.get(value);
}

function makeDraft(form: Form, field: Field, value: Json | undefined): Draft | undefined {
  const f = resolve(form, field);
  if (value === undefined) return undefined;
  if (value === null && f.kind !== "null") return f.nullable ? { isNull: true } : { raw: "null" };
  const raw = (): Draft => ({ raw: stringify(value, 2) });
  switch (f.kind) {
    case "string": return typeof value === "string" ? (value === "" ? { empty: true } : { text: value }) : raw();
    case "number":
    case "integer": return typeof value === "number" || isExact(value) ? { text: stringify(value) } : raw();
    case "boolean": return typeof value === "boolean" ? { text: String(value) } : raw();
    case "null":
    case "const": return f.kind === "null" && value === null || f.kind === "const" && stringify(value) === f.value ? {} : raw();
    case "enum": return f.values.includes(stringify(value)) ? { text: stringify(value) } : raw();
    case "choices": return Array.isArray(value) ? { items: value.map((v) => ({ text: stringify(v) })) } : raw();
    case "array": return Array.isArray(value) ? { items: value.map((v) => draftOf(form, f.item, v) ?? {}) } : raw();
    case "map": return isObject(value) ? { rows: mapRows(form, f.value, value, Object.keys(value)) } : raw();
    case "object": return objectDraft(form, f, value) ?? raw();
    case "union": {
      const i = bestVariant(form, f, value);
      return { variant: i, inner: draftOf(form, f.variants[i]!.field, value) };
    }
    default: return raw();
  }
}

const isExact = (v: Json) => typeof v === "object" && v !== null && !Array.isArray(v) && !isObject(v);

function mapRows(form: Form, field: Field, value: { [k: string]: Json }, keys: string[]) {
  return keys.map((key) => ({ key, value: draftOf(form, field, value[key]!) ?? {} }));
}

function objectDraft(form: Form, f: Field & { kind: "object" }, value: Json): Draft | undefined {
  if (!isObject(value)) return undefined;
  const known = new Set(f.props.map((p) => p.name));
  const more = Object.keys(value).filter((k) => !known.has(k));
  if (more.length && !f.extra) return undefined;
  const props: Record<string, Draft> = {};
  for (const p of f.props) {
    const d = draftOf(form, p.field, value[p.name]);
    if (d) props[p.name] = d;
  }
  const out: Draft = Object.keys(value).length ? { props } : { props, present: true };
  if (f.extra && more.length) out.rows = mapRows(form, f.extra, value, more);
  return out;
}

/** bestVariant returns the variant that reads a value without raw JSON. */
function bestVariant(form: Form, f: Field & { kind: "union" }, value: Json): number {
  let best = 0, fewest = Infinity;
  f.variants.forEach((v, i) => {
    const d = draftOf(form, v.field, value);
    const r = read(form, v.field, d);
    const missing = missingRequired(form, v.field, d);
    const cost = rawBoxes(d) * 10 + missing + (r.troubles.length || stringify(r.value ?? null) !== stringify(value) ? 5 : 0);
    if (cost < fewest) { best = i; fewest = cost; }
  });
  return best;
}

function rawBoxes(d: Draft | undefined): number {
  if (!d) return 0;
  return (d.raw !== undefined ? 1 : 0) + (d.items ?? []).reduce((n, x) => n + rawBoxes(x), 0)
    + Object.values(d.props ?? {}).reduce((n, x) => n + rawBoxes(x), 0) + (d.rows ?? []).reduce((n, x) => n + rawBoxes(x.value), 0) + rawBoxes(d.inner);
}

function missingRequired(form: Form, field: Field, d: Draft | undefined): number {
  const f = resolve(form, field);
  return f.kind === "object" ? f.props.filter((p) => p.required && !d?.props?.[p.name]).length : 0;
}

/** initialDraft returns a draft with the defaults of required fields, or of all fields. */
export function initialDraft(form: Form, all = false): Draft {
  const f = resolve(form, form.root);
  if (f.kind !== "object") return {};
  const props: Record<string, Draft> = {};
  for (const p of f.props) {
    const g = resolve(form, p.field);
    if (g.initial === undefined || !p.required && !all) continue;
    const d = draftOf(form, g, parse(g.initial));
    if (d) props[p.name] = d;
  }
  return { props };
}
