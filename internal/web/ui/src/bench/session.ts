// The tester's sessions and runs as signals.
import { signal } from "@preact/signals";
import { RawBody, change, get, path, type Bench, type Run, type Target } from "../api.ts";
import { said } from "../i18n/index.ts";
import { benches, on, refreshBenches, servers } from "../live.ts";

/** runs are the runs that this page knows, by id. */
export const runs = signal<ReadonlyMap<string, Run>>(new Map());

export interface Note { at: string; bench: string; run?: string; method: string; params?: any; text?: string }
/** notes are notifications, progress and stderr lines, newest last. */
export const notes = signal<Note[]>([]);
const mostNotes = 500;

function keep(run: Run): void {
  const next = new Map(runs.peek());
  next.set(run.id, run);
  runs.value = next;
}

function note(n: Note): void { notes.value = [...notes.peek().slice(-mostNotes + 1), n]; }

on("bench", (e) => {
  const at = e.at ?? new Date().toISOString();
  if (e.type === "run" && e.run) keep(e.run);
  else if (e.type === "progress" || e.type === "notification") note({ at, bench: e.bench!, run: e.runId, method: e.method!, params: e.params });
  else if (e.type === "line") note({ at, bench: e.bench!, method: "stderr", text: e.text });
});

/** targetOf reads the part of the URL that names a target. */
export function targetOf(name: string, via: string | null): Target | undefined {
  if (name.startsWith("@")) return undefined;
  if (name.startsWith("~")) return { schema: name.slice(1), via: "gateway" };
  const schema = servers.peek().find((s) => s.name === name)?.schema ?? "default";
  return { server: name, schema, via: via === "gateway" ? "gateway" : "direct" };
}

/** nameOf is the inverse of targetOf: the name of a session in a URL. */
export function nameOf(b: Bench): string {
  const t = b.target;
  const plain = !t.as && !t.protocol && !t.offer && !t.clientName;
  if (t.server && plain && t.via !== "gateway") return t.server;
  if (!t.server && t.via === "gateway" && plain) return "~" + (t.schema ?? "default");
  return "@" + b.id;
}

export function labelOf(b: Bench): string {
  const t = b.target;
  return t.server ?? t.url ?? (t.command ? [t.command, ...(t.args ?? [])].join(" ") : `${t.schema ?? "default"} (gateway)`);
}

/** titleOf returns the title of the server: its configured name, else the name it gives itself. */
export function titleOf(b: Bench): string {
  const info = b.info.handshake?.serverInfo;
  return b.target.server || b.target.via === "gateway" ? labelOf(b) : info?.title || info?.name || labelOf(b);
}

/** open opens a session, or returns the existing one. */
export async function open(name: string, via: string | null, fresh = false): Promise<Bench> {
  const t = targetOf(name, via);
  if (!t) return get<Bench>(path("bench", name.slice(1)));
  return connect(t, undefined, fresh);
}

export async function connect(target: Target, confirm?: string, fresh = false): Promise<Bench> {
  const b = await change<Bench>("POST", "bench", { target, confirm: confirm ?? "", fresh });
  if (!benches.peek().some((x) => x.id === b.id)) await refreshBenches();
  return b;
}

export interface Limits { idle: number; limit: number }

/** start sends a request. params is JSON text, so that no digit is lost. */
export async function start(bench: string, method: string, params?: string, limits?: Limits, quiet = false): Promise<Run> {
  const parts = [`"method":${JSON.stringify(method)}`];
  if (params) parts.push(`"params":${params}`);
  if (quiet) parts.push('"quiet":true');
  if (limits) parts.push(`"idle":${limits.idle},"limit":${limits.limit}`);
  const run = await change<Run>("POST", path("bench", bench, "calls"), new RawBody(`{${parts.join(",")}}`));
  if (!runs.peek().has(run.id)) keep(run);
  return run;
}

export const cancel = (run: Run) => change("DELETE", path("bench", run.bench!, "calls", run.id));

/** finished waits for the end of a run. */
export function finished(run: Run): Promise<Run> {
  return new Promise((resolve) => {
    let stop = () => {};
    const look = (all: ReadonlyMap<string, Run>) => {
      const r = all.get(run.id);
      if (r && r.status !== "running") { queueMicrotask(() => stop()); resolve(r); }
    };
    stop = runs.subscribe(look);
  });
}

/** ask runs a request to its end without adding it to the history, and returns its result as text. */
export async function ask(bench: string, method: string, params?: string): Promise<{ run: Run; text: string }> {
  const run = await finished(await start(bench, method, params, undefined, true));
  if (run.status !== "ok") throw new Error(failureOf(run));
  return { run, text: await body(run) };
}

export async function body(run: Run): Promise<string> {
  const resp = await fetch(`/api/v1/${path("runs", run.id, "body")}`, { credentials: "same-origin" });
  if (!resp.ok) throw new Error(`HTTP ${resp.status}`);
  return resp.text();
}

/** failureOf returns the error of a run, in the words of MCP clients. */
export function failureOf(run: Run): string {
  return run.error ? `MCP error ${run.error.code}: ${run.error.message}` : said(run.message, run.messageZH) || run.status;
}
