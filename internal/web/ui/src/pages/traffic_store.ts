// The rows of the traffic screen, kept while other screens are shown. A batch
// touches the rows that it changes, and no others.
import { signal } from "@preact/signals";
import { get, type Call } from "../api.ts";
import { on } from "../live.ts";
import { errorText } from "../parts/basics.tsx";

const most = 10_000;
/** slack is by how much the list may grow before old rows are dropped: dropping moves all rows. */
const slack = 2_000;
const page = 500;

/** A Row is a call with its start as a number. */
export type Row = Call & { at: number };

/** Rows are ordered by id, the oldest first, so that a new one is appended. */
export class Rows {
  list: Row[] = [];

  /** find is the place of an id, or of the first above it. */
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

  /** size is how many are shown: what is beyond the limit waits to be dropped. */
  get size(): number { return Math.min(this.list.length, most); }
}

export const all = new Rows();
/** calls are those that clients made, without what they caused. */
export const calls = new Rows();
/** version changes when rows have changed: at once for a person, and at most three times a second for new calls. */
export const version = signal(0);
export const paused = signal(false);
export const more = signal(false);
export const problem = signal("");
/** heldAt is the newest row that is shown while someone reads; 0 shows all. */
export const heldAt = signal(0);
let filter: string | undefined;

interface Answer { rev: number; calls: Call[]; more: boolean }
const url = (q: string, before = 0, limit = page) => `traffic?limit=${limit}&q=${encodeURIComponent(q)}` + (before ? `&before=${before}` : "");

const pause = 300; // milliseconds between two pictures of new calls
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
/** older reads the next rows below. */
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

/** hold keeps what is read where it is; what comes is counted. */
export function hold(on: boolean): void {
  if (on === heldAt.peek() > 0) return;
  heldAt.value = on ? all.list.at(-1)?.id ?? 0 : 0;
}

export function setPaused(on: boolean): void { paused.value = on; hold(on); }

let timer = 0;
on("traffic", (list) => {
  if (filter === undefined) return;
  if (filter === "") { put(list); return; }
  // The gateway knows the grammar; ask it what of the new calls matches.
  timer ||= window.setTimeout(async () => {
    timer = 0;
    const q = filter ?? "";
    const a = await get<Answer>(url(q, 0, 200)).catch(() => undefined);
    if (a && filter === q) put(a.calls.reverse());
  }, 500);
});
on("reset", () => { const q = filter; filter = undefined; all.list = []; calls.list = []; if (q !== undefined) void show(q); });
