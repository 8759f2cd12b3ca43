// Compiles a JSON Schema to a tree of fields. Pure: same schema, same tree.
import { isObject, stringify, type Json } from "../json/exact.ts";

interface Common {
  title?: string;
  description?: string;
  /** initial is the default, as JSON text. */
  initial?: string;
  /** nullable fields can be null, which is different from absent and empty. */
  nullable?: boolean;
}

export interface Prop { name: string; required: boolean; field: Field }
export interface Variant { label: string; field: Field }

export type Field = Common & (
  | { kind: "string"; format?: string; multiline?: boolean; minLength?: number; maxLength?: number; pattern?: string; secret?: boolean }
  | { kind: "number" | "integer"; min?: string; max?: string; step?: string }
  | { kind: "boolean" | "null" }
  | { kind: "const"; value: string }
  /** values are JSON texts; labels are shown to the user. */
  | { kind: "enum"; values: string[]; labels: string[] }
  | { kind: "array"; item: Field; chips: boolean; min?: number; max?: number; unique?: boolean }
  /** choices is an array of distinct values from a short list. */
  | { kind: "choices"; values: string[]; labels: string[] }
  | { kind: "object"; props: Prop[]; extra?: Field }
  | { kind: "map"; value: Field }
  | { kind: "union"; variants: Variant[] }
  /** ref is a recursive schema; look it up in Form.defs. */
  | { kind: "ref"; ref: string }
  | { kind: "raw"; note?: "any" | "unknown" | "deep" | "missing" });

export interface Form { root: Field; defs: Record<string, Field> }

type Schema = { [key: string]: Json };

const handled = new Set([
  "$schema", "$id", "$ref", "$defs", "definitions", "$comment", "title", "description", "default", "examples", "type", "enum", "const",
  "properties", "required", "additionalProperties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "format", "minLength", "maxLength",
  "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems", "nullable",
  "readOnly", "writeOnly", "deprecated", "contentEncoding", "contentMediaType", "enumNames", "minProperties", "maxProperties",
  "discriminator", "propertyNames", "$anchor",
]);

/** resolve follows a field that may be a reference. */
export function resolve(form: Form, field: Field): Field {
  let f = field;
  for (let i = 0; f.kind === "ref" && i < 20; i++) f = { ...(form.defs[f.ref] ?? { kind: "raw", note: "missing" }), ...overlay(f) } as Field;
  return f.kind === "ref" ? { kind: "raw", note: "missing" } : f;
}

function overlay(f: Field): Common {
  const out: Common = {};
  if (f.title) out.title = f.title;
  if (f.description) out.description = f.description;
  if (f.initial !== undefined) out.initial = f.initial;
  if (f.nullable) out.nullable = true;
  return out;
}

export function compile(schema: Json): Form {
  const c = new Compiler(isObject(schema) ? schema : {});
  const root = schema === true || !isObject(schema) ? { kind: "raw", note: "any" } as Field : c.field(schema, 0);
  return { root, defs: c.defs };
}

/** mostFields bounds a form; fields beyond it are typed as JSON. */
const mostFields = 20_000;

class Compiler {
  /** defs are the recursive schemas. */
  defs: Record<string, Field> = {};
  /** compiled caches each reference, so that schemas with many references to one another stay cheap. */
  private compiled = new Map<string, Field>();
  /** open are the references that are being compiled. If one of them occurs again, its schema is recursive. */
  private open = new Set<string>();
  private count = 0;
  constructor(readonly root: Schema) {}

  field(schema: Json, depth: number): Field {
    if (!isObject(schema)) return { kind: "raw", note: "any" };
    if (depth > 40 || ++this.count > mostFields) return { kind: "raw", note: "deep" };
    if (typeof schema.$ref === "string") return this.reference(schema, schema.$ref, depth);
    if (Array.isArray(schema.allOf)) {
      const merged = this.merge(schema, depth);
      return merged ? this.field(merged, depth + 1) : { kind: "raw", note: "unknown", ...common(schema) };
    }
    return { ...this.shape(schema, depth), ...common(schema) } as Field;
  }

  private reference(schema: Schema, ref: string, depth: number): Field {
    const { $ref: _, ...rest } = schema;
    const target = pointer(this.root, ref);
    if (target === undefined) return { kind: "raw", note: "missing", ...common(schema) };
    if (this.open.has(ref)) {
      this.defs[ref] ??= { kind: "raw", note: "missing" }; // placeholder until it is compiled
      return { kind: "ref", ref, ...common(rest) };
    }
    const meaningful = Object.keys(rest).some((k) => !["title", "description", "default", "$comment", "examples", "deprecated"].includes(k));
    const merged = meaningful && isObject(target);
    const key = merged ? ref + " " + stringify(rest) : ref;
    let inner = this.compiled.get(key);
    if (!inner) {
      this.open.add(ref);
      inner = this.field(merged ? { allOf: [target, rest] } : target, depth + 1);
      this.open.delete(ref);
      this.compiled.set(key, inner);
      // If the reference has siblings, the inner reference means the schema
      // without them.
      if (ref in this.defs && this.defs[ref]!.kind === "raw") this.defs[ref] = merged ? this.plain(ref, target, depth) : inner;
    }
    return { ...inner, ...common(rest) };
  }

