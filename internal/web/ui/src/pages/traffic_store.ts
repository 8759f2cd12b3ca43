// The rows of the traffic screen, kept while other screens are shown.
import { signal } from "@preact/signals";
import { get, type Call } from "../api.ts";
import { on } from "../live.ts";
import { errorText } from "../parts/basics.tsx";

const most = 10_000;
const page = 500;

export const rows = signal<Call[]>([]);
export const paused = signal(false);
export const more = signal(false);
export const problem = signal("");
let filter: string | undefined;
let late: Call[] = [];

interface Answer { rev: number; calls: Call[]; more: boolean }
const url = (q: string, before = 0, limit = page) => `traffic?limit=${limit}&q=${encodeURIComponent(q)}` + (before ? `&before=${before}` : "");

/** merge puts changed entries into rows that are ordered newest first. */
export function merge(old: Call[], changed: Call[]): Call[] {
  const at = new Map(changed.map((c) => [c.id, c]));
  const out = old.map((c) => {
    const next = at.get(c.id);
    if (next) at.delete(c.id);
    return next ?? c;
  });
  if (!at.size) return out;
  const fresh = [...at.values()].sort((a, b) => b.id - a.id);
  const all = !out.length || fresh.at(-1)!.id > out[0]!.id ? [...fresh, ...out] : [...fresh, ...out].sort((a, b) => b.id - a.id);
  return all.length > most ? all.slice(0, most) : all;
}

/** show reads the rows that match q. */
export async function show(q: string): Promise<void> {
  if (q === filter && rows.peek().length) return;
  filter = q;
  late = [];
  try {
    const a = await get<Answer>(url(q));
    if (filter !== q) return;
    rows.value = a.calls;
    more.value = a.more;
    problem.value = "";
  } catch (e) { if (filter === q) problem.value = errorText(e); }
}

let loading = false;
/** older reads the next rows below. */
export async function older(): Promise<void> {
  const last = rows.peek().at(-1);
  if (!last || !more.peek() || loading || rows.peek().length >= most) return;
  loading = true;
  try {
    const a = await get<Answer>(url(filter ?? "", last.id, 1000));
    rows.value = [...rows.peek(), ...a.calls].slice(0, most);
    more.value = a.more;
  } finally { loading = false; }
}

export function setPaused(on: boolean): void {
  paused.value = on;
  if (!on && late.length) { rows.value = merge(rows.peek(), late); late = []; }
}

let timer = 0;
on("traffic", (calls) => {
  if (filter === undefined) return;
  if (filter === "") {
    if (paused.peek()) late = merge(late, calls);
    else rows.value = merge(rows.peek(), calls);
    return;
  }
  // The gateway knows the grammar; ask it what of the new calls matches.
  if (paused.peek()) return;
  timer ||= window.setTimeout(async () => {
    timer = 0;
    const q = filter ?? "";
    const a = await get<Answer>(url(q, 0, 200)).catch(() => undefined);
    if (a && filter === q) rows.value = merge(rows.peek(), a.calls);
  }, 300);
});
on("reset", () => { const q = filter; filter = undefined; if (q !== undefined) void show(q); });
