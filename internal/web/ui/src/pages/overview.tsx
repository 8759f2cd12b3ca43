// Overall health: what is wrong, since when, and what to do about it.
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, type Call, type CatalogPage, type Client, type Overview as Data, type Past, type Server, type Stat } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { age, count, hm, ns, percent } from "../format.ts";
import { t } from "../i18n/index.ts";
import { clients, inbox, loaded, on, servers } from "../live.ts";
import { Notice, Status, now, useLoad } from "../parts/basics.tsx";
import { Bar, Fig, Legend, Sparkline, Strip, Timeline, Took, type Span } from "../parts/chart.tsx";
import { Head, Skeleton } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, href } from "../router.ts";
import { may, remembered } from "../state.ts";
import { isQuiet, seen, seenText } from "./client_seen.ts";
import { ReplicasCard } from "./replicas_card.tsx";
import { isOff, needy, reasonOf, stateName, toneOf, upOf } from "./server_state.ts";
import { FirstRun, useDemo } from "./first_run.tsx";
import { ContextCost, useCatalog } from "./overview_cost.tsx";

const ranges = [15, 60, 360, 1440];
const minutes = remembered("overview.range", 60);
export const rangeName = (m: number) => (m < 60 ? t("age_min", m) : t("age_h", m / 60));
const lastOf = (m: number) => (m === 60 ? t("lastHour") : t("last", rangeName(m)));

/** useWhileBusy reloads while calls arrive, at most every two seconds. */
function useWhileBusy(reload: () => void): void {
  useEffect(() => {
    let timer = 0;
    const stop = on("traffic", () => { timer ||= window.setTimeout(() => { timer = 0; reload(); }, 2000); });
    return () => { stop(); clearTimeout(timer); };
  }, []);
}

const failedQuery = (m: number) => `status:error,tool_error hop:client bench:no since:${m}m`;

export function Overview() {
  const m = minutes.value;
  const { value, error, reload } = useLoad(() => get<Data>("overview"), []);
  const { value: past, reload: again } = useLoad(() => get<Past>(`history?minutes=${m}`), [m, Math.floor(now.value / 30_000)]);
  const { value: failures, reload: third } = useLoad(() => get<{ calls: Call[] }>("traffic?limit=1000&q=" + encodeURIComponent(failedQuery(m))), [m]);
  useWhileBusy(() => { reload(); again(); third(); });
  useEffect(() => { commandLine.value = command("status"); }, []);
  const stats = useMemo(() => new Map((value?.stats ?? []).filter((s) => !s.name).map((s) => [s.server, s])), [value]);
  const demo = useDemo(), page = useCatalog();
  const tools = servers.value.reduce((n, s) => n + s.tools, 0);
  const first = loaded.value && (!servers.value.length || demo);
  return <div class="page">
    <Head title={t("overview")} what={loaded.value && !first && <>{upOf(servers.value)} · {t("clientsN", clients.value.length)} · {t("anyNumber", count(tools))}</>}>
      {!first && <span class="seg hide-m" role="group" aria-label={t("range")}>{ranges.map((r) => <button type="button" key={r} aria-pressed={r === m} onClick={() => { minutes.value = r; }}>{rangeName(r)}</button>)}</span>}
      {may("admin") && <a class={first ? "button" : "button primary"} href="/ui/servers/new"><Icon name="plus" />{t("addServer")}</a>}
    </Head>
    <div class="scroll">
      {error && <Notice tone="err">{error}</Notice>}
      {!loaded.value || !value ? !error && <Skeleton /> : <div class="wide">
        {first && <FirstRun demo={demo} />}
        {(!first || !!(value.stats.length)) && <div class="cols">
          <div class="c8 main-col"><CallsCard past={past} minutes={m} failures={failures?.calls ?? []} /><ServerTable stats={stats} past={past} /><ReplicasCard /></div>
          <div class="c4 side-col"><Attention stats={stats} page={page} /><ContextCost stats={value.stats} page={page} /><ClientsCard list={clients.value} /></div>
          <Reasons list={failures?.calls ?? []} minutes={m} />
          <Slowest stats={value.stats} />
        </div>}
      </div>}
    </div>
  </div>;
}

const signed = (n: number, unit: string) => (n > 0 ? "+" : n < 0 ? "−" : "±") + count(Math.abs(n)) + unit;

