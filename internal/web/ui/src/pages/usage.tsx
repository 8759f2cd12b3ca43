// Usage over days: who called what, how slow it was, what it cost, and what is unused.
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, type Usage, type UsageFigure, type UsageRow } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { count, day, ns, percent, short } from "../format.ts";
import { t, type Key } from "../i18n/index.ts";
import { Empty, Notice, useLoad } from "../parts/basics.tsx";
import { Bar, Fig, Legend, Timeline, Took } from "../parts/chart.tsx";
import { Head, Skeleton } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { Segments } from "../parts/switch.tsx";
import { href, query, setQuery } from "../router.ts";
import { may, remembered } from "../state.ts";

const ranges = [7, 30, 90];
const days = remembered("usage.days", 7);
const ways = ["tool", "server", "client", "key"] as const;
type By = (typeof ways)[number];
const wayName: Record<By, Key> = { tool: "tool", server: "server", client: "client", key: "accessKey" };

export const callsOf = (f: UsageFigure) => f.ok + f.tool + f.err;

/** pick are the filters of the table, named like the parameters of the URL and of the API. */
const pick = ["server", "tool", "client", "key"] as const;

export function UsagePage() {
  const d = days.value, q = query.value, by = (ways as readonly string[]).includes(q.get("by") ?? "") ? q.get("by") as By : "tool";
  const picked = pick.filter((k) => q.has(k)), narrowed = picked.map((k) => [k, q.get(k)!] as [string, string]);
  const { value, error } = useLoad(() => get<Usage>(`usage?days=${d}`), [d]);
  const { value: table } = useLoad(() => get<Usage>("usage?" + new URLSearchParams([["days", String(d)], ["by", by], ...narrowed])), [d, by, JSON.stringify(narrowed)]);
  useEffect(() => { commandLine.value = command("usage", ...(d === 7 ? [] : ["--days", String(d)]), ...(by === "tool" ? [] : ["--by", by])); }, [d, by]);
  const all = value ? callsOf(value.total) : 0;
  return <div class="page">
    <Head title={t("usage")} what={value && all > 0 && t("usageWhat", count(all), short(value.total.tokens), d)}>
      <Segments label={t("range")} value={String(d)} choices={ranges.map((r) => [String(r), t("age_d", r)])} onChange={(v) => { days.value = Number(v); }} />
    </Head>
    <div class="scroll">
      {error && <Notice tone="err">{error}</Notice>}
      {!value ? !error && <Skeleton cards={["c8", "c4", "c12"]} /> : <div class="wide">
        {!value.on && <Notice tone="info">{t("usageOff")} {may("admin") && <a class="link" href="/ui/settings?q=usage">{t("settings")}</a>}</Notice>}
        {value.unreadable && <Notice tone="warn">{t("usageUnreadable", value.unreadable.join(", "))}</Notice>}
        {all || value.total.tokens ? <div class="cols">
          <CallsByDay u={value} /><Context u={value} />
          <Table u={table} by={by} picked={narrowed} />
          <Slowest rows={value.rows} /><Unused u={value} />
        </div> : <section class="card"><Empty><b>{t("noUsage")}</b><span>{t("noUsageText")}</span>{may("admin") && <a class="button" href="/ui/clients">{t("connectAnother")}</a>}</Empty></section>}
      </div>}
    </div>
  </div>;
}

function CallsByDay({ u }: { u: Usage }) {
  const bad = u.total.tool + u.total.err, all = callsOf(u.total);
  return <section class="card flush c8" aria-labelledby="calls-h"><header><h2 id="calls-h">{t("callsByDay")}</h2><span class="end"><Legend p95 /></span></header>
    <div class="body"><dl class="figs calls-figs"><Fig name={t("calls")}>{count(all)}</Fig><Fig name={t("failedShare")} note={bad ? t("callsCount", count(bad)) : undefined} tone="up">{all ? percent(bad, all) : "–"}</Fig><Fig name="p50"><Took ns={u.total.p50} /></Fig><Fig name="p95"><Took ns={u.total.p95} /></Fig></dl>
      <Timeline start={Date.parse(u.days[0]!.day + "T00:00")} step={86_400_000} steps={u.days} height={184} line label={t("usageChart", u.days.length, count(all), count(bad))} /></div>
  </section>;
}

