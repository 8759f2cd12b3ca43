// The form of a compiled schema. Every node can be switched to JSON.
import type { ComponentChildren } from "preact";
import { said, t, type Key } from "../i18n/index.ts";
import { stringify } from "../json/exact.ts";
import { IconButton } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { resolve, type Field, type Form } from "./compile.ts";
import { draftOf, read, type Draft, type Trouble } from "./draft.ts";
import { Scalar, typeHint } from "./scalar.tsx";
import type { Finding } from "./validate.ts";

export interface FormProps {
  form: Form; draft: Draft; onChange: (d: Draft) => void;
  problems: Finding[]; troubles: Trouble[]; id: string;
  /** tried shows missing values too; before that only typed values are checked. */
  tried?: boolean;
  /** suggest returns values that the server completes. */
  suggest?: (path: string, typed: string) => Promise<string[]>;
}

interface NodeProps extends Omit<FormProps, "draft" | "onChange"> {
  field: Field; path: string; draft: Draft | undefined; onChange: (d: Draft | undefined) => void;
  name?: string; required?: boolean;
}

const escape = (s: string) => s.replaceAll("~", "~0").replaceAll("/", "~1");

export function FormView(p: FormProps) {
  const f = resolve(p.form, p.form.root);
  const common = { ...p, path: "", onChange: (d: Draft | undefined) => p.onChange(d ?? {}) };
  if (f.kind === "object" && p.draft.raw === undefined) {
    if (!f.props.length && !f.extra) return <p class="mut pad">{t("noArguments")}</p>;
    return <div class="form"><ObjectFields {...common} field={f} /><RootMessages {...p} /></div>;
  }
  return <div class="form"><Node {...common} field={p.form.root} name={t("arguments")} required /></div>;
}

/** RootMessages shows problems of the whole value rather than of one field. */
function RootMessages(p: FormProps) {
  const list = p.tried ? p.problems.filter((x) => !x.path) : [];
  return list.length ? <div class="err message" role="alert">{list.map((x) => <div key={x.message}>{said(x.message, x.messageZH)}</div>)}</div> : null;
}

function messagesAt(p: NodeProps): string[] {
  const own = p.troubles.filter((x) => x.path === p.path).map((x) => t(("trouble_" + x.reason) as Key));
  if (own.length) return own;
  if (!p.tried && p.draft === undefined) return [];
  // What was absent when it was judged, and is there now, is not missing any more.
  const found = p.problems.filter((x) => x.path === p.path && !(x.absent && hasValue(p))).map((x) => said(x.message, x.messageZH));
  return !found.length && p.tried && p.required && p.draft === undefined && !optionalShape(resolve(p.form, p.field)) ? [t("requiredText")] : found;
}

const hasValue = (p: NodeProps) => p.draft !== undefined && read(p.form, p.field, p.draft).value !== undefined;

/** optionalShape reports whether a field has a value without input. */
const optionalShape = (f: Field) => f.kind === "const" || f.kind === "null" || f.kind === "object" || f.kind === "union";

/** deepest is how many levels of a form are open at first: of optional and of required fields. */
const deepest = { optional: 1, required: 3 };

/** isClosed reports whether the fields of an object are hidden until the user opens it, because a recursive schema would not end otherwise. */
function isClosed(p: NodeProps, f: Field): boolean {
  return f.kind === "object" && p.draft === undefined && (p.field.kind === "ref" || p.path.split("/").length - 1 > (p.required ? deepest.required : deepest.optional));
}

/** Node shows one labelled value. */
function Node(p: NodeProps) {
  const f = resolve(p.form, p.field);
  const id = p.id + (p.path || "/root").replaceAll(/[^\w-]/g, "_");
  const raw = p.draft?.raw !== undefined || f.kind === "raw";
  const messages = messagesAt(p);
  const closed = !raw && isClosed(p, f);
  const composite = !raw && !closed && !p.draft?.isNull && (f.kind === "object" || f.kind === "array" && !f.chips || f.kind === "map" || f.kind === "union" || f.kind === "choices");
  const label = <><code>{p.name}</code>{p.required && <span class="err" title={t("required")}>*</span>}</>;
  return <div class={"node" + (messages.length ? " invalid" : "")} data-path={p.path} role={composite ? "group" : undefined} aria-labelledby={composite ? id + "-l" : undefined}>
    <div class="node-label">
      {composite ? <span class="label" id={id + "-l"}>{label}</span> : <label for={id} id={id + "-l"}>{label}</label>}
      <span class="hint">{typeHint(f)}{f.title && f.title.toLowerCase() !== p.name?.toLowerCase() ? " · " + f.title : ""}</span><span class="space" />
      <NodeButtons {...p} field={f} raw={raw} />
    </div>
    {f.description && <div class="hint" id={id + "-d"}>{f.description}</div>}
    {raw ? <RawBox id={id} draft={p.draft} onChange={p.onChange} note={f.kind === "raw" ? f.note : undefined} invalid={messages.length > 0} />
      : p.draft?.isNull ? <input id={id} class="mono" value="null" disabled aria-describedby={id + "-m"} />
        : closed ? <button type="button" id={id} class="button small" onClick={() => p.onChange({ props: {}, present: true })}><Icon name="plus" />{t("openField", p.name ?? "")}</button>
        : <Body {...p} field={f} id2={id} invalid={messages.length > 0} />}
    {messages.length > 0 && <div class="err message" id={id + "-m"} role="alert">{messages.join("; ")}</div>}
  </div>;
}