function CallsCard({ past, minutes: m, failures }: { past?: Past; minutes: number; failures: Call[] }) {
  const [brush, setBrush] = useState<Span>();
  const steps = past?.steps ?? [];
  const total = past?.total ?? { ok: 0, tool: 0, err: 0 }, bad = total.tool + total.err, all = bad + total.ok;
  const was = past?.before, wasBad = was ? was.tool + was.err : 0, wasAll = was ? wasBad + was.ok : 0;
  const more = wasAll ? signed(Math.round((all / wasAll - 1) * 100), "%") : "";
  const worse = all && wasAll ? Math.round((bad / all - wasBad / wasAll) * 1000) / 10 : 0;
  return <section class="card flush" aria-labelledby="calls-h">
    <header><h2 id="calls-h">{t("calls")}</h2><span class="end"><Legend p95 /></span></header>
    <div class="body"><dl class="figs calls-figs">
      <Fig name={lastOf(m)} note={more && t("againstBefore", more, rangeName(m))}>{count(all)}</Fig><Fig name={t("failedShare")} note={worse ? t("points", signed(worse, "")) : bad ? t("callsCount", count(bad)) : undefined} tone={worse < 0 ? undefined : "up"}>{all ? percent(bad, all) : "–"}</Fig>
      <Fig name="p50"><Took ns={total.p50} /></Fig><Fig name="p95"><Took ns={total.p95} /></Fig></dl>
      {past ? <Timeline start={Date.parse(past.start)} step={past.step / 1e6} steps={steps} height={184} line label={t("callsChart", rangeName(m), count(all), count(bad))} brush={brush} onBrush={setBrush} /> : <div class="plot" style={{ height: "204px" }} />}
    </div>
    {brush && <Selected brush={brush} past={past!} failures={failures} onClose={() => setBrush(undefined)} />}
  </section>;
}

/** between returns the filter for a selected time. */
export const between = (s: Span) => `from:${new Date(s.from).toISOString().replace(/\.\d+/, "")} to:${new Date(s.to).toISOString().replace(/\.\d+/, "")}`;

/** Selected summarizes the selected time, and links to its calls. */
function Selected({ brush, past, failures, onClose }: { brush: Span; past: Past; failures: Call[]; onClose: () => void }) {
  const start = Date.parse(past.start), step = past.step / 1e6;
  const inside = past.steps.filter((_, i) => start + i * step >= brush.from && start + i * step < brush.to);
  const calls = inside.reduce((n, s) => n + s.ok + s.tool + s.err, 0), bad = inside.reduce((n, s) => n + s.tool + s.err, 0);
  const top = grouped(failures.filter((c) => Date.parse(c.start) >= brush.from && Date.parse(c.start) < brush.to))[0];
  return <footer data-testid="selected">{bad ? <span><b class="err">{t("failuresN", count(bad))}</b> {t("inSelected", t("callsCount", count(calls)))}{top && <> · {t("mostly")} <b>{top.words}</b>{top.server && ` (${top.server})`}</>}</span> : <span>{t("callsCount", count(calls))}, {hm(brush.from)} – {hm(brush.to)}</span>}
    <span class="space" /><a class="link" href={href(["traffic"], { q: `hop:client ${between(brush)}` })}>{t("showCalls")}</a>
    <button type="button" class="icon-button" aria-label={t("close")} onClick={onClose}><Icon name="close" /></button></footer>;
}

/** wordsOf returns why a call failed. */
export const wordsOf = (c: Call) => c.said || c.reason || (c.code ? `${t("call_error")} ${c.code}` : t("call_error"));

interface Group { words: string; server: string; code?: number; tool: boolean; n: number }

/** grouped counts the failures of calls by their message. Requests of servers are no calls: a client refuses a question of a call that it has cancelled. */
function grouped(list: Call[]): Group[] {
  const by = new Map<string, Group>();
  for (const c of list) {
    if (c.fromServer) continue;
    const words = wordsOf(c), key = words + "\n" + c.server;
    const g = by.get(key);
    if (g) g.n++;
    else by.set(key, { words, server: c.server ?? "", code: c.code, tool: c.status === "tool_error", n: 1 });
  }
  return [...by.values()].sort((a, b) => b.n - a.n);
}

/** hour sums the calls and errors of the last hour. */
function hour(s: Stat | undefined): { calls: number; errors: number } {
  const sum = (list?: number[]) => (list ?? []).reduce((a, b) => a + b, 0);
  return { calls: sum(s?.perMinute), errors: sum(s?.errorsPerMinute) };
}

/** crowded returns the limits of connected clients that get more tools than they take. */
const crowded = (page: CatalogPage | undefined) => (page?.fits ?? []).filter((f) => f.maxTools && f.tools > f.maxTools && clients.value.some((c) => plainName(c.name ?? "").includes(plainName(f.client))));
const plainName = (s: string) => s.toLowerCase().replace("visual studio", "vs").replace(/[^a-z]/g, "");

