import { useEffect, useMemo } from "preact/hooks";
import { get, type Call, type Client, type Overview as Data, type Server, type Stat } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { age, clock, count, ns } from "../format.ts";
import { t } from "../i18n/index.ts";
import { clients, inbox, on, servers } from "../live.ts";
import { Empty, Notice, Spark, Status, now, useLoad } from "../parts/basics.tsx";
import { href } from "../router.ts";
import { may } from "../state.ts";
import { reasonOf, stateName, toneOf } from "./server_state.ts";

export function Overview() {
  const { value, error, reload } = useLoad(() => get<Data>("overview"), []);
  useEffect(() => { commandLine.value = command("status"); }, []);
  // Statistics are read again at most every two seconds while calls arrive.
  useEffect(() => {
    let timer = 0;
    const stop = on("traffic", () => { timer ||= window.setTimeout(() => { timer = 0; reload(); }, 2000); });
    return () => { stop(); clearTimeout(timer); };
  }, []);
  const stats = useMemo(() => new Map((value?.stats ?? []).filter((s) => !s.name).map((s) => [s.server, s])), [value]);
  const total = stats.get("");
  return <div class="overview-grid">
    <h1 class="hidden">{t("overview")}</h1>
    {error && <Notice tone="err">{error}</Notice>}
    <Attention stats={stats} />
    <section class="card" aria-labelledby="calls-h"><h2 id="calls-h">{t("callsHour")}</h2>
      <span class="big">{count((total?.perMinute ?? []).reduce((a, b) => a + b, 0))}</span>
      {total ? <span class="mut"> p50 {ns(total.p50)} · p95 {ns(total.p95)}</span> : null}
      <Spark values={total?.perMinute ?? [0]} errors={total?.errorsPerMinute} label={t("callsHour")} />
    </section>
    <section class="card" aria-labelledby="errors-h"><h2 id="errors-h">{t("errors")}</h2>
      <span class={"big" + (total?.errors ? " err" : "")}>{count(total?.errors ?? 0)}</span>
      <span class="mut"> {total?.calls ? ((total.errors / total.calls) * 100).toFixed(1) + " %" : ""}</span>
      <ul class="plain">{reasons(value?.stats ?? []).map(([r, n]) => <li key={r} class="mut">{r} · {count(n)}</li>)}</ul>
    </section>
    <ServerTable list={servers.value} stats={stats} />
    <ClientsCard list={clients.value} />
    <Failures rev={value?.rev ?? 0} />
  </div>;
}

function reasons(stats: Stat[]): [string, number][] {
  const sum = new Map<string, number>();
  for (const s of stats) if (!s.name && s.server) for (const [r, n] of Object.entries(s.reasons ?? {})) sum.set(r, (sum.get(r) ?? 0) + n);
  return [...sum].sort((a, b) => b[1] - a[1]).slice(0, 3);
}

/** hour sums the calls and errors of the last hour. */
function hour(s: Stat | undefined): { calls: number; errors: number } {
  const sum = (list?: number[]) => (list ?? []).reduce((a, b) => a + b, 0);
  return { calls: sum(s?.perMinute), errors: sum(s?.errorsPerMinute) };
}

function Attention({ stats }: { stats: Map<string, Stat> }) {
  const list = servers.value.filter((s) => ["down", "auth", "pending"].includes(s.state) || s.pending?.length);
  const failing = servers.value.filter((s) => s.state === "up" && hour(stats.get(s.name)).errors > 0 && hour(stats.get(s.name)).errors >= 0.1 * hour(stats.get(s.name)).calls);
  const starting = servers.value.filter((s) => s.state === "starting").length;
  const n = list.length + failing.length + inbox.value.length;
  const where = (s: Server) => href(["servers", s.schema, s.name], { tab: s.state !== "pending" && s.pending?.length ? "history" : undefined });
  return <section class={"card attention-card" + (n ? " due" : "")} aria-labelledby="attention-h">
    <h2 id="attention-h">{t("attention")}{n ? ` · ${n}` : ""}</h2>
    {!n && <p class="quiet"><Status tone={starting ? "busy" : servers.value.length ? "ok" : "idle"}>{starting ? t("someStarting", starting) : t(servers.value.length ? "allWell" : "noServers")}</Status></p>}
    <ul class="plain">
      {list.map((s) => <li key={s.schema + s.name}><Status tone={s.state === "up" ? "warn" : toneOf(s)}><b>{s.name}</b> — {reasonOf(s)}</Status> <a href={where(s)}>{t(s.pending?.length ? "review" : "open")}</a>
        {s.state === "auth" && may("admin") && <> <button type="button" class="link" onClick={() => void import("./servers.tsx").then((m) => m.signIn(s))}>{t("signIn")}</button></>}
        {s.state === "down" && <> <a href={href(["doctor", s.schema, s.name])}>{t("doctor")}</a></>}</li>)}
      {failing.map((s) => <li key={"f" + s.name}><Status tone="warn"><b>{s.name}</b> — {t("failing", hour(stats.get(s.name)).errors, hour(stats.get(s.name)).calls)}</Status> <a href={href(["traffic"], { q: `server:${s.name} -status:ok` })}>{t("traffic")}</a></li>)}
      {inbox.value.map((q) => <li key={"q" + q.id}><Status tone="warn">{t("waitingQuestion", t(`kind_${q.kind}`), q.server ?? "")}</Status> <a href="/ui/inbox">{t("answer")}</a></li>)}
    </ul>
  </section>;
}

