// The rows of the traffic screen, kept while other screens are shown. A batch
// changes only the affected rows.
import { signal } from "@preact/signals";
import { get, type Call } from "../api.ts";
import { on } from "../live.ts";
import { errorText } from "../parts/basics.tsx";

const most = 10_000;
/** slack is how many extra rows the list may hold before old rows are dropped, because dropping moves all rows. */
const slack = 2_000;
const page = 500;

/** A Row is a call with its start as a number. */
export type Row = Call & { at: number };

/** Rows are ordered by id, oldest first, so that new rows are appended. */
export class Rows {
  list: Row[] = [];

  /** find returns the index of an id, or of the next higher id. */
  find(id: number): number {
    let low = 0, high = this.list.length;
    if (high && this.list[high - 1]!.id < id) return high;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.list[mid]!.id < id) low = mid + 1; else high = mid;
    }
    return low;
  }

  put(c: Row): void {
    const i = this.find(c.id);
    if (this.list[i]?.id === c.id) this.list[i] = c;
    else if (i === this.list.length) this.list.push(c);
    else if (i > 0 || this.list.length < most) this.list.splice(i, 0, c);
    if (this.list.length > most + slack) this.list.splice(0, this.list.length - most);
  }

  /** size is the number of visible rows; rows beyond the limit are dropped later. */
  get size(): number { return Math.min(this.list.length, most); }
}

export const all = new Rows();
/** calls are the calls of clients, without the calls that they caused. */
export const calls = new Rows();
/** version changes when rows have changed: at once after an action of the user, and at most three times a second for new calls. */
export const version = signal(0);
export const paused = signal(false);
export const more = signal(false);
export const problem = signal("");
/** heldAt is the newest visible row while the user reads; 0 shows all rows. */
export const heldAt = signal(0);
let filter: string | undefined;

interface Answer { rev: number; calls: Call[]; more: boolean }
const url = (q: string, before = 0, limit = page) => `traffic?limit=${limit}&q=${encodeURIComponent(q)}` + (before ? `&before=${before}` : "");

const pause = 300; // milliseconds between two updates for new calls
let frame = 0, waits = 0, shown = 0;
function changed(): void {
  frame ||= requestAnimationFrame(() => { frame = 0; shown = performance.now(); version.value++; });
}
function arrived(): void {
  waits ||= window.setTimeout(() => { waits = 0; changed(); }, Math.max(0, shown + pause - performance.now()));
}

const isCall = (c: Call) => !c.parent && c.kind === "call" && !c.fromServer;

function put(list: Call[]): void {
  for (const c of list) {
    const row = c as Row;
    row.at = Date.parse(c.start);
    all.put(row);
    if (isCall(c)) calls.put(row);
  }
  if (list.length) arrived();
}

/** show reads the rows that match q. */
export async function show(q: string): Promise<void> {
  if (q === filter && all.list.length) return;
  filter = q;
  try {
    const a = await get<Answer>(url(q));
    if (filter !== q) return;
    all.list = [];
    calls.list = [];
    heldAt.value = 0;
    put(a.calls.reverse());
    more.value = a.more;
    problem.value = "";
    changed();
  } catch (e) { if (filter === q) problem.value = errorText(e); }
}

let loading = false;
/** older reads the next older rows. */
export async function older(): Promise<void> {
  const first = all.list[0];
  if (!first || !more.peek() || loading || all.list.length >= most) return;
  loading = true;
  try {
    const a = await get<Answer>(url(filter ?? "", first.id, 1000));
    const rows = a.calls.reverse().map((c) => Object.assign(c, { at: Date.parse(c.start) }) as Row).slice(-Math.max(0, most - all.list.length));
    all.list = rows.concat(all.list);
    calls.list = rows.filter(isCall).concat(calls.list);
    more.value = a.more && all.list.length < most;
    changed();
  } finally { loading = false; }
}

/** hold freezes the visible rows; new calls are only counted. */
export function hold(on: boolean): void {
  if (on === heldAt.peek() > 0) return;
  heldAt.value = on ? all.list.at(-1)?.id ?? 0 : 0;
}

export function setPaused(on: boolean): void { paused.value = on; hold(on); }

let timer = 0;
on("traffic", (list) => {
  if (filter === undefined) return;
  if (filter === "") { put(list); return; }
  // Only the gateway knows the grammar of filters, so it selects the new calls
  // that match.
  timer ||= window.setTimeout(async () => {
    timer = 0;
    const q = filter ?? "";
    const a = await get<Answer>(url(q, 0, 200)).catch(() => undefined);
    if (a && filter === q) put(a.calls.reverse());
  }, 500);
});
on("reset", () => { const q = filter; filter = undefined; all.list = []; calls.list = []; if (q !== undefined) void show(q); });
