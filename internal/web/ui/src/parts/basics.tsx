// Small parts that every screen uses.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { t, type Key } from "../i18n/index.ts";
import { Icon, type IconName } from "./icons.tsx";

/** now ticks every five seconds, for "3 min ago". */
export const now = signal(Date.now());
setInterval(() => { now.value = Date.now(); }, 5000);

export type Tone = "ok" | "warn" | "err" | "idle" | "busy" | "ask";

/** Status has a shape as well as a colour. */
export function Status({ tone, children, state }: { tone: Tone; children?: ComponentChildren; state?: string }) {
  return <span class={"status " + tone} data-state={state ?? tone}><i aria-hidden="true" />{children}</span>;
}

export function IconButton(p: { icon: IconName; label: string; onClick?: () => void; pressed?: boolean; disabled?: boolean; testid?: string }) {
  return <button type="button" class="icon-button" title={p.label} aria-label={p.label} aria-pressed={p.pressed} disabled={p.disabled}
    onClick={p.onClick} data-testid={p.testid}><Icon name={p.icon} /></button>;
}

export function CopyButton({ text, label }: { text: () => string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(text());
    setDone(true);
    setTimeout(() => setDone(false), 1200);
  };
  return <button type="button" class="link" onClick={copy}><Icon name={done ? "check" : "copy"} />{label ?? t("copy")}</button>;
}

/** copyText works over plain http too, where there is no clipboard API. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** download saves text as a file. */
export function download(name: string, text: string): void {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

/** chooseFile asks for a file. */
export function chooseFile(accept: string): Promise<File> {
  return new Promise((resolve) => {
    const input = document.createElement("input");
    input.type = "file";
    input.accept = accept;
    input.onchange = () => { if (input.files?.[0]) resolve(input.files[0]); };
    input.click();
  });
}

/** pickFile asks for a file and returns its text. */
export const pickFile = async (accept: string) => (await chooseFile(accept)).text();

export interface Tab { id: string; label: ComponentChildren; hidden?: boolean }

/** Tabs follow the usual pattern: arrow keys move, the panel is labelled. */
export function Tabs(p: { name: string; tabs: Tab[]; selected: string; onSelect: (id: string) => void; label: string }) {
  const shown = p.tabs.filter((x) => !x.hidden);
  const ref = useRef<HTMLDivElement>(null);
  const move = (e: KeyboardEvent) => {
    const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    e.preventDefault();
    const i = (shown.findIndex((x) => x.id === p.selected) + step + shown.length) % shown.length;
    p.onSelect(shown[i]!.id);
    ref.current?.querySelectorAll<HTMLElement>("[role=tab]")[i]?.focus();
  };
  return <div class="tabs" role="tablist" aria-label={p.label} ref={ref} onKeyDown={move}>
    {shown.map((x) => <button type="button" role="tab" key={x.id} id={`${p.name}-tab-${x.id}`} aria-selected={x.id === p.selected}
      aria-controls={`${p.name}-panel`} tabIndex={x.id === p.selected ? 0 : -1} onClick={() => p.onSelect(x.id)} data-testid={`tab-${x.id}`}>{x.label}</button>)}
  </div>;
}

export function Panel(p: { name: string; selected: string; children: ComponentChildren; class?: string }) {
  return <div role="tabpanel" id={`${p.name}-panel`} aria-labelledby={`${p.name}-tab-${p.selected}`} class={p.class}>{p.children}</div>;
}

export function Notice({ tone, children }: { tone: "warn" | "err" | "info"; children: ComponentChildren }) {
  return <div class={"notice " + tone} role={tone === "err" ? "alert" : "status"}>{children}</div>;
}

export function Empty({ children }: { children: ComponentChildren }) { return <p class="empty">{children}</p>; }

/** Toasts report what happened, with undo. */
interface ToastText { id: number; text: string; action?: { label: Key; run: () => void }; tone?: "err" }
const toasts = signal<ToastText[]>([]);
let toastId = 0;

export function toast(text: string, action?: ToastText["action"], tone?: "err"): void {
  const id = ++toastId;
  toasts.value = [...toasts.value, { id, text, action, tone }];
  setTimeout(() => { toasts.value = toasts.value.filter((x) => x.id !== id); }, action ? 15_000 : 6_000);
}

export function Toasts() {
  return <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map((x) => <div key={x.id} class={"toast " + (x.tone ?? "")}>
      <span>{x.text}</span>
      {x.action && <button type="button" class="link" onClick={() => { x.action!.run(); toasts.value = toasts.value.filter((y) => y !== x); }}>{t(x.action.label)}</button>}
    </div>)}
  </div>;
}

export const errorText = (e: unknown) => (e instanceof Error ? e.message : String(e));

/** useLoad loads a value, and loads it again when a dependency changes. */
export function useLoad<T>(load: () => Promise<T>, deps: unknown[]): { value?: T; error?: string; reload: () => void } {
  const [state, setState] = useState<{ value?: T; error?: string }>({});
  const [again, setAgain] = useState(0);
  useEffect(() => {
    let live = true;
    load().then((value) => live && setState({ value }), (e) => live && setState((s) => ({ ...s, error: errorText(e) })));
    return () => { live = false; };
  }, [...deps, again]);
  return { ...state, reload: () => setAgain((n) => n + 1) };
}

/** Waterfall is one bar: gateway, transport, server. It is one element with a gradient, because lists contain many of them. */
export function Waterfall(p: { total: number; gateway?: number; transport?: number; server?: number; failed?: boolean; scale?: number }) {
  const whole = Math.max(p.scale ?? p.total, 1), gateway = p.gateway ?? 0, transport = p.transport ?? 0;
  const end = gateway + transport + (p.server ?? Math.max(0, p.total - gateway - transport));
  const share = (n: number) => `${Math.min(100, (n / whole) * 100)}%`;
  return <span class={p.failed ? "waterfall bad" : "waterfall"} aria-hidden="true" style={{ "--a": share(gateway), "--b": share(gateway + transport), "--c": share(end) }} />;
}

/** Spark draws counts as bars, errors on top. */
export function Spark({ values, errors, label }: { values: number[]; errors?: number[]; label: string }) {
  const top = Math.max(1, ...values);
  const w = 100 / values.length;
  return <svg class="spark" viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label={label}>
    {values.map((v, i) => v > 0 && <rect x={i * w} width={w * 0.8} y={30 - (v / top) * 29} height={(v / top) * 29} />)}
    {errors?.map((v, i) => v > 0 && <rect class="bad" x={i * w} width={w * 0.8} y={30 - (v / top) * 29} height={(v / top) * 29} />)}
  </svg>;
}