function NodeButtons(p: NodeProps & { raw: boolean }) {
  const f = p.field;
  const toRaw = () => {
    const r = read(p.form, f, p.draft);
    p.onChange({ raw: r.value === undefined ? "" : stringify(r.value, 2) });
  };
  const toForm = () => {
    const r = read(p.form, f, p.draft);
    if (!r.troubles.length) p.onChange(draftOf(p.form, f, r.value));
  };
  return <span class="node-buttons">
    {f.initial !== undefined && p.draft === undefined && <button type="button" class="link" onClick={() => p.onChange(draftOf(p.form, f, JSON.parse(f.initial!)))}>{t("useDefault", f.initial.slice(0, 30))}</button>}
    {f.nullable && !p.draft?.isNull && <button type="button" class="link" onClick={() => p.onChange({ isNull: true })}>null</button>}
    {f.kind === "string" && !p.draft?.text && !p.raw && !p.draft?.isNull && <button type="button" class="link" aria-pressed={!!p.draft?.empty}
      onClick={() => p.onChange(p.draft?.empty ? undefined : { empty: true })}>{t(p.draft?.empty ? "sendsEmpty" : "sendEmpty")}</button>}
    {p.draft !== undefined && <IconButton icon="close" label={t("clear") + " " + (p.name ?? "")} onClick={() => p.onChange(undefined)} />}
    {f.kind !== "raw" && <button type="button" class="link raw-toggle" aria-pressed={p.raw} aria-label={"JSON " + (p.name ?? "")} title="JSON" onClick={p.raw ? toForm : toRaw}>{"{ }"}</button>}
  </span>;
}

function RawBox({ id, draft, onChange, note, invalid }: { id: string; draft?: Draft; onChange: (d: Draft | undefined) => void; note?: string; invalid: boolean }) {
  return <>{note && note !== "any" && <div class="hint">{t(("raw_" + note) as Key)}</div>}
    <textarea id={id} class="mono" rows={Math.min(12, Math.max(2, (draft?.raw ?? "").split("\n").length))} value={draft?.raw ?? ""} placeholder="JSON" spellcheck={false}
      aria-invalid={invalid} aria-describedby={id + "-m"} onInput={(e) => onChange(e.currentTarget.value ? { raw: e.currentTarget.value } : undefined)} /></>;
}

function Body(p: NodeProps & { id2: string; invalid: boolean }): ComponentChildren {
  const f = p.field;
  switch (f.kind) {
    case "object": return <div class="nest"><ObjectFields {...p} field={f} /></div>;
    case "map": return <div class="nest"><MapRows {...p} value={f.value} /></div>;
    case "union": return <Union {...p} field={f} />;
    case "array": return f.chips ? <Chips {...p} field={f} /> : <Items {...p} field={f} />;
    case "choices": return <Choices {...p} field={f} />;
    default: return <Scalar id={p.id2} field={f} draft={p.draft} onChange={p.onChange} invalid={p.invalid} suggest={p.suggest && ((typed) => p.suggest!(p.path, typed))} />;
  }
}

function ObjectFields(p: NodeProps & { field: Field & { kind: "object" } }) {
  const set = (name: string, d: Draft | undefined) => {
    const props = { ...p.draft?.props };
    if (d) props[name] = d; else delete props[name];
    p.onChange({ ...p.draft, props });
  };
  return <>
    {p.field.props.map((x) => <Node key={x.name} {...p} field={x.field} name={x.name} required={x.required} path={`${p.path}/${escape(x.name)}`}
      draft={p.draft?.props?.[x.name]} onChange={(d) => set(x.name, d)} />)}
    {p.field.extra && <MapRows {...p} value={p.field.extra} />}
  </>;
}