  private plain(ref: string, target: Json, depth: number): Field {
    this.open.add(ref);
    const f = this.field(target, depth + 1);
    this.open.delete(ref);
    return f;
  }

  /** merge merges allOf into one schema; undefined if that is impossible. */
  private merge(schema: Schema, depth: number): Schema | undefined {
    if (depth > 30) return undefined;
    const { allOf, ...out } = schema;
    const merged: Schema = { ...out };
    for (let part of allOf as Json[]) {
      for (let i = 0; isObject(part) && typeof part.$ref === "string" && i < 20; i++) {
        const { $ref, ...rest } = part;
        const target = pointer(this.root, $ref as string);
        if (!isObject(target)) return undefined;
        part = { ...target, ...rest };
      }
      if (isObject(part) && Array.isArray(part.allOf)) part = this.merge(part, depth + 1) ?? false;
      if (!isObject(part)) return undefined;
      for (const [k, v] of Object.entries(part)) {
        if (k === "properties" && isObject(merged.properties) && isObject(v)) merged.properties = { ...merged.properties, ...v };
        else if (k === "required" && Array.isArray(merged.required) && Array.isArray(v)) merged.required = [...merged.required, ...v];
        else if ((k === "anyOf" || k === "oneOf") && k in merged) return undefined;
        else merged[k] = v;
      }
    }
    return merged;
  }

  private shape(s: Schema, depth: number): Field {
    if ("const" in s) return s.const === null ? { kind: "null" } : { kind: "const", value: stringify(s.const!) };
    if (Array.isArray(s.enum)) return enumeration(s);
    const options = Array.isArray(s.anyOf) ? s.anyOf : Array.isArray(s.oneOf) ? s.oneOf : undefined;
    if (options) return this.union(s, options, depth);
    const types = typesOf(s);
    const nullable = types.includes("null") && types.length > 1 || s.nullable === true;
    const real = types.filter((t) => t !== "null");
    if (real.length > 1) {
      const field: Field = { kind: "union", variants: real.map((t) => ({ label: t, field: this.typed({ ...s, type: t }, t, depth) })) };
      return nullable ? { ...field, nullable } : field;
    }
    const field = this.typed(s, real[0] ?? (types.includes("null") ? "null" : ""), depth);
    return nullable ? { ...field, nullable } : field;
  }

  private typed(s: Schema, type: string, depth: number): Field {
    if (Object.keys(s).some((k) => !handled.has(k) && !k.startsWith("x-"))) return { kind: "raw", note: "unknown" };
    switch (type) {
      case "string": return text(s);
      case "number":
      case "integer": return numeric(s, type);
      case "boolean":
      case "null": return { kind: type };
      case "array": return this.array(s, depth);
      case "object": return this.object(s, depth);
      default: return { kind: "raw", note: "any" };
    }
  }

  private array(s: Schema, depth: number): Field {
    if (Array.isArray(s.prefixItems) || Array.isArray(s.items)) return { kind: "raw", note: "unknown" };
    const item = this.field(s.items ?? true, depth + 1);
    if (item.kind === "enum" && s.uniqueItems === true) return { kind: "choices", values: item.values, labels: item.labels };
    const chips = (item.kind === "string" && !item.multiline || item.kind === "number" || item.kind === "integer") && !item.nullable;
    return drop({ kind: "array", item, chips, min: small(s.minItems), max: small(s.maxItems), unique: s.uniqueItems === true || undefined });
  }

  private object(s: Schema, depth: number): Field {
    const required = Array.isArray(s.required) ? s.required : [];
    const props = isObject(s.properties) ? Object.entries(s.properties) : [];
    const more = s.additionalProperties;
    if (!props.length) {
      if (more === false) return { kind: "object", props: [] };
      return isObject(more) ? { kind: "map", value: this.field(more, depth + 1) }
        : depth === 0 ? { kind: "object", props: [] } : { kind: "map", value: { kind: "raw", note: "any" } };
    }
    const out: Field = { kind: "object", props: props.map(([name, p]) => ({ name, required: required.includes(name), field: this.field(p, depth + 1) })) };
    if (isObject(more)) out.extra = this.field(more, depth + 1);
    return out;
  }

