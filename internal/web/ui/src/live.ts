// One event stream for all tabs: the tab that holds the lock reads it and
// passes events on.
import { computed, signal } from "@preact/signals";
import { get } from "./api.ts";
import type { Bench, Call, Client, Line, Question, Run, Server } from "./api.ts";

export const servers = signal<Server[]>([]);
export const inbox = signal<Question[]>([]);
export const clients = signal<Client[]>([]);
/** approvals are servers and changed tools that wait for a yes. */
export const approvals = computed(() => servers.value.filter((s) => s.state === "pending" || s.pending?.length));
/** waitingCount is how much waits for a person. */
export const waitingCount = computed(() => inbox.value.length + approvals.value.length);
export const benches = signal<Bench[]>([]);
/** online is whether the stream is open, in this tab or another. */
export const online = signal(false);
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

/** on follows a topic until the returned function is called. */
export function on<K extends keyof Topics>(topic: K, f: Listener<Topics[K]>): () => void {
  listeners[topic].add(f);
  return () => { listeners[topic].delete(f); };
}

function deliver(topic: string, data: any): void {
  switch (topic) {
    case "servers": servers.value = data; return;
    case "inbox": inbox.value = data; return;
    case "clients": clients.value = data; return;
    case "hello": return;
    case "reset": void refresh(); break;
    case "bench": if (data.type === "sessions" || data.type === "down") void refreshBenches(); break;
  }
  const set = listeners[topic as keyof Topics] as Set<Listener<any>> | undefined;
  set?.forEach((f) => f(data));
}

export async function refreshBenches(): Promise<void> { benches.value = await get<Bench[]>("bench"); }

/** refresh reads everything that events only change. */
export async function refresh(): Promise<void> {
  const o = await get<{ servers: Server[]; clients: Client[]; inbox: Question[] }>("overview");
  servers.value = o.servers;
  clients.value = o.clients;
  inbox.value = o.inbox;
  await refreshBenches();
}

const topics = "servers,inbox,clients,bench,tests,traffic,logs";

export function startLive(): void {
  const channel = new BroadcastChannel("mcp-all-in-one");
  let leads = false;
  channel.onmessage = (e) => {
    if (e.data.ask) {
      if (leads) channel.postMessage({ online: online.peek(), id: eventId.peek() });
      return;
    }
    online.value = e.data.online;
    if (e.data.id) eventId.value = e.data.id;
    if (e.data.topic) deliver(e.data.topic, e.data.data);
  };
  const lead = () => { leads = true; read(channel); };
  // A tab that comes later hears at once how the stream is doing.
  channel.postMessage({ ask: true });
  // Without locks (plain http on another host) each tab reads its own stream.
  if (navigator.locks) void navigator.locks.request("mcp-all-in-one", () => { lead(); return new Promise(() => {}); });
  else lead();
}

function read(channel: BroadcastChannel): void {
  const last = eventId.peek();
  const source = new EventSource(`/api/v1/events?topics=${topics}` + (last ? `&last=${encodeURIComponent(last)}` : ""));
  const tell = (isOnline: boolean) => { online.value = isOnline; channel.postMessage({ online: isOnline }); };
  source.onopen = () => tell(true);
  source.onerror = () => {
    tell(false);
    // A refused stream is not tried again by the browser.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => read(channel), 3000);
  };
  for (const topic of ["hello", "reset", ...topics.split(",")]) {
    source.addEventListener(topic, (e) => {
      const m = e as MessageEvent<string>;
      const data = JSON.parse(m.data);
      eventId.value = m.lastEventId;
      channel.postMessage({ online: true, id: m.lastEventId, topic, data });
      deliver(topic, data);
    });
  }
}