function MapRows(p: NodeProps & { value: Field }) {
  const rows = p.draft?.rows ?? [];
  const set = (next: typeof rows) => p.onChange({ ...p.draft, rows: next });
  return <>
    {rows.map((r, i) => <div class="map-row" key={i}>
      <input class="mono" value={r.key} placeholder={t("name")} aria-label={`${p.name ?? ""} ${t("name")} ${i + 1}`} spellcheck={false} onInput={(e) => set(rows.map((x, j) => (j === i ? { ...x, key: e.currentTarget.value } : x)))} />
      <Node {...p} field={p.value} name={r.key || t("value")} required={false} path={`${p.path}/${escape(r.key)}`} draft={r.value} onChange={(d) => set(rows.map((x, j) => (j === i ? { ...x, value: d ?? {} } : x)))} />
      <IconButton icon="close" label={t("remove")} onClick={() => set(rows.filter((_, j) => j !== i))} />
    </div>)}
    <button type="button" class="link" onClick={() => set([...rows, { key: "", value: {} }])}><Icon name="plus" />{t("addRow")}</button>
  </>;
}

function Union(p: NodeProps & { field: Field & { kind: "union" } }) {
  const at = p.draft?.variant ?? 0;
  const v = p.field.variants[at] ?? p.field.variants[0]!;
  const inner = resolve(p.form, v.field);
  return <div class="nest">
    <div class="variants" role="radiogroup" aria-label={p.name}>{p.field.variants.map((x, i) => <button type="button" role="radio" key={i} aria-checked={i === at && (p.draft !== undefined || !!p.required)}
      onClick={() => p.onChange({ variant: i })}>{x.label}</button>)}</div>
    {(p.draft !== undefined || p.required && v.field.kind !== "ref") && (inner.kind === "object" ? <ObjectFields {...p} field={inner} draft={p.draft?.inner} onChange={(d) => p.onChange({ variant: at, inner: d })} />
      : <Node {...p} field={v.field} name={v.label} required={false} draft={p.draft?.inner} onChange={(d) => p.onChange({ variant: at, inner: d })} />)}
  </div>;
}

function Items(p: NodeProps & { field: Field & { kind: "array" } }) {
  const items = p.draft?.items ?? [];
  const set = (next: Draft[]) => p.onChange({ items: next });
  return <div class="nest">
    {items.map((d, i) => <div class="item" key={i}><Node {...p} field={p.field.item} name={`[${i}]`} required path={`${p.path}/${i}`} draft={d} onChange={(x) => set(items.map((y, j) => (j === i ? x ?? {} : y)))} />
      <IconButton icon="close" label={`${t("remove")} [${i}]`} onClick={() => set(items.filter((_, j) => j !== i))} /></div>)}
    <button type="button" class="link" onClick={() => set([...items, {}])}><Icon name="plus" />{t("addItem")}</button>
  </div>;
}

/** Chips edits arrays of short values: Enter adds one. */
function Chips(p: NodeProps & { id2: string; field: Field & { kind: "array" }; invalid: boolean }) {
  const items = p.draft?.items ?? [];
  const add = (text: string) => { if (text) p.onChange({ items: [...items, { text }] }); };
  const key = (e: KeyboardEvent & { currentTarget: HTMLInputElement }) => {
    const box = e.currentTarget;
    if (e.key === "Enter" && !e.ctrlKey && !e.metaKey && !e.altKey || e.key === "," && box.value) { e.preventDefault(); add(box.value.trim()); box.value = ""; }
    else if (e.key === "Backspace" && !box.value && items.length) p.onChange(items.length > 1 ? { items: items.slice(0, -1) } : undefined);
  };
  return <div class={"chips" + (p.invalid ? " invalid" : "")}>
    {items.map((d, i) => <span class="chip" key={i}>{d.text ?? d.raw ?? '""'}<button type="button" aria-label={`${t("remove")} ${d.text ?? ""}`} onClick={() => p.onChange({ items: items.filter((_, j) => j !== i) })}><Icon name="close" /></button></span>)}
    <input id={p.id2} placeholder={t("chipHint")} onKeyDown={key} onBlur={(e) => { add(e.currentTarget.value.trim()); e.currentTarget.value = ""; }} aria-describedby={p.id2 + "-m"} />
  </div>;
}

function Choices(p: NodeProps & { field: Field & { kind: "choices" } }) {
  const on = new Set((p.draft?.items ?? []).map((d) => d.text));
  const toggle = (v: string) => {
    if (!on.delete(v)) on.add(v);
    p.onChange({ items: p.field.values.filter((x) => on.has(x)).map((text) => ({ text })) });
  };
  return <div class="choices">{p.field.values.map((v, i) => <label key={v} class="check"><input type="checkbox" checked={on.has(v)} onChange={() => toggle(v)} />{p.field.labels[i]}</label>)}</div>;
}
