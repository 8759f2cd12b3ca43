// What the other gateways of a cluster have. Of one that is alone nothing of it is shown.
import { get, type Call, type Overview, type Replica, type Server } from "../api.ts";
import { clock, ns } from "../format.ts";
import { said, t } from "../i18n/index.ts";
import { replicas } from "../live.ts";
import { Notice, Status, now, useLoad } from "../parts/basics.tsx";
import { query, setQuery } from "../router.ts";
import { reasonOf, stateName, toneOf } from "./server_state.ts";
import { outcome, toneOfCall } from "./traffic.tsx";

/** every is all replicas, in the address of a page. */
const every = "*";
const why = (r: Replica) => said(r.error, r.errorZH);

/** useAll asks all replicas for a path, again and again. */
function useAll<T>(path: string) { return useLoad(() => get<T>(path), [path, Math.floor(now.value / 5_000)]); }

/** Silent names the replicas that do not answer. */
function Silent({ list }: { list?: Replica[] }) {
  return <>{(list ?? []).filter((r) => r.error).map((r) => <Notice key={r.name} tone="warn">{t("replicaSilent", r.name)} {why(r)}</Notice>)}</>;
}

/** ReplicaFilter chooses whose rows are shown; none is this gateway alone, with all that its pages can do. */
export function ReplicaFilter() {
  const chosen = query.value.get("replica") ?? "";
  if (!replicas.value.length) return null;
  const names = [...replicas.value.filter((r) => r.self), ...replicas.value.filter((r) => !r.self)];
  return <div class="search-line chips-line" role="group" aria-label={t("replica")} data-testid="replicas">{[...names.map((r) => r.self ? "" : r.name), every].map((name) =>
    <button type="button" key={name} class="filter-chip" aria-pressed={chosen === name} onClick={() => setQuery({ replica: name || undefined })}>{name === every ? t("allReplicas") : name || names[0]!.name}</button>)}</div>;
}

/** chosenReplica is whose rows a page shows; empty for this gateway's own. */
export const chosenReplica = () => (replicas.value.length ? query.value.get("replica") ?? "" : "");

const of = <T extends { replica?: string }>(list: T[] | undefined, name: string) => (list ?? []).filter((x) => name === every || x.replica === name);

/** ReplicaServers are the servers of the chosen replicas. */
export function ReplicaServers() {
  const name = chosenReplica(), { value, error } = useAll<Overview>("overview?replica=*");
  return <div class="scroll"><Silent list={value?.replicas} />{error && <Notice tone="err">{error}</Notice>}
    <section class="card flush wide" aria-label={t("servers")}><table data-testid="replica-servers"><thead><tr><th>{t("replica")}</th><th>{t("server")}</th><th>{t("state")}</th><th class="r">{t("tools")}</th></tr></thead>
      <tbody>{of<Server>(value?.servers, name).map((s) => <tr key={s.replica + " " + s.schema + "/" + s.name}><td>{s.replica}</td><td><Status tone={toneOf(s)} state={s.state}><b>{s.name}</b></Status></td><td class="mut">{stateName(s)} {reasonOf(s)}</td><td class="r">{s.tools}</td></tr>)}</tbody></table></section></div>;
}

/** ReplicaTraffic are the newest calls of the chosen replicas, joined by time. */
export function ReplicaTraffic({ q }: { q: string }) {
  const name = chosenReplica(), { value, error } = useAll<{ calls: Call[]; replicas?: Replica[] }>("traffic?limit=200&replica=*&q=" + encodeURIComponent(q || "hop:client"));
  return <div class="scroll"><Silent list={value?.replicas} />{error && <Notice tone="err">{error}</Notice>}
    <section class="card flush wide" aria-label={t("traffic")}><table data-testid="replica-traffic"><thead><tr><th>{t("time")}</th><th>{t("replica")}</th><th>{t("client")}</th><th>{t("call")}</th><th>{t("result")}</th><th class="r">{t("duration")}</th></tr></thead>
      <tbody>{of<Call>(value?.calls, name).map((c) => <tr key={c.replica + " " + c.id}><td class="mut">{clock(c.start)}</td><td>{c.replica}</td><td class="mut">{c.client}</td><td><Status tone={toneOfCall(c)} state={c.status}><code>{c.name || c.method}</code></Status></td><td class="cut">{outcome(c)}</td><td class="r">{c.status === "pending" ? "–" : ns(c.total)}</td></tr>)}</tbody></table></section></div>;
}

/** ReplicasCard says how each replica does. */
export function ReplicasCard() {
  return replicas.value.length ? <Replicas /> : null;
}

function Replicas() {
  const { value } = useAll<Overview>("overview?replica=*");
  const list = value?.replicas ?? [];
  return <section class="card flush table-card" aria-labelledby="replicas-h"><header><h2 id="replicas-h">{t("replicas")}</h2><span class="count">{list.length}</span></header>
    <table data-testid="replicas-card"><thead><tr><th>{t("replica")}</th><th>{t("servers")}</th><th class="r">{t("clientsTitle")}</th></tr></thead>
      <tbody>{list.map((r) => {
        const own = of<Server>(value?.servers, r.name);
        return <tr key={r.name}><td><Status tone={r.error ? "err" : "ok"} state={r.error ? "down" : "up"}><b>{r.name}</b></Status></td>
          <td class={r.error ? "err" : "mut"}>{r.error ? why(r) : t("upOf", own.filter((s) => s.state === "up" || s.state === "idle").length, own.filter((s) => s.state !== "disabled").length)}</td><td class="r">{r.error ? "–" : of(value?.clients, r.name).length}</td></tr>;
      })}</tbody></table></section>;
}
