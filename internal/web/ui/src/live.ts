// One event stream for all tabs: the tab that holds the lock reads it and
// passes the events on.
import { computed, signal } from "@preact/signals";
import { get } from "./api.ts";
import type { Bench, Call, Client, Line, Overview, Question, Replica, Run, Server, Unread } from "./api.ts";

export const servers = signal<Server[]>([]);
/** inbox has the open questions, in a cluster those of all replicas. */
export const inbox = signal<Question[]>([]);
export const clients = signal<Client[]>([]);
/** seenAt is the time of the last call of a session, in milliseconds. */
export const seenAt = new Map<string, number>();
/** unread is set if the config file has changed since the gateway read it. */
export const unread = signal<Unread | undefined>(undefined);
/** replicas are the gateways of the cluster; empty outside a cluster. */
export const replicas = signal<Replica[]>([]);
/** farChanges and farCalls count what happened on other replicas, so that a page that shows them reads them again. */
export const farChanges = signal(0), farCalls = signal(0);
/** sender is the replica that sends the events. */
let sender: string | undefined;
/** approvals are servers and changed tools that wait for approval. */
export const approvals = computed(() => servers.value.filter((s) => s.state === "pending" || s.pending?.length));
/** waitingCount is the number of items that wait for a person. */
export const waitingCount = computed(() => inbox.value.length + approvals.value.length);
export const benches = signal<Bench[]>([]);
/** link is the state of the stream, in this tab or another. Until the first connection it is "connecting", however long that takes. */
export const link = signal<"connecting" | "live" | "lost">("connecting");
export const online = computed(() => link.value === "live");
/** lostAt is when the stream broke; the shown data is from then. retryAt is the time of the next attempt. */
export const lostAt = signal(0);
export const retryAt = signal(0);
/** loaded is set after the first response. */
export const loaded = signal(false);
export const eventId = signal("");

export interface BenchEvent {
  type: "sessions" | "run" | "progress" | "notification" | "line" | "down";
  bench?: string; run?: Run; runId?: string; method?: string; params?: any; text?: string; at?: string;
}

interface Topics { traffic: Call[]; logs: Line[]; bench: BenchEvent; tests: { suite: string }; reset: unknown }
type Listener<T> = (data: T) => void;
const listeners: { [K in keyof Topics]: Set<Listener<Topics[K]>> } = {
  traffic: new Set(), logs: new Set(), bench: new Set(), tests: new Set(), reset: new Set(),
};

/** on calls f with the events of a topic until the returned function is called. */
export function on<K extends keyof Topics>(topic: K, f: Listener<Topics[K]>): () => void {
  listeners[topic].add(f);
  return () => { listeners[topic].delete(f); };
}

/** told counts the events of a topic. */
const told = { servers: 0, inbox: 0, clients: 0 };

function deliver(topic: string, data: any): void {
  if (topic in told) told[topic as keyof typeof told]++;
  switch (topic) {
    case "servers": servers.value = data; return;
    case "inbox": inbox.value = withOwn(inbox.peek(), data); return;
    case "clients": clients.value = data; return;
    case "traffic": for (const c of data as Call[]) if (c.session && c.hop === "client") seenAt.set(c.session, Date.parse(c.start)); break;
    case "hello": sender = data.replica; return;
    case "reset": sender = data.replica ?? sender; void refresh(); break;
    case "replicas":
      if (data.topic === "traffic") { farCalls.value++; return; }
      farChanges.value++;
      if (data.topic !== "servers" && data.topic !== "clients") void refreshReplicas().catch(() => {});
      return;
    case "bench": if (data.type === "sessions" || data.type === "down") void refreshBenches(); break;
  }
  const set = listeners[topic as keyof Topics] as Set<Listener<any>> | undefined;
  set?.forEach((f) => f(data));
}

/** withOwn replaces the questions of the replica that sends the events. */
const withOwn = (all: Question[], own: Question[]) => [...all.filter((q) => sender && q.replica !== sender), ...own].sort((a, b) => Date.parse(a.asked) - Date.parse(b.asked));

export async function refreshBenches(): Promise<void> { benches.value = await get<Bench[]>("bench"); }

