// Traffic: what failed or was slow, for which client, and where the time went.
import { Component } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Call, Step } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { bytes, clock, count, ns } from "../format.ts";
import { t, type Key } from "../i18n/index.ts";
import { useShortcuts } from "../keys.ts";
import { clients, link, servers } from "../live.ts";
import { Empty, Notice, Status, Waterfall, type Tone } from "../parts/basics.tsx";
import { Timeline, type Span } from "../parts/chart.tsx";
import { Head, Skeleton } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { VirtualList } from "../parts/list.tsx";
import { Menu } from "../parts/menu.tsx";
import { go, href, query, segments, setQuery } from "../router.ts";
import { phone, remembered, roomy } from "../state.ts";
import { ReplicaFilter, Silent, chosenReplica, useReplicaCalls } from "./replicas.tsx";
import { every } from "./replicas_card.tsx";
import { Entry } from "./traffic_entry.tsx";
import { all, calls, heldAt, hold, more, older, paused, problem, setPaused, show, version, type Row } from "./traffic_store.ts";

const hops = remembered("traffic.hops", false);
const tones: Record<Call["status"], Tone> = { ok: "ok", error: "err", tool_error: "warn", cancelled: "idle", pending: "busy" };
export const toneOfCall = (c: Call) => tones[c.status];
export const statusName = (c: Call) => t(("call_" + c.status) as Key) + (c.code ? " " + c.code : "");
export const failed = (c: Call) => c.status === "error" || c.status === "tool_error";

/** terms are the words of a filter; a quoted word may contain spaces. */
export const terms = (q: string): string[] => q.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];

/** toggled adds a term, or removes it; a field has one value at a time. */
export function toggled(q: string, term: string): string {
  const list = terms(q), field = term.split(":")[0] + ":";
  return (list.includes(term) ? list.filter((x) => x !== term) : [...list.filter((x) => !x.startsWith(field)), term]).join(" ");
}

/** brushOf returns the time range in a filter. */
function brushOf(q: string): Span | undefined {
  const at = (f: string) => Date.parse(terms(q).find((x) => x.startsWith(f))?.slice(f.length) ?? "");
  const from = at("from:"), to = at("to:");
  return from && to ? { from, to } : undefined;
}

const stamp = (ms: number) => new Date(ms).toISOString().replace(/\.\d+/, "");
const withBrush = (q: string, s: Span | undefined) => [...terms(q).filter((x) => !/^(from|to):/.test(x)), ...(s ? [`from:${stamp(s.from)}`, `to:${stamp(Math.max(s.to, s.from + 1000))}`] : [])].join(" ");