function Attention({ stats, page: catalog }: { stats: Map<string, Stat>; page?: CatalogPage }) {
  const list = servers.value.filter(needy);
  const failing = servers.value.filter((s) => s.state === "up" && !needy(s) && hour(stats.get(s.name)).errors > 0 && hour(stats.get(s.name)).errors >= 0.1 * hour(stats.get(s.name)).calls);
  const starting = servers.value.filter((s) => s.state === "starting").length;
  const full = crowded(catalog), n = list.length + failing.length + full.length + inbox.value.length;
  const page = (s: Server, tab?: string) => href(["servers", s.schema, s.name], { tab });
  return <section class="card flush attention-card" aria-labelledby="attention-h">
    <header><h2 id="attention-h">{t("attention")}</h2>{n > 0 && <span class="count warn">{n}</span>}</header>
    <ul class="plain att">
      {list.map((s) => <li key={s.schema + s.name}><Status tone={s.state === "up" ? "warn" : toneOf(s)}><b>{s.name}</b></Status><span class="cut words" title={reasonOf(s)}>{reasonOf(s)}</span>
        {s.state === "auth" && may("admin") ? <button type="button" class="button small" onClick={() => void import("./servers.tsx").then((m) => m.signIn(s))}>{t("signIn")}</button>
          : s.pending?.length ? <a class="button small" href={page(s, s.state === "pending" ? undefined : "history")}>{t("review")}</a>
            : <a class="button small" href={href(["doctor", s.schema, s.name])}>{t("doctor")}</a>}</li>)}
      {failing.map((s) => <li key={"f" + s.name}><Status tone="warn"><b>{s.name}</b></Status><span class="cut words">{t("failing", count(hour(stats.get(s.name)).errors), count(hour(stats.get(s.name)).calls))}</span><a class="button small" href={href(["traffic"], { q: `server:${s.name} status:error,tool_error` })}>{t("calls")}</a></li>)}
      {full.map((f) => <li key={"c" + f.client}><Status tone="warn"><b>{f.client}</b></Status><span class="cut words">{t("tooManyTools", count(f.tools), f.maxTools!)}</span><a class="button small" href="/ui/catalog">{t("trim")}</a></li>)}
      {inbox.value.map((q) => <li key={"q" + q.id}><Status tone="ask"><b>{q.server}</b></Status><span class="cut words">{q.params?.message ?? t("waitingQuestion", t(`kind_${q.kind}`), q.server ?? "")}</span><a class="button small" href={href(["inbox", q.id])}>{t("answer")}</a></li>)}
      {!n && <li><Status tone={starting ? "busy" : servers.value.length ? "ok" : "idle"}>{starting ? t("someStarting", starting) : t(servers.value.length ? "allWell" : "noServers")}</Status></li>}
    </ul>
    <footer><span>{n > 0 && servers.value.length > list.length + failing.length ? t("othersWell", servers.value.length - list.length - failing.length) : ""}</span><span class="space" />{may("admin") && <a class="link" href="/ui/doctor">{t("runDoctor")}</a>}</footer>
  </section>;
}

const shownServers = 11;

