// Inputs for single values.
import { useEffect, useState } from "preact/hooks";
import { t } from "../i18n/index.ts";
import type { Field } from "./compile.ts";
import type { Draft } from "./draft.ts";

export interface ScalarProps {
  id: string; field: Field; draft: Draft | undefined; onChange: (d: Draft | undefined) => void; invalid: boolean;
  suggest?: (typed: string) => Promise<string[]>;
}

/** typeHint describes in a few words which values a field takes. */
export function typeHint(f: Field): string {
  const range = (min?: string | number, max?: string | number) => (min === undefined && max === undefined ? "" : max === undefined ? ` ≥ ${min}` : min === undefined ? ` ≤ ${max}` : ` ${min}–${max}`);
  const base = (() => {
    switch (f.kind) {
      case "string": return (f.format ?? "string") + (f.minLength === undefined && f.maxLength === undefined ? "" : "," + t("lengthIs", range(f.minLength, f.maxLength))) + (f.pattern ? ` /${f.pattern}/` : "");
      case "number":
      case "integer": return f.kind + range(f.min, f.max) + (f.step ? ` ×${f.step}` : "");
      case "array": return `array of ${f.item.kind === "ref" ? f.item.ref.split("/").at(-1) : f.item.kind}` + range(f.min, f.max);
      case "choices": return "array of enum";
      case "union": return "anyOf " + f.variants.length;
      case "raw": return "JSON";
      default: return f.kind;
    }
  })();
  return base + (f.nullable ? " | null" : "");
}

/** kind casts a type for Preact, whose types allow only one kind of input at a time. */
export const kind = (type: string) => ({ type: type as "text" });

const inputTypes: Record<string, string> = { date: "date", time: "time", "date-time": "text", email: "email", uri: "url", url: "url" };

export function Scalar(p: ScalarProps) {
  const f = p.field;
  const common = { id: p.id, "aria-invalid": p.invalid, "aria-describedby": `${p.id}-d ${p.id}-m` };
  const set = (text: string) => p.onChange(text === "" ? undefined : { text });
  switch (f.kind) {
    case "const": return <input {...common} class="mono" value={f.value} readOnly />;
    case "null": return <input {...common} class="mono" value="null" readOnly />;
    case "boolean": return <Switch {...p} />;
    case "enum": return <select {...common} value={p.draft?.text ?? ""} onChange={(e) => set(e.currentTarget.value)}><option value="">–</option>{f.values.map((v, i) => <option key={v} value={v}>{f.labels[i]}</option>)}</select>;
    // Not type=number, because browsers rewrite numbers that they cannot
    // represent.
    case "number":
    case "integer": return <input {...common} class="mono" inputMode={f.kind === "integer" ? "numeric" : "decimal"} value={p.draft?.text ?? ""} placeholder={f.initial} onInput={(e) => set(e.currentTarget.value)} />;
    case "string": return <TextBox {...p} field={f} />;
    default: return null;
  }
}

/** Switch is on, off, or unset: then it shows the default of the server. */
function Switch(p: ScalarProps) {
  const set = p.draft?.text !== undefined;
  const on = set ? p.draft!.text === "true" : p.field.initial === "true";
  return <span class="switch-line"><button type="button" role="switch" id={p.id} class={"switch" + (set ? "" : " unset")} aria-checked={on} aria-describedby={`${p.id}-d ${p.id}-m`}
    onClick={() => p.onChange({ text: String(!on) })} /><span class="hint">{set ? String(on) : t("absent")}</span></span>;
}

function TextBox(p: ScalarProps & { field: Field & { kind: "string" } }) {
  const f = p.field;
  const [long, setLong] = useState(!!f.multiline || (p.draft?.text ?? "").includes("\n"));
  const [options, setOptions] = useState<string[]>([]);
  const text = p.draft?.text ?? "";
  useEffect(() => {
    if (!p.suggest) return;
    let live = true;
    const timer = setTimeout(() => void p.suggest!(text).then((o) => { if (live) setOptions(o); }, () => {}), 200);
    return () => { live = false; clearTimeout(timer); };
  }, [text]);
  const common = { id: p.id, "aria-invalid": p.invalid, "aria-describedby": `${p.id}-d ${p.id}-m`, value: text, spellcheck: false };
  const set = (v: string) => p.onChange(v === "" ? undefined : { text: v });
  const placeholder = p.draft?.empty ? '""' : f.initial?.startsWith('"') ? JSON.parse(f.initial) : undefined;
  if (long) return <textarea {...common} rows={5} placeholder={placeholder} onInput={(e) => set(e.currentTarget.value)} />;
  return <div class="text-box">
    <input {...common} {...kind(f.secret ? "password" : inputTypes[f.format ?? ""] ?? "text")} {...(p.suggest ? { list: p.id + "-list" } as object : {})} placeholder={placeholder ?? (f.format === "date-time" ? "2026-11-15T10:00:00Z" : undefined)} onInput={(e) => set(e.currentTarget.value)} />
    {p.suggest && <datalist id={p.id + "-list"}>{options.map((o) => <option key={o} value={o} />)}</datalist>}
    {f.format === "byte" && <FileButton onText={set} />}
    {f.format === "date-time" && <button type="button" class="link" onClick={() => set(new Date().toISOString())}>{t("now")}</button>}
    {!f.format && !f.secret && !p.suggest && <button type="button" class="link" title={t("moreLines")} aria-label={t("moreLines")} onClick={() => setLong(true)}>¶</button>}
  </div>;
}

/** FileButton fills a base64 field from a file. */
function FileButton({ onText }: { onText: (s: string) => void }) {
  return <label class="button">{t("chooseFile")}<input type="file" class="hidden" onChange={(e) => {
    const file = e.currentTarget.files?.[0];
    if (!file) return;
    const r = new FileReader();
    r.onload = () => onText(String(r.result).split(",")[1] ?? "");
    r.readAsDataURL(file);
  }} /></label>;
}