  private union(s: Schema, options: Json[], depth: number): Field {
    const { anyOf: _a, oneOf: _o, ...base } = s;
    const isNull = (o: Json) => isObject(o) && (o.type === "null" || "const" in o && o.const === null);
    const real = options.filter((o) => !isNull(o));
    const nullable = real.length < options.length;
    if (real.length && real.every((o) => isObject(o) && "const" in o)) {
      const values = real.map((o) => stringify((o as Schema).const!));
      return drop({ kind: "enum", values, labels: real.map((o, i) => String((o as Schema).title ?? plain(values[i]!))), nullable: nullable || undefined });
    }
    const inherit = ["type", "properties", "required", "additionalProperties"].filter((k) => k in base);
    const variants = real.map((o, i): Variant => {
      const whole: Json = inherit.length && isObject(o) ? { allOf: [Object.fromEntries(inherit.map((k) => [k, base[k]!])), o] } : o;
      const field = this.field(whole, depth + 1);
      return { label: this.label(o, field, i), field };
    });
    if (variants.length === 1) return drop({ ...variants[0]!.field, nullable: nullable || variants[0]!.field.nullable || undefined });
    return drop({ kind: "union", variants, nullable: nullable || undefined });
  }

  /** label returns the name of a variant: its title, its discriminator, or its type. */
  private label(option: Json, field: Field, i: number): string {
    let o = option;
    let name = "";
    if (isObject(o) && typeof o.$ref === "string") {
      name = o.$ref.split("/").at(-1)!;
      o = pointer(this.root, o.$ref) ?? true;
    }
    if (isObject(o) && typeof o.title === "string") return o.title;
    if (field.kind === "object") {
      const fixed = field.props.find((p) => p.field.kind === "const");
      if (fixed?.field.kind === "const") return plain(fixed.field.value);
      const own = isObject(o) && Array.isArray(o.required) ? o.required.map(String) : field.props.map((p) => p.name);
      if (!name && own.length) return own.slice(0, 3).join(", ");
    }
    return name || (field.kind === "raw" ? `#${i + 1}` : field.kind === "array" ? `array of ${field.item.kind}` : field.kind);
  }
}

function common(s: Schema): Common {
  const out: Common = {};
  if (typeof s.title === "string") out.title = s.title;
  if (typeof s.description === "string") out.description = s.description;
  if (s.default !== undefined) out.initial = stringify(s.default);
  return out;
}

function typesOf(s: Schema): string[] {
  if (typeof s.type === "string") return [s.type];
  if (Array.isArray(s.type)) return s.type.map(String);
  if ("properties" in s || "additionalProperties" in s && !("items" in s)) return ["object"];
  if ("items" in s) return ["array"];
  if ("pattern" in s || "minLength" in s || "maxLength" in s || "format" in s) return ["string"];
  if ("minimum" in s || "maximum" in s || "multipleOf" in s) return ["number"];
  return [];
}

function enumeration(s: Schema): Field {
  const all = s.enum as Json[];
  const names = Array.isArray(s.enumNames) ? s.enumNames.map(String) : undefined;
  const values = all.filter((v) => v !== null).map((v) => stringify(v));
  const nullable = values.length < all.length || s.nullable === true;
  return drop({ kind: "enum", values, labels: values.map((v, i) => names?.[i] ?? plain(v)), nullable: nullable || undefined });
}

function text(s: Schema): Field {
  const format = typeof s.format === "string" ? s.format : s.contentEncoding === "base64" ? "byte" : undefined;
  const long = typeof s.maxLength === "number" && s.maxLength > 400 || typeof s.contentMediaType === "string" && !s.contentEncoding;
  return drop({
    kind: "string", format, multiline: long || undefined, minLength: small(s.minLength), maxLength: small(s.maxLength),
    pattern: typeof s.pattern === "string" ? s.pattern : undefined, secret: format === "password" || s.writeOnly === true || undefined,
  });
}

function numeric(s: Schema, kind: "number" | "integer"): Field {
  const num = (v: Json | undefined) => v === undefined || typeof v === "boolean" ? undefined : stringify(v);
  return drop({
    kind, min: num(s.minimum) ?? num(s.exclusiveMinimum), max: num(s.maximum) ?? num(s.exclusiveMaximum), step: num(s.multipleOf),
  });
}

const small = (v: Json | undefined) => (typeof v === "number" ? v : undefined);
const plain = (json: string) => (json.startsWith('"') ? String(JSON.parse(json)) : json);

/** drop removes undefined members, for golden files. */
function drop<T extends object>(o: T): T {
  return Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined)) as T;
}

/** pointer resolves a reference inside the schema; all others are missing. */
function pointer(root: Schema, ref: string): Json | undefined {
  return ref[0] === "#" ? valueAt(root, decodeURIComponent(ref.slice(1))) : undefined;
}

/** valueAt returns the value that a JSON Pointer points to, if there is one. */
export function valueAt(root: Json, path: string): Json | undefined {
  if (!path) return root;
  if (path[0] !== "/") return undefined;
  let at: Json | undefined = root;
  for (const part of path.slice(1).split("/")) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    at = isObject(at) ? at[key] : Array.isArray(at) ? at[Number(key)] : undefined;
  }
  return at;
}
