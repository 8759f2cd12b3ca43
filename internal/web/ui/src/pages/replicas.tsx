// Servers, calls and state of the other gateways in a cluster. Without a cluster nothing of this is shown.
import { useMemo, useRef, useState } from "preact/hooks";
import { get, type Call, type Overview, type Replica, type Server } from "../api.ts";
import { t } from "../i18n/index.ts";
import { farCalls, loaded, replicas } from "../live.ts";
import { Notice, Status, now, useLoad } from "../parts/basics.tsx";
import { go, href, query, segments } from "../router.ts";
import { every, of, useAll, why } from "./replicas_card.tsx";
import { reasonOf, toneOf } from "./server_state.ts";
import type { Row } from "./traffic_store.ts";

/** Silent lists the replicas that do not answer. */
export function Silent({ list }: { list?: Replica[] }) {
  return <>{(list ?? []).filter((r) => r.error).map((r) => <Notice key={r.name} tone="warn">{t("replicaSilent", r.name, why(r))}</Notice>)}</>;
}

/** ReplicaFilter chooses the replica whose rows a page shows. The default is this gateway, the only one that the page can change; with all it is every replica. */
export function ReplicaFilter({ all }: { all?: boolean }) {
  if (!replicas.value.length) return null;
  const names = [...replicas.value.filter((r) => r.self), ...replicas.value.filter((r) => !r.self)];
  return <select aria-label={t("replica")} data-testid="replicas" value={chosenReplica()} onChange={(e) => choose(e.currentTarget.value)}>
    {all && <option value="">{t("allReplicas")}</option>}{names.map((r) => <option key={r.name} value={r.self && !all ? "" : r.name}>{t("replica")} {r.name}</option>)}{!all && <option value={every}>{t("allReplicas")}</option>}</select>;
}

/** choose shows the rows of a replica, and closes the call that is open. */
const choose = (name: string) => go(href(segments.peek().slice(0, 1), { q: query.peek().get("q") ?? undefined, tab: query.peek().get("tab") ?? undefined, replica: name }), true);

/** chosenReplica is the replica whose rows a page shows; empty for this gateway. Until the replicas are known, the address decides. */
export const chosenReplica = () => (replicas.value.length || !loaded.value ? query.value.get("replica") ?? "" : "");

/** isSelf reports whether a replica is the one that this page is of. */
export const isSelf = (name?: string) => !name || !!replicas.value.find((r) => r.self && r.name === name);

/** ReplicaServers shows the servers of the chosen replicas. */
export function ReplicaServers() {
  const name = chosenReplica(), self = replicas.value.find((r) => r.self)?.name;
  const open = (s: Server) => href(["servers", s.schema, s.name], { replica: s.replica === self ? undefined : s.replica });
  const { value, error } = useAll<Overview>("overview?replica=*");
  return <div class="scroll"><Silent list={value?.replicas} />{error && <Notice tone="err">{error}</Notice>}
    <section class="card flush wide" aria-label={t("servers")}><table data-testid="replica-servers"><thead><tr><th>{t("replica")}</th><th>{t("server")}</th><th>{t("state")}</th><th class="r">{t("tools")}</th></tr></thead>
      <tbody>{of<Server>(value?.servers, name).map((s) => <tr key={s.replica + " " + s.schema + "/" + s.name} class="open-row" onClick={() => go(open(s))}><td>{s.replica}</td><td><Status tone={toneOf(s)} state={s.state}><a class="name" href={open(s)}>{s.name}</a></Status></td><td class="mut">{reasonOf(s)}</td><td class="r">{s.tools}</td></tr>)}</tbody></table></section></div>;
}

/** most is how many calls of other replicas are read at once. */
const most = 1000;

interface Far { calls: Call[]; more: boolean; replicas?: Replica[] }

/** useReplicaCalls reads the newest calls of the chosen replicas, oldest first, every 5 seconds and when there are new ones, but not while the user reads them. It returns undefined for this gateway. */
export function useReplicaCalls(name: string, q: string, reading: boolean) {
  const tick = useRef(0);
  const [limit, setLimit] = useState(200);
  if (name && !reading) tick.current = Math.floor(now.value / 5_000) + farCalls.value;
  const { value, error } = useLoad(async () => name ? { name, ...await get<Far>(`traffic?limit=${limit}&replica=${encodeURIComponent(name)}&q=${encodeURIComponent(q)}`) } : undefined, [name, q, limit, tick.current]);
  const list = useMemo(() => (value?.name === name ? value.calls : []).map((c): Row => ({ ...c, replica: c.replica ?? name, at: Date.parse(c.start) })).reverse(), [value, name]);
  return name ? {
    list, size: list.length, replicas: value?.replicas, error, loaded: value?.name === name, more: !!value?.more,
    find: (id: number, from: string) => list.findIndex((c) => c.id === id && c.replica === from),
    older: () => { if (value?.more && limit < most) setLimit(Math.min(most, limit * 2)); },
  } : undefined;
}
