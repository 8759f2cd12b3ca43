// Charts as plain SVG, stretched. Their labels are HTML, which is not
// stretched.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Step } from "../api.ts";
import { count, day, hm, ns, tick } from "../format.ts";
import { t } from "../i18n/index.ts";

/** A Span is a time range that the user has selected, in milliseconds. */
export interface Span { from: number; to: number }

interface TimelineProps {
  /** start and step are in milliseconds. */
  start: number; step: number; steps: Step[]; height: number; label: string;
  /** line draws p95 with its own axis. */
  line?: boolean;
  brush?: Span; onBrush?: (s: Span | undefined) => void;
}

/** nice returns the next round number, and its ticks. */
export function nice(top: number): { top: number; ticks: number[] } {
  if (top <= 0) return { top: 1, ticks: [0, 1] };
  const raw = top / 4, size = 10 ** Math.floor(Math.log10(raw));
  let unit = [1, 2, 2.5, 5, 10].find((k) => k * size >= raw)! * size;
  if (top >= 1) unit = Math.max(1, Math.ceil(unit));
  const n = Math.max(1, Math.ceil(top / unit));
  return { top: n * unit, ticks: Array.from({ length: n + 1 }, (_, i) => i * unit) };
}

const minute = 60_000;
const rounds = [1000, 5000, 10_000, 30_000, minute, 2 * minute, 3 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, 60 * minute, 120 * minute, 180 * minute, 240 * minute, 360 * minute, 1440 * minute, 2 * 1440 * minute, 5 * 1440 * minute, 10 * 1440 * minute];

/** name formats a time, or a date if steps are days. */
const name = (ms: number, step: number, seconds = step < minute) => (step >= 1440 * minute ? day(ms) : hm(ms, seconds));

/** times returns about six round times in a range. */
function times(from: number, to: number): number[] {
  const unit = rounds.find((r) => (to - from) / r <= 7) ?? 30 * 1440 * minute;
  const zone = new Date(from).getTimezoneOffset() * minute, out = [];
  for (let x = Math.ceil((from - zone) / unit) * unit + zone; x <= to; x += unit) out.push(x);
  return out;
}

/** columns draws one kind of the stacked bars as one path. */
function columns(steps: Step[], top: number, least: number, kind: "ok" | "tool" | "err"): string {
  const w = 100 / steps.length;
  let d = "";
  steps.forEach((s, i) => {
    if (!s[kind]) return;
    const below = kind === "ok" ? 0 : kind === "tool" ? s.ok : s.ok + s.tool;
    const h = Math.max((s[kind] / top) * 100, kind === "ok" ? 0.5 : least);
    d += `M${(i * w + w * 0.1).toFixed(2)} ${Math.max(0, 100 - (below / top) * 100 - h).toFixed(2)}h${(w * 0.8).toFixed(2)}v${h.toFixed(2)}h${(-w * 0.8).toFixed(2)}z`;
  });
  return d;
}

/** path connects the existing points. */
export function path(values: (number | undefined)[], top: number): string {
  let d = "", pen = false;
  values.forEach((v, i) => {
    if (v === undefined) { pen = false; return; }
    // A point without neighbours becomes a short line.
    const alone = !pen && values[i + 1] === undefined, w = 60 / values.length;
    d += `${pen ? "L" : "M"}${(((i + 0.5) / values.length) * 100 - (alone ? w / 2 : 0)).toFixed(2)} ${(100 - (v / top) * 100).toFixed(2)}` + (alone ? `h${w.toFixed(2)}` : "");
    pen = true;
  });
  return d;
}