function ServerTable({ stats, past }: { stats: Map<string, Stat>; past?: Past }) {
  const calls = (s: Server) => hour(stats.get(s.name)).calls;
  const list = [...servers.value].sort((a, b) => Number(needy(b)) - Number(needy(a)) || Number(isOff(a)) - Number(isOff(b)) || calls(b) - calls(a));
  const uptime = new Map((past?.uptime ?? []).map((u) => [u.schema + "/" + u.name, u]));
  return <section class="card flush table-card" aria-labelledby="servers-h">
    <header><h2 id="servers-h">{t("servers")}</h2><span class="count">{list.length}</span><span class="end hide-m">{t("failuresFirst")}</span></header>
    <table class="fixed sv"><colgroup><col /><col class="w130" /><col class="w120" /><col class="w60" /><col class="w90" /><col class="w60" /><col class="w70" /><col class="w60" /></colgroup>
      <thead><tr><th>{t("server")}</th><th>{t("state")}</th><th>{t("availability")}</th><td class="th" /><td class="th" /><th class="r">{t("callsHour")}</th><th class="r">p95</th><th class="r">{t("failedShare")}</th></tr></thead>
      <tbody>{list.slice(0, shownServers).map((s) => {
        const h = hour(stats.get(s.name)), u = uptime.get(s.schema + "/" + s.name), open = href(["servers", s.schema, s.name]);
        return <tr key={s.schema + "/" + s.name} class="open-row" onClick={() => go(open)}>
          <td title={s.name}><Status tone={needy(s) && s.state === "up" ? "warn" : toneOf(s)} state={s.state}><a class="name cut" href={open}>{s.name}</a></Status></td>
          <td class={needy(s) ? toneOf(s) === "ok" ? "warn" : toneOf(s) : "mut"} title={reasonOf(s)}>{needy(s) && s.state === "up" ? t("changedTools", s.pending!.length) : stateName(s)}{s.state === "up" && !needy(s) && s.since ? " " + age(s.since, now.value) : ""}</td>
          <td>{u && <Strip strip={u.strip} label={`${s.name} ${t("availability")} ${u.share === undefined ? "–" : percent(u.share, 1)}`} />}</td><td class="mut">{u?.share === undefined ? "–" : percent(u.share, 1)}</td>
          <td>{h.calls > 0 && <Sparkline values={stats.get(s.name)?.perMinute ?? []} label={`${s.name} ${t("callsHour")}`} />}</td><td class="r">{h.calls ? count(h.calls) : "–"}</td>
          <td class="r">{h.calls ? ns(stats.get(s.name)!.p95) : "–"}</td><td class={"r " + (h.errors > 0.01 * h.calls ? "err" : "mut")}>{h.calls ? percent(h.errors, h.calls) : "–"}</td>
        </tr>;
      })}</tbody></table>
    {list.length > shownServers && <footer><a class="link" href="/ui/servers">{t("allServers", list.length)}</a></footer>}
  </section>;
}

function ClientsCard({ list }: { list: Client[] }) {
  const sorted = [...list].sort((a, b) => seen(b) - seen(a)).slice(0, 6);
  return <section class="card flush" aria-labelledby="clients-h"><header><h2 id="clients-h">{t("clientsTitle")}</h2><span class="count">{list.length}</span><span class="end"><a class="link" href="/ui/clients">{t("connect")}</a></span></header>
    <ul class="plain cl">{sorted.map((c) => <li key={c.session} data-testid={"seen-" + c.name}><Status tone={isQuiet(c) ? "idle" : "ok"} state={isQuiet(c) ? "quiet" : "here"}><b>{c.name || t("unnamed")}</b></Status><span class="mut cut grow">{c.version}</span><span class="num">{count(c.calls)}</span><span class="mut age">{seenText(c)}</span></li>)}
      {!list.length && <li class="mut">{t("noClients")}</li>}</ul>
  </section>;
}

function Reasons({ list, minutes: m }: { list: Call[]; minutes: number }) {
  const groups = grouped(list).slice(0, 5), most = groups[0]?.n ?? 1;
  return <section class="card flush c6" aria-labelledby="reasons-h"><header><h2 id="reasons-h">{t("topReasons")}</h2><span class="end">{lastOf(m)}</span></header>
    <ul class="plain reasons">{groups.map((g) => <li key={g.words + g.server}><Status tone={g.tool ? "warn" : "err"} /><a class="cut plain-link" title={g.words} href={href(["traffic"], { q: `${g.server && `server:${g.server} `}status:error,tool_error since:${m}m hop:client` })}>{g.words}</a>
      <span class="mut cut">{g.server && g.server + " · "}{g.tool ? t("call_tool_error") : g.code ?? t("call_error")}</span><Bar part={g.n / most} tone={g.tool ? "t" : "e"} /><b class="r num">{count(g.n)}</b></li>)}
      {!groups.length && <li class="none"><span /><Status tone="ok">{t("noFailures")}</Status></li>}</ul>
  </section>;
}

function Slowest({ stats }: { stats: Stat[] }) {
  const list = stats.filter((s) => s.name && s.server && s.calls).sort((a, b) => b.p95 - a.p95).slice(0, 5), most = list[0]?.p95 ?? 1;
  return <section class="card flush c6" aria-labelledby="slow-h"><header><h2 id="slow-h">{t("slowest")}</h2><span class="end">p95</span></header>
    <ul class="plain slow">{list.map((s) => <li key={s.server + s.name}><a class="cut plain-link" href={href(["traffic"], { q: `tool:${s.server}.${s.name} hop:server` })}><b>{s.server}</b> <code>{s.name}</code></a><span class="mut r">{t("callsCount", count(s.calls))}</span><Bar part={s.p95 / most} /><b class="r num">{ns(s.p95)}</b></li>)}
      {!list.length && <li class="mut none">{t("noCalls")}</li>}</ul>
  </section>;
}