export function Traffic() {
  const q = query.value.get("q") ?? "";
  const open = Number(segments.value[1] ?? 0);
  // The two hops of a call are two rows; the filter may select the second hop.
  const both = hops.value || /\b(hop|parent|id|kind):/.test(q);
  const asked = q && !both ? q + " hop:client" : q;
  useEffect(() => { const timer = setTimeout(() => void show(asked), all.list.length ? 150 : 0); return () => clearTimeout(timer); }, [asked]);
  useEffect(() => { commandLine.value = open ? command("traffic", "--open", String(open)) : command("traffic", ...(q ? [q] : []), "-f"); }, [q, open]);
  void version.value;
  const top = useRef(true);
  const chosen = chosenReplica(), far = useReplicaCalls(chosen, both ? q : q + " hop:client kind:call", paused.value || open > 0 || !top.current);
  const from = chosen === every ? query.value.get("from") ?? "" : chosen;
  const own = both ? all : calls, rows = far ?? own;
  // Row 0 is the newest visible row; while the user reads, newer rows are held
  // back.
  const last = heldAt.value && !far ? own.find(heldAt.value + 1) : rows.list.length;
  const fresh = rows.list.length - last, size = Math.min(last, rows.size);
  const row = (i: number): Row | undefined => rows.list[last - 1 - i];
  const at = open ? last - 1 - (far ? far.find(open, from) : own.find(open)) : -1, found = at >= 0 && row(at)?.id === open ? at : -1;
  const suffix = q || chosen ? "?" + new URLSearchParams({ ...(q && { q }), ...(chosen && { replica: chosen }) }) : "";
  const suffixOf = (c: Row) => chosen === every ? suffix + "&from=" + encodeURIComponent(c.replica ?? "") : suffix;
  const select = (i: number) => { const c = row(i); if (c) go(`/ui/traffic/${c.id}${suffixOf(c)}`, !!open); };
  const close = () => go("/ui/traffic" + suffix);
  const still = () => { if (!paused.peek()) hold(!top.current || open > 0); };
  useEffect(still, [open]);
  useEffect(() => () => { if (!paused.peek()) hold(false); }, []);
  useShortcuts([
    { keys: "j", label: "next", run: () => select(found + 1) }, { keys: "k", label: "previous", run: () => select(Math.max(0, found - 1)) },
    { keys: "p", label: "pause", run: () => setPaused(!paused.value) }, { keys: "Escape", label: "close", run: close },
  ]);
  const seen = useSummary(rows.list, last), trouble = far ? far.error : problem.value;
  const release = () => { top.current = true; hold(false); document.querySelector("[data-testid=traffic-rows]")?.scrollTo(0, 0); };
  return <div class={"page traffic-page" + (open ? " with-entry" : "") + (chosen ? " of-replicas" : "")}>
    <Head title={t("traffic")} what={<Status tone={paused.value ? "idle" : link.value === "live" ? "ok" : "busy"}>{paused.value ? t("paused") : <>{t("live")}, <b>{seen.rate.toFixed(1)}</b> {t("perSecond")}</>}</Status>}>
      <ReplicaFilter />
      <button type="button" class="button" aria-pressed={paused.value} onClick={() => setPaused(!paused.value)}><Icon name={paused.value ? "play" : "pause"} />{t(paused.value ? "resume" : "pause")}</button>
      {!chosen && <a class="button" href={href(["tests", "new"], { q })}><Icon name="tests" />{t("makeTests")}</a>}
      {chosen !== every && <a class="button" href={"/api/v1/traffic/export?q=" + encodeURIComponent(asked) + (chosen && "&replica=" + encodeURIComponent(chosen))} download="traffic.jsonl"><Icon name="download" />{t("export")}</a>}
    </Head>
    <Filters q={q} both={both} seen={seen} />
    {far && <Silent list={far.replicas} />}
    {trouble && <Notice tone="err">{trouble}</Notice>}
    {seen.steps.length > 0 && <div class="hist"><Timeline start={seen.start} step={seen.step} steps={seen.steps} height={72} label={t("callsChart", "", count(size), count(seen.errors + seen.tool))} brush={brushOf(q)} onBrush={(s) => setQuery({ q: withBrush(q, s) })} /></div>}
    <div class="traffic-split">
      {size > 0 ? <VirtualList class="grid" role="grid" count={size} height={phone.value ? 56 : roomy.value ? 38 : 30} label={t("traffic")} testid="traffic-rows"
        selected={found >= 0 ? found : undefined} onMove={select} onOpen={select} onEnd={() => far ? far.older() : void older()} onTop={(is) => { top.current = is; still(); }} header={<HeaderRow />}
        row={(i, style) => { const c = row(i)!; return <CallRow key={(c.replica ?? "") + c.id} call={c} style={style} on={i === found} index={i} suffix={suffixOf(c)} scale={seen.longest} />; }} />
        : far?.loaded || !far && version.value || trouble ? <Empty><b>{t(q ? "nothingMatches" : "noCalls")}</b><span>{q ? t("tryOther") : t("noTraffic")}</span>{q ? <button type="button" class="button" onClick={() => setQuery({ q: undefined })}>{t("clearFilter")}</button> : <a class="button" href="/ui/bench">{t("openBench")}</a>}</Empty> : <div class="scroll pad"><Skeleton cards={["c12"]} rows={10} /></div>}
      {fresh > 0 && !open && <button type="button" class="button primary fresh" data-testid="fresh" onClick={() => { setPaused(false); release(); }}>{t("newRows", count(fresh))}</button>}
      {open > 0 && <Entry id={open} replica={from} onClose={close} onStep={(by) => select(Math.max(0, found + by))} />}
    </div>
    <div class="tfoot"><span data-testid="row-count"><b>{count(size)}</b> {t(both ? "messagesShown" : "callsShown", size)}</span>{(far ? far.more : more.value) && <span>{t("olderBelow")}</span>}{fresh > 0 && <span>{t("newRows", count(fresh))}</span>}<span class="space" />
      <span class="legend"><span><i class="gw" />{t("gateway")}</span><span><i class="net" />{t("network")}</span><span><i class="srv" />{t("server")}</span></span></div>
  </div>;
}

