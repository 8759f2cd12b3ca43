// The card of replicas on the overview, and what the pages of replicas share. The first page loads this file alone.
import { get, type Overview, type Replica, type Server } from "../api.ts";
import { said, t } from "../i18n/index.ts";
import { farChanges, replicas } from "../live.ts";
import { Status, now, useLoad } from "../parts/basics.tsx";
import { upOf } from "./server_state.ts";

/** every stands for all replicas in the address of a page. */
export const every = "*";
export const why = (r: Replica) => said(r.error, r.errorZH);

/** useAll requests a path of all replicas every 5 seconds, and when something has changed on one of them. */
export function useAll<T>(path: string) { return useLoad(() => get<T>(path), [path, Math.floor(now.value / 5_000), farChanges.value]); }

export const of = <T extends { replica?: string }>(list: T[] | undefined, name: string) => (list ?? []).filter((x) => name === every || x.replica === name);

/** ReplicasCard shows the state of each replica. */
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
        return <tr key={r.name}><td><Status tone={r.error ? "err" : r.differs ? "warn" : "ok"} state={r.error ? "down" : "up"}><b>{r.name}</b></Status></td>
          <td class={r.error ? "err" : "mut"}>{r.error ? why(r) : upOf(own)}{!r.error && r.differs && " · " + t("replicaDiffers")}</td><td class="r">{r.error ? "–" : of(value?.clients, r.name).length}</td></tr>;
      })}</tbody></table></section>;
}