function ServerTable({ list, stats }: { list: Server[]; stats: Map<string, Stat> }) {
  return <section class="card table-card" aria-label={t("servers")}>
    {list.length ? <div class="table-scroll" tabIndex={0} role="group" aria-label={t("servers")}><table class="stack">
      <thead><tr><th>{t("server")}</th><th>{t("state")}</th><th>{t("transport")}</th><th class="r">{t("tools")}</th><th class="r">{t("calls")}</th><th class="r">p95</th><th class="r">{t("errors")}</th><th>{t("lastHour")}</th><th><span class="hidden">{t("actions")}</span></th></tr></thead>
      <tbody>{list.map((s) => {
        const st = stats.get(s.name);
        return <tr key={s.schema + "/" + s.name}>
          <td class="who line"><a class="name" href={href(["servers", s.schema, s.name])}>{s.name}</a>{s.schema !== "default" && <span class="mut"> {s.schema}</span>}</td>
          <td><Status tone={toneOf(s)} state={s.state}>{stateName(s)}{s.state === "up" && s.since ? " " + age(s.since, now.value) : ""}</Status></td>
          <td class="mut" title={`${s.protocol ?? ""}${s.pid ? ` · pid ${s.pid}` : ""}`}>{s.transport}</td>
          <td class="r" data-label={t("tools")}>{s.tools}</td><td class="r" data-label={t("calls")}>{count(st?.calls ?? 0)}</td><td class="r" data-label="p95">{st?.calls ? ns(st.p95) : "–"}</td>
          <td class={"r" + (st?.errors ? " err" : "")} data-label={t("errors")}>{st?.errors ?? 0}</td>
          <td class="spark-cell"><Spark values={st?.perMinute ?? [0]} errors={st?.errorsPerMinute} label={t("callsHour") + " " + s.name} /></td>
          <td class="actions line"><a href={href(["bench", s.name])}>{t("bench")}</a> <a href={href(["servers", s.schema, s.name], { tab: "logs" })}>{t("logs")}</a></td>
        </tr>;
      })}</tbody></table></div>
      : <Empty>{t("noServers")} <a href="/ui/servers/new">{t("addServer")}</a></Empty>}
  </section>;
}

/** Failures are the last calls that went wrong. */
function Failures({ rev }: { rev: number }) {
  const { value } = useLoad(() => get<{ calls: Call[] }>("traffic?limit=10&q=" + encodeURIComponent("status:error,tool_error hop:client")), [rev]);
  const list = value?.calls ?? [];
  if (!list.length) return null;
  return <section class="card table-card" aria-labelledby="failures-h"><h2 id="failures-h">{t("recentErrors")}</h2>
    <div class="table-scroll" tabIndex={0} role="group" aria-label={t("recentErrors")}><table><tbody>{list.map((c) => <tr key={c.id}>
      <td><a href={href(["traffic", String(c.id)])}>{clock(c.start)}</a></td><td>{c.client}</td><td><b>{c.server}</b></td><td><code>{c.name ?? c.method}</code></td>
      <td><Status tone="err">{t(c.status === "tool_error" ? "call_tool_error" : "call_error")}{c.code ? " " + c.code : ""}</Status></td><td class="r">{ns(c.total)}</td></tr>)}</tbody></table></div>
  </section>;
}

function ClientsCard({ list }: { list: Client[] }) {
  return <section class="card" aria-labelledby="clients-h"><h2 id="clients-h"><a href="/ui/clients">{t("clients")}</a></h2>
    {list.length ? <ul class="plain">{list.map((c) => <li key={c.session}><Status tone="ok">{c.name || t("unnamed")} {c.version}</Status> <span class="mut">{c.protocol} · {t("callsCount", count(c.calls))}</span></li>)}</ul>
      : <p class="mut">{t("noClients")} <a href="/ui/clients">{t("connect")}</a></p>}
  </section>;
}