interface Summary { errors: number; tool: number; slow: number; waiting: number; rate: number; longest: number; start: number; step: number; steps: Step[]; clients: [string, number][] }

const columns = 90;

/** summarise counts the rows once. */
function summarise(list: Row[], last: number): Summary {
  const s: Summary = { errors: 0, tool: 0, slow: 0, waiting: 0, rate: 0, longest: 1, start: 0, step: 0, steps: [], clients: [] };
  if (last < 2) return s;
  const end = list[last - 1]!.at, from = Math.min(list[0]!.at, end - 1000);
  s.start = from;
  s.step = Math.max(1, (end - from + 1) / columns);
  s.steps = Array.from({ length: columns }, () => ({ ok: 0, tool: 0, err: 0 }));
  const by = new Map<string, number>();
  for (let i = 0; i < last; i++) {
    const c = list[i]!, column = s.steps[Math.max(0, Math.min(columns - 1, Math.floor((c.at - from) / s.step)))]!;
    if (c.status === "error") { s.errors++; column.err++; } else if (c.status === "tool_error") { s.tool++; column.tool++; } else column.ok++;
    if (c.status === "pending") s.waiting++;
    if (c.total >= 1e9) s.slow++;
    if (c.client) by.set(c.client, (by.get(c.client) ?? 0) + 1);
  }
  for (let i = Math.max(0, last - 200); i < last; i++) s.longest = Math.max(s.longest, list[i]!.total);
  const now = Date.now();
  let recent = list.length;
  while (recent > 0 && now - list[recent - 1]!.at < 10_000) recent--;
  s.rate = (list.length - recent) / 10;
  s.clients = [...by].sort((a, b) => b[1] - a[1]).slice(0, 3);
  return s;
}

/** useSummary counts at most once a second while calls arrive. */
function useSummary(list: Row[], last: number): Summary {
  const [beat, setBeat] = useState(0);
  const seen = useRef(-1);
  useEffect(() => { const timer = setInterval(() => { if (seen.current !== version.peek()) { seen.current = version.peek(); setBeat((n) => n + 1); } }, 1000); return () => clearInterval(timer); }, []);
  // The first rows are counted at once.
  return useMemo(() => summarise(list, last), [beat, list, last > 0, heldAt.value]);
}

function Filters({ q, both, seen }: { q: string; both: boolean; seen: Summary }) {
  const list = terms(q);
  const chip = (term: string, tone: Tone | undefined, text: string, n?: number) => <button type="button" class="filter-chip" key={term} aria-pressed={list.includes(term)} onClick={() => setQuery({ q: toggled(q, term) })}>{tone ? <Status tone={tone}>{text}</Status> : text}{n !== undefined && <span class="n">{count(n)}</span>}</button>;
  const choice = (field: string, names: string[], label: Key) => names.length > 0 && <Menu label={t(label)} class="filter-chip" text={<>{t(label)}</>} icon="down">{names.map((n) => <button type="button" key={n} onClick={() => setQuery({ q: toggled(q, `${field}:${n}`) })}>{list.includes(`${field}:${n}`) ? <Icon name="check" /> : <span class="icon" />}{n}</button>)}</Menu>;
  const known = new Map([...seen.clients.map(([n, k]): [string, number | undefined] => [n, k]), ...clients.value.filter((c) => c.name && !seen.clients.some(([n]) => n === c.name)).map((c): [string, undefined] => [c.name!, undefined])]);
  return <div class="filters">
    <div class="query"><label class="with-icon grow"><Icon name="filter" /><input type="search" class="mono" data-filter value={q} placeholder="client:cursor tool:github.* dur:>500ms status:error" aria-label={t("filter")} spellcheck={false} onInput={(e) => setQuery({ q: e.currentTarget.value })} /><kbd aria-hidden="true">/</kbd></label>
      <span class="seg" role="group" aria-label={t("hops")}><button type="button" aria-pressed={!both} onClick={() => { hops.value = false; }}>{t("clientCalls")}</button><button type="button" aria-pressed={both} onClick={() => { hops.value = true; }}>{t("bothHops")}</button></span></div>
    <div class="search-line chips-line">{chip("status:error", "err", t("errors"), seen.errors)}{chip("status:tool_error", "warn", t("toolErrors"), seen.tool)}{chip("dur:>1s", undefined, t("slowerThan"), seen.slow)}{chip("status:pending", "ask", t("waitingCalls"), seen.waiting)}
      <span class="sep" />{[...known].slice(0, 4).map(([name, n]) => chip(`client:${name}`, undefined, name === "bench" ? t("bench") : name, n))}{choice("server", servers.value.map((s) => s.name), "server")}{choice("method", ["tools/call", "tools/list", "prompts/get", "resources/read", "initialize"], "method")}</div>
  </div>;
}