/** Context shows what went through the context of models, and by which tools. */
function Context({ u }: { u: Usage }) {
  const top = [...u.rows].sort((a, b) => b.tokens - a.tokens).filter((r) => r.tokens > 0).slice(0, 6), calls = u.total.tokens - u.total.definitions;
  const most = Math.max(1, u.total.definitions, ...top.map((r) => r.tokens));
  return <section class="card flush c4" aria-labelledby="context-h"><header><h2 id="context-h">{t("contextUsed")}</h2><span class="end">{t("estimate")}</span></header>
    <div class="body"><span class="big">{short(u.total.tokens)}</span> <span class="mut">{t("tokensEach")}</span><p class="mut">{t("contextParts", short(calls), short(u.total.definitions))}</p></div>
    <ul class="plain slow tokens-of">{top.map((r) => <li key={nameOf(u, "tool", r)}><span class="cut"><Name u={u} by="tool" r={r} /></span><Bar part={r.tokens / most} /><b class="r num">{short(r.tokens)}</b></li>)}</ul>
  </section>;
}

type Column = "calls" | "failed" | "p50" | "p95" | "tokens" | "last";
const columns: { id: Column; title: Key | "p50" | "p95"; of: (r: UsageRow) => number | string; class?: string }[] = [
  { id: "calls", title: "calls", of: callsOf }, { id: "failed", title: "failedShare", of: (r) => (r.tool + r.err) / Math.max(1, callsOf(r)) }, { id: "p50", title: "p50", of: (r) => r.p50, class: "hide-m" },
  { id: "p95", title: "p95", of: (r) => r.p95 }, { id: "tokens", title: "tokens", of: (r) => r.tokens, class: "hide-m" }, { id: "last", title: "lastCall", of: (r) => r.last, class: "hide-m" },
];

/** shownRows is the number of rows before the user asks for all. */
const shownRows = 50;

function Table({ u, by, picked }: { u?: Usage; by: By; picked: [string, string][] }) {
  const [sort, setSort] = useState<Column>("calls");
  const [whole, setWhole] = useState(false);
  const rows = useMemo(() => { const of = columns.find((c) => c.id === sort)!.of; return [...(u?.rows ?? [])].sort((a, b) => { const [x, y] = [of(a), of(b)]; return x < y ? 1 : x > y ? -1 : 0; }); }, [u, sort]);
  const most = Math.max(1, ...rows.map(callsOf)), list = whole ? rows : rows.slice(0, shownRows);
  return <section class="card flush c12" aria-labelledby="who-h"><header><h2 id="who-h">{t("whoCalledWhat")}</h2>
    {picked.map(([k, v]) => <button type="button" class="filter-chip" aria-pressed="true" key={k} title={t("clearFilter")} onClick={() => setQuery({ [k]: undefined })}>{t(wayName[k as By])} {v || t("gatewayItself")} <Icon name="close" /></button>)}
    <span class="end"><Segments label={t("sumUpBy")} value={by} choices={ways.map((w) => [w, t(wayName[w])])} onChange={(v) => setQuery({ by: v === "tool" ? undefined : v })} /></span></header>
    <div class="table-scroll" tabIndex={0} role="group" aria-label={t("whoCalledWhat")}><table class="fixed by" data-testid="usage-rows"><colgroup><col />{columns.map((c) => <col key={c.id} class={(c.id === "calls" ? "w120 " : "w90 ") + (c.class ?? "")} />)}</colgroup>
      <thead><tr><th>{t(wayName[by])}</th>{columns.map((c) => <th key={c.id} class={"r " + (c.class ?? "")} aria-sort={sort === c.id ? "descending" : undefined}><button type="button" class="sort" onClick={() => setSort(c.id)}>{c.title === "p50" || c.title === "p95" ? c.title : t(c.title)}{sort === c.id && <Icon name="down" />}</button></th>)}</tr></thead>
      <tbody>{list.map((r) => <Row key={nameOf(u!, by, r) + (r.kind ?? "")} u={u!} by={by} r={r} most={most} />)}</tbody></table></div>
    {u && !rows.length && <Empty>{t("nothingMatches")}</Empty>}
    {rows.length > list.length && <footer><button type="button" class="link" onClick={() => setWhole(true)}>{t("showAllN", count(rows.length))}</button></footer>}
  </section>;
}