export function Timeline(p: TimelineProps) {
  const [at, setAt] = useState(-1);
  const [drag, setDrag] = useState<number>();
  const box = useRef<HTMLDivElement>(null);
  const n = p.steps.length, end = p.start + n * p.step;
  const y = nice(Math.max(...p.steps.map((s) => s.ok + s.tool + s.err), 0));
  const p95 = p.line ? p.steps.map((s) => s.p95 || undefined) : [];
  const y2 = nice(Math.max(...p95.map((v) => v ?? 0)) / 1e6);
  const indexOf = (e: PointerEvent) => { const r = box.current!.getBoundingClientRect(); return Math.max(0, Math.min(n - 1, Math.floor(((e.clientX - r.left) / r.width) * n))); };
  const span = (a: number, b: number): Span => ({ from: p.start + Math.min(a, b) * p.step, to: p.start + (Math.max(a, b) + 1) * p.step });
  const marked = p.brush, x = (ms: number) => `${((Math.max(p.start, Math.min(end, ms)) - p.start) / (end - p.start)) * 100}%`;
  const down = (e: PointerEvent) => { if (!p.onBrush || e.button) return; box.current!.setPointerCapture(e.pointerId); setDrag(indexOf(e)); };
  const move = (e: PointerEvent) => { const i = indexOf(e); setAt(i); if (drag !== undefined && i !== drag) p.onBrush!(span(drag, i)); };
  const up = (e: PointerEvent) => { if (drag !== undefined && indexOf(e) === drag) p.onBrush!(p.steps[drag]!.ok + p.steps[drag]!.tool + p.steps[drag]!.err ? span(drag, drag) : undefined); setDrag(undefined); };
  const [anchor, setAnchor] = useState(0);
  const key = (e: KeyboardEvent) => {
    const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (e.key === "Escape" && p.brush) p.onBrush?.(undefined);
    else if (by) {
      const next = Math.max(0, Math.min(n - 1, at < 0 ? n - 1 : at + by));
      if (!e.shiftKey) setAnchor(next); else p.onBrush?.(span(anchor, next));
      setAt(next);
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const s = p.steps[at];
  return <div class="plot" style={{ height: `${p.height + 20}px` }}>
    <div class="y" aria-hidden="true">{y.ticks.map((v) => <span key={v} style={{ top: `${100 - (v / y.top) * 100}%` }}>{count(v)}</span>)}</div>
    <div class="p" ref={box} tabIndex={0} role="img" aria-label={p.label} data-testid="timeline" onPointerMove={move} onPointerLeave={() => setAt(-1)} onPointerDown={down} onPointerUp={up} onKeyDown={key} onBlur={() => setAt(-1)}>
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        {y.ticks.map((v, i) => <line key={v} class={i ? "g" : "g base"} x1="0" x2="100" y1={100 - (v / y.top) * 100} y2={100 - (v / y.top) * 100} />)}
        {(["ok", "tool", "err"] as const).map((k) => <path key={k} class={"f-" + k} d={columns(p.steps, y.top, 200 / p.height, k)} />)}
        {p.line && <path class="l-p95" d={path(p95.map((v) => v && v / 1e6), y2.top)} />}
      </svg>
      {marked && marked.to > p.start && marked.from < end && <div class="brush" data-testid="brush" style={{ left: x(marked.from), width: `calc(${x(marked.to)} - ${x(marked.from)})` }}><b>{name(marked.from, p.step)} – {name(marked.to, p.step)}</b></div>}
      {s && drag === undefined && <><div class="cross" style={{ left: `${((at + 0.5) / n) * 100}%` }} /><Tip at={(at + 0.5) / n} s={s} title={name(p.start + at * p.step, p.step)} line={p.line} /></>}
      <span class="hidden" aria-live="polite">{s ? `${name(p.start + at * p.step, p.step, true)} ${s.ok} ${t("call_ok")}, ${s.tool} ${t("call_tool_error")}, ${s.err} ${t("call_error")}` : ""}</span>
    </div>
    {p.line && <div class="y2" aria-hidden="true">{p95.some(Boolean) && y2.ticks.map((v) => <span key={v} style={{ top: `${100 - (v / y2.top) * 100}%` }}>{tick(v, y2.top)}</span>)}</div>}
    <div class="x" aria-hidden="true">{times(p.start, p.step >= 1440 * minute ? end - p.step : end).map((ms) => <span key={ms} style={{ left: p.step >= 1440 * minute ? x(ms + p.step / 2) : x(ms) }}>{name(ms, p.step, p.step < 5000)}</span>)}</div>
  </div>;
}

function Tip({ at, s, title, line }: { at: number; s: Step; title: string; line?: boolean }) {
  const row = (k: string, text: string, v: ComponentChildren) => <div><i class={"key " + k} /><span>{text}</span><span>{v}</span></div>;
  return <div class="tip" aria-hidden="true" style={at > 0.6 ? { right: `${(1 - at) * 100 + 2}%` } : { left: `${at * 100 + 2}%` }}><b>{title}</b>
    {row("k-ok", t("call_ok"), count(s.ok))}{row("k-tool", t("call_tool_error"), count(s.tool))}{row("k-err", t("call_error"), count(s.err))}{line && s.p95 ? row("k-p95", "p95", ns(s.p95)) : null}</div>;
}

export function Legend({ p95 }: { p95?: boolean }) {
  return <span class="legend" aria-hidden="true"><span><i class="key k-ok" />{t("call_ok")}</span><span><i class="key k-tool" />{t("call_tool_error")}</span><span><i class="key k-err" />{t("call_error")}</span>{p95 && <span><i class="key line k-p95" />p95</span>}</span>;
}

/** Strip shows half-hours: up is tall, partly up two thirds, down tall and red, not running low. */
export function Strip({ strip, label }: { strip: string; label: string }) {
  const d: Record<string, string> = { u: "", p: "", x: "", n: "" };
  const tall: Record<string, number> = { u: 16, p: 10, x: 16, n: 3 };
  [...strip].forEach((c, i) => { d[c] += `M${i} ${16 - tall[c]!}h.72v${tall[c]}h-.72z`; });
  return <svg class="avail" viewBox="0 0 48 16" preserveAspectRatio="none" role="img" aria-label={label}>{Object.entries(d).map(([c, path]) => path && <path key={c} class={c} d={path} />)}</svg>;
}

/** Sparkline is a small line over an area. */
export function Sparkline({ values, label }: { values: (number | undefined)[]; label: string }) {
  const known = values.map((v) => v ?? 0), top = Math.max(1, ...known);
  const line = known.map((v, i) => `${i ? "L" : "M"}${((i / Math.max(1, known.length - 1)) * 100).toFixed(1)} ${(96 - (v / top) * 88).toFixed(1)}`).join("");
  return <svg class="spark" viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={label}><path class="area" d={line + "L100 100L0 100z"} /><path d={line} /></svg>;
}

/** Bar shows a share of the longest bar. */
export function Bar({ part, tone }: { part: number; tone?: "e" | "t" }) {
  return <span class={"hbar " + (tone ?? "")} aria-hidden="true"><i style={{ width: `${Math.max(0, Math.min(100, part * 100))}%` }} /></span>;
}

/** Fig shows a figure with its name. */
export function Fig({ name, children, note, tone }: { name: ComponentChildren; children: ComponentChildren; note?: ComponentChildren; tone?: string }) {
  return <div class="fig"><dt>{name}</dt><dd>{children}{note && <small class={tone}>{note}</small>}</dd></div>;
}

/** Took shows a duration with its last unit small. */
export function Took({ ns: n }: { ns: number | undefined }) {
  const [, value, unit] = /^(.*?) ?(\S*)$/.exec(ns(n))!;
  return value ? <>{value}<small>{unit}</small></> : <>{unit}</>;
}

/** Latency draws p95 and p50, and where calls failed. */
export function Latency(p: { start: number; step: number; steps: Step[]; height: number; label: string }) {
  const [at, setAt] = useState(-1);
  const box = useRef<HTMLDivElement>(null);
  const n = p.steps.length, end = p.start + n * p.step, y = nice(Math.max(0, ...p.steps.map((s) => (s.p95 ?? 0) / 1e6)));
  const points = (k: "p50" | "p95") => p.steps.map((s) => (s[k] ? s[k]! / 1e6 : undefined));
  const d = path(points("p95"), y.top), s = p.steps[at];
  const move = (e: PointerEvent) => { const r = box.current!.getBoundingClientRect(); setAt(Math.max(0, Math.min(n - 1, Math.floor(((e.clientX - r.left) / r.width) * n)))); };
  return <div class="plot" style={{ height: `${p.height + 20}px` }}>
    <div class="y wide-y" aria-hidden="true">{y.ticks.map((v) => <span key={v} style={{ top: `${100 - (v / y.top) * 100}%` }}>{tick(v, y.top)}</span>)}</div>
    <div class="p" ref={box} role="img" aria-label={p.label} onPointerMove={move} onPointerLeave={() => setAt(-1)}>
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        {y.ticks.map((v, i) => <line key={v} class={i ? "g" : "g base"} x1="0" x2="100" y1={100 - (v / y.top) * 100} y2={100 - (v / y.top) * 100} />)}
        <path class="l-p50" d={path(points("p50"), y.top)} /><path class="l-p95" d={d} />
        {p.steps.map((x, i) => (x.err + x.tool > 0 ? <rect key={i} class="f-err" x={(i / n) * 100} width={Math.max(0.4, 70 / n)} y={96} height={4} /> : null))}
      </svg>
      {s && <><div class="cross" style={{ left: `${((at + 0.5) / n) * 100}%` }} /><Tip at={(at + 0.5) / n} s={s} title={hm(p.start + at * p.step)} line /></>}
    </div>
    <div class="x" aria-hidden="true">{times(p.start, end).map((ms) => <span key={ms} style={{ left: `${((ms - p.start) / (end - p.start)) * 100}%` }}>{hm(ms)}</span>)}</div>
  </div>;
}