function HeaderRow() {
  const heads: [Key, string][] = [["time", ""], ["client", ""], ["call", ""], ["result", ""], ["duration", "r"], ["where", ""], ["size", "r"]];
  return <div class="grid-head" role="rowgroup"><div class="grid-row" role="row">{heads.map(([k, c]) => <span role="columnheader" key={k} class={"c-" + k + " " + c}>{t(k)}</span>)}</div></div>;
}

/** outcome returns the result of a call in one line: the reason of the failure, or the text of the result. */
export const outcome = (c: Call) => failed(c) ? c.said || c.reason || statusName(c) : c.status === "pending" ? t("call_pending") : c.status === "cancelled" ? t("call_cancelled") : c.said || (c.resSize ? bytes(c.resSize) : "");

/** ownName returns the name without the server's prefix, because the server is shown before it. */
const ownName = (c: Call) => (c.name && c.server && c.name.startsWith(c.server + "__") ? c.name.slice(c.server.length + 2) : c.name || c.method);

interface RowProps { call: Row; style: Record<string, string>; on: boolean; index: number; suffix: string; scale: number }

/** CallRow renders again only if its content has changed: new rows only move the others. */
class CallRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const p = this.props;
    return p.call !== next.call || p.on !== next.on || p.index !== next.index || p.suffix !== next.suffix || p.scale !== next.scale || p.style.transform !== next.style.transform;
  }
  open = (e: MouseEvent) => { if (!(e.target as Element).closest("a") && !getSelection()?.toString()) go(`/ui/traffic/${this.props.call.id}${this.props.suffix}`); };
  override render({ call: c, style, on, index, suffix, scale }: RowProps) {
    const bad = failed(c), words = outcome(c);
    return <div class={"grid-row" + (on ? " on" : "") + (bad ? c.status === "tool_error" ? " tool" : " bad" : "")} role="row" aria-rowindex={index + 1} aria-selected={on} style={style} onClick={this.open}>
      <span role="gridcell" class="c-time mut"><a href={`/ui/traffic/${c.id}${suffix}`} tabIndex={-1}>{clock(c.start)}</a></span>
      <span role="gridcell" class="c-client mut">{c.replica && <><span class="tag">{c.replica}</span> </>}{c.bench ? <span class="tag">{t("bench")}</span> : c.client}</span>
      <span role="gridcell" class="c-call"><Status tone={toneOfCall(c)} state={c.status}><span class="hidden">{statusName(c)}</span></Status> {c.fromServer ? "← " : c.parent && c.hop === "server" ? "↳ " : ""}{c.server && <b>{c.server}</b>} <code>{ownName(c)}</code></span>
      <span role="gridcell" class="c-result" title={words.length > 40 ? words : undefined}>{words}{bad && c.code ? <span class="mut"> {c.code}</span> : null}</span>
      <span role="gridcell" class="c-duration r">{c.status === "pending" ? "–" : ns(c.total)}</span>
      <span role="gridcell" class="c-where"><Waterfall total={c.total} gateway={c.gateway} transport={c.transport} server={c.serverTime} failed={bad} scale={scale} /></span>
      <span role="gridcell" class="c-size r mut">{bytes(c.resSize)}</span>
    </div>;
  }
}