function Row({ u, by, r, most }: { u: Usage; by: By; r: UsageRow; most: number }) {
  // A tool or server links to its callers, a client or key to what it called.
  const narrow = by === "tool" ? { server: r.server ?? "", tool: r.name ?? "", by: "client" } : by === "server" ? { server: r.server ?? "", by: undefined } : by === "client" ? { client: r.client ?? "", by: undefined } : { key: r.principal ?? "", by: undefined };
  const open = () => setQuery(narrow), n = callsOf(r), bad = r.tool + r.err;
  return <tr class="open-row" onClick={open}><td title={nameOf(u, by, r)}><button type="button" class="plain-button cut" onClick={(e) => { e.stopPropagation(); open(); }}><Name u={u} by={by} r={r} /></button></td>
    <td class="r calls-cell"><Bar part={n / most} />{count(n)}</td><td class={"r " + (bad > 0.01 * n ? "err" : "mut")}>{n ? percent(bad, n) : "–"}</td><td class="r hide-m">{ns(r.p50)}</td><td class="r">{ns(r.p95)}</td><td class="r hide-m">{short(r.tokens)}</td><td class="r mut hide-m">{day(Date.parse(r.last + "T00:00"))}</td></tr>;
}

/** nameOf returns the name of a row, as plain text. */
function nameOf(u: Usage, by: By, r: UsageRow): string {
  if (by === "client") return r.client || t("unnamed");
  if (by === "key") return u.names?.[r.principal ?? ""] || r.principal || "–";
  return (r.server || t("gatewayItself")) + (by === "tool" ? " " + (r.kind === "resource" ? t("resources") : r.name ?? "") : "");
}

function Name({ u, by, r }: { u: Usage; by: By; r: UsageRow }) {
  if (by !== "tool") return <b class="name">{nameOf(u, by, r)}</b>;
  return <><b class="name">{r.server || t("gatewayItself")}</b> {r.kind === "resource" ? <span class="mut">{t("resources")}</span> : <code>{r.name}</code>}{r.kind === "prompt" && <span class="mut"> {t("prompt")}</span>}</>;
}

function Slowest({ rows }: { rows: UsageRow[] }) {
  const list = [...rows].filter((r) => callsOf(r) > 0 && r.kind === "tool").sort((a, b) => b.p95 - a.p95).slice(0, 8), most = list[0]?.p95 || 1;
  return <section class="card flush c6" aria-labelledby="slow-h"><header><h2 id="slow-h">{t("slowest")}</h2><span class="end">p95</span></header>
    <ul class="plain slow">{list.map((r) => <li key={(r.server ?? "") + r.name}><a class="cut plain-link" href={href(["traffic"], { q: `tool:${r.server ?? ""}.${r.name} hop:server` })}><b>{r.server || t("gatewayItself")}</b> <code>{r.name}</code></a><span class="mut r">{t("callsCount", count(callsOf(r)))}</span><Bar part={r.p95 / most} /><b class="r num">{ns(r.p95)}</b></li>)}
      {!list.length && <li class="mut none">{t("noCalls")}</li>}</ul>
  </section>;
}

/** Unused shows the tools that were not called, with a way to turn them off. */
function Unused({ u }: { u: Usage }) {
  const list = u.unused ?? [], tokens = list.reduce((n, x) => n + x.tokens, 0), most = list[0]?.tokens || 1;
  return <section class="card flush c6" aria-labelledby="unused-h" data-testid="unused"><header><h2 id="unused-h">{t("only_unused")}</h2>{list.length > 0 && <span class="count">{count(list.length)}</span>}<span class="end">{t("tokensPerConversation")}</span></header>
    <ul class="plain slow tokens-of">{list.slice(0, 8).map((x) => <li key={x.schema + x.server + x.name}><a class="cut plain-link" href={href(["bench", x.server, "tools", x.name])}><b>{x.server}</b> <code>{x.name}</code></a><Bar part={x.tokens / most} /><b class="r num">{count(x.tokens)}</b></li>)}
      {!list.length && <li class="mut none">{t(!u.on ? "usageOff" : u.unused ? "allCalled" : "unusedNeedsAdmin")}</li>}</ul>
    {list.length > 0 && <footer><Icon name="bell" /><span class="cut">{t("unusedHint", short(tokens))}</span><span class="space" /><a class="link" href={href(["catalog"], { only: "unused", days: String(u.days.length) })}>{t("trim")}</a></footer>}
  </section>;
}