/** refresh reads the state that events later update. */
export async function refresh(): Promise<void> {
  const before = { ...told };
  const o = await get<Pick<Overview, "servers" | "clients" | "inbox" | "unread" | "replicas">>("overview");
  // An event that arrived in the meantime is newer than the response.
  if (told.servers === before.servers) servers.value = o.servers;
  if (told.clients === before.clients) clients.value = o.clients;
  if (told.inbox === before.inbox && !o.replicas) inbox.value = o.inbox;
  unread.value = o.unread;
  if (o.replicas) await refreshReplicas().catch(() => { replicas.value = o.replicas!; });
  loaded.value = true;
  await refreshBenches();
}

let reading = false, stale = false;

/** refreshReplicas reads the other replicas: their questions, and whether one of them cannot use the configuration. */
async function refreshReplicas(): Promise<void> {
  stale = true;
  if (reading) return;
  reading = true;
  try {
    while (stale) {
      stale = false;
      const before = told.inbox;
      const o = await get<Pick<Overview, "replicas" | "unread" | "inbox">>("overview?replica=*");
      replicas.value = o.replicas ?? [];
      unread.value = o.unread;
      inbox.value = told.inbox === before ? o.inbox : withOwn(o.inbox, inbox.peek().filter((q) => q.replica === sender));
    }
  } finally { reading = false; }
}

/** checkUnread asks whether the config file has changed since it was read. */
export async function checkUnread(): Promise<void> {
  if (document.visibilityState !== "visible" || link.peek() !== "live") return;
  if (replicas.peek().length) await refreshReplicas().catch(() => {});
  else unread.value = (await get<Unread | null>("unread").catch(() => null)) ?? undefined;
}

const topics = "servers,inbox,clients,bench,tests,traffic,logs,replicas";

interface Told { ask?: boolean; retry?: boolean; link?: "live" | "lost"; retryAt?: number; id?: string; sender?: string; topic?: string; data?: unknown }
let channel: BroadcastChannel | undefined;
let leads = false;

/** take updates what this tab knows about the stream. */
function take(m: Told): void {
  if (m.link === "lost") {
    if (link.peek() === "live") { lostAt.value = Date.now(); link.value = "lost"; }
    retryAt.value = m.retryAt ?? 0;
  } else if (m.link) link.value = m.link;
  if (m.id) eventId.value = m.id;
  sender = m.sender ?? sender;
  if (m.topic) deliver(m.topic, m.data);
}

/** tell updates this tab and the other tabs. */
function tell(m: Told): void { take(m); channel?.postMessage(m); }

export function startLive(): void {
  channel = new BroadcastChannel("mcp-all-in-one");
  channel.onmessage = (e: MessageEvent<Told>) => {
    if (e.data.retry) { if (leads) read(); }
    else if (!e.data.ask) take(e.data);
    else if (leads && link.peek() !== "connecting") channel!.postMessage({ link: link.peek(), retryAt: retryAt.peek(), id: eventId.peek(), sender });
  };
  const lead = () => { leads = true; read(); };
  // A new tab asks for the state of the stream.
  channel.postMessage({ ask: true });
  // Without locks (plain http on another host) each tab reads its own stream.
  if (navigator.locks) void navigator.locks.request("mcp-all-in-one", () => { lead(); return new Promise(() => {}); });
  else lead();
}

/** retry reconnects the stream now. */
export function retry(): void { if (leads) read(); else channel?.postMessage({ retry: true }); }

let source: EventSource | undefined;
let timer = 0;
let failures = 0;

function read(): void {
  clearTimeout(timer);
  source?.close();
  const last = eventId.peek();
  const own = source = new EventSource(`/api/v1/events?topics=${topics}` + (last ? `&last=${encodeURIComponent(last)}` : ""));
  own.onopen = () => { failures = 0; tell({ link: "live" }); };
  own.onerror = () => {
    own.close();
    if (own !== source) return;
    const wait = Math.min(1000 * 2 ** failures++, 8000);
    timer = window.setTimeout(read, wait);
    tell({ link: "lost", retryAt: Date.now() + wait });
    // The login may have expired, although the gateway still runs.
    get("session").catch(() => {});
  };
  for (const topic of ["hello", "reset", ...topics.split(",")]) {
    own.addEventListener(topic, (e) => {
      const m = e as MessageEvent<string>;
      tell({ id: m.lastEventId, topic, data: JSON.parse(m.data) });
    });
  }
}
