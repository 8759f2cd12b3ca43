// Servers, calls and state of the other gateways in a cluster. Without a cluster nothing of this is shown.
import type { Call, Overview, Replica, Server } from "../api.ts";
import { clock, ns } from "../format.ts";
import { t } from "../i18n/index.ts";
import { replicas } from "../live.ts";
import { Notice, Status } from "../parts/basics.tsx";
import { query, setQuery } from "../router.ts";
import { every, of, useAll, why } from "./replicas_card.tsx";
import { reasonOf, toneOf } from "./server_state.ts";
import { outcome, toneOfCall } from "./traffic.tsx";


/** Silent lists the replicas that do not answer. */
function Silent({ list }: { list?: Replica[] }) {
  return <>{(list ?? []).filter((r) => r.error).map((r) => <Notice key={r.name} tone="warn">{t("replicaSilent", r.name)} {why(r)}</Notice>)}</>;
}

/** ReplicaFilter chooses the replica whose rows a page shows. The default is this gateway, the only one that the page can change. */
export function ReplicaFilter() {
  if (!replicas.value.length) return null;
  const names = [...replicas.value.filter((r) => r.self), ...replicas.value.filter((r) => !r.self)];
  return <select aria-label={t("replica")} data-testid="replicas" value={chosenReplica()} onChange={(e) => setQuery({ replica: e.currentTarget.value || undefined })}>
    {names.map((r) => <option key={r.name} value={r.self ? "" : r.name}>{t("replica")} {r.name}</option>)}<option value={every}>{t("allReplicas")}</option></select>;
}

/** chosenReplica is the replica whose rows a page shows; empty for this gateway. */
export const chosenReplica = () => (replicas.value.length ? query.value.get("replica") ?? "" : "");

/** ReplicaServers shows the servers of the chosen replicas. */
export function ReplicaServers() {
  const name = chosenReplica(), { value, error } = useAll<Overview>("overview?replica=*");
  return <div class="scroll"><Silent list={value?.replicas} />{error && <Notice tone="err">{error}</Notice>}
    <section class="card flush wide" aria-label={t("servers")}><table data-testid="replica-servers"><thead><tr><th>{t("replica")}</th><th>{t("server")}</th><th>{t("state")}</th><th class="r">{t("tools")}</th></tr></thead>
      <tbody>{of<Server>(value?.servers, name).map((s) => <tr key={s.replica + " " + s.schema + "/" + s.name}><td>{s.replica}</td><td><Status tone={toneOf(s)} state={s.state}><b>{s.name}</b></Status></td><td class="mut">{reasonOf(s)}</td><td class="r">{s.tools}</td></tr>)}</tbody></table></section></div>;
}

/** ReplicaTraffic shows the newest calls of the chosen replicas by time. */
export function ReplicaTraffic({ q }: { q: string }) {
  const name = chosenReplica(), { value, error } = useAll<{ calls: Call[]; replicas?: Replica[] }>("traffic?limit=200&replica=*&q=" + encodeURIComponent(q || "hop:client"));
  return <div class="scroll"><Silent list={value?.replicas} />{error && <Notice tone="err">{error}</Notice>}
    <section class="card flush wide" aria-label={t("traffic")}><table data-testid="replica-traffic"><thead><tr><th>{t("time")}</th><th>{t("replica")}</th><th>{t("client")}</th><th>{t("call")}</th><th>{t("result")}</th><th class="r">{t("duration")}</th></tr></thead>
      <tbody>{of<Call>(value?.calls, name).map((c) => <tr key={c.replica + " " + c.id}><td class="mut">{clock(c.start)}</td><td>{c.replica}</td><td class="mut">{c.client}</td><td><Status tone={toneOfCall(c)} state={c.status}><code>{c.name || c.method}</code></Status></td><td class="mut">{outcome(c)}</td><td class="r">{c.status === "pending" ? "–" : ns(c.total)}</td></tr>)}</tbody></table></section></div>;
}
