import { Component } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { Call } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { bytes, clock, count, ns } from "../format.ts";
import { t, type Key } from "../i18n/index.ts";
import { useShortcuts } from "../keys.ts";
import { Empty, IconButton, Notice, Status, Waterfall, type Tone } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { VirtualList, slots } from "../parts/list.tsx";
import { go, href, query, segments, setQuery } from "../router.ts";
import { remembered } from "../state.ts";
import { Entry } from "./traffic_entry.tsx";
import { more, older, paused, problem, rows, setPaused, show } from "./traffic_store.ts";

const hops = remembered("traffic.hops", false);
const tones: Record<Call["status"], Tone> = { ok: "ok", error: "err", tool_error: "err", cancelled: "idle", pending: "busy" };
export const toneOfCall = (c: Call) => tones[c.status];
export const statusName = (c: Call) => t(("call_" + c.status) as Key) + (c.code ? " " + c.code : "");
export const failed = (c: Call) => c.status === "error" || c.status === "tool_error";

export function Traffic() {
  const q = query.value.get("q") ?? "";
  const open = Number(segments.value[1] ?? 0);
  useEffect(() => { const timer = setTimeout(() => void show(q), rows.peek().length ? 200 : 0); return () => clearTimeout(timer); }, [q]);
  useEffect(() => { commandLine.value = open ? command("traffic", "--open", String(open)) : command("traffic", ...(q ? [q] : []), "-f"); }, [q, open]);
  // Without hops a call is one row; its other entries are in its drawer.
  const shown = useMemo(() => (hops.value || q ? rows.value : rows.value.filter((c) => !c.parent && c.kind === "call")), [rows.value, hops.value, q]);
  const at = shown.findIndex((c) => c.id === open);
  const select = (i: number) => { const c = shown[i]; if (c) go(href(["traffic", String(c.id)], { q }), !!open); };
  const close = () => go(href(["traffic"], { q }));
  useShortcuts([
    { keys: "j", label: "next", run: () => select(at + 1) }, { keys: "k", label: "previous", run: () => select(Math.max(0, at - 1)) },
    { keys: "p", label: "pause", run: () => setPaused(!paused.value) }, { keys: "Escape", label: "close", run: close },
  ]);
  const suffix = q ? "?" + new URLSearchParams({ q }) : "";
  const longest = useMemo(() => shown.slice(0, 200).reduce((m, c) => Math.max(m, c.total), 1), [shown]);
  return <div class={"traffic-page" + (open ? " split" : "")}>
    <div class="bar">
      <h1 class="hidden">{t("traffic")}</h1>
      <input type="search" class="mono grow" data-filter value={q} placeholder="client:claude-code method:tools/call dur:>500ms -status:ok" aria-label={t("filter")} spellcheck={false}
        onInput={(e) => setQuery({ q: e.currentTarget.value })} />
      <IconButton icon={paused.value ? "play" : "pause"} label={t(paused.value ? "resume" : "pause")} pressed={paused.value} onClick={() => setPaused(!paused.value)} />
      <label class="check"><input type="checkbox" checked={hops.value} onChange={(e) => { hops.value = e.currentTarget.checked; }} />{t("bothHops")}</label>
      <a class="button" href={href(["tests", "new"], { q })}><Icon name="tests" />{t("makeTests")}</a>
      <a class="button" href={"/api/v1/traffic/export?q=" + encodeURIComponent(q)} download="traffic.jsonl"><Icon name="download" />{t("export")}</a>
    </div>
    {problem.value && <Notice tone="err">{problem.value}</Notice>}
    <Bars calls={shown} />
    <div class="traffic-split">
      {shown.length ? <VirtualList class="grid" role="grid" count={shown.length} height={25} label={t("traffic")} testid="traffic-rows"
        selected={at >= 0 ? at : undefined} onMove={select} onOpen={select} onEnd={() => void older()} header={<HeaderRow />}
        row={(i, style) => <CallRow key={i % slots} call={shown[i]!} style={style} on={i === at} index={i} suffix={suffix} scale={longest} />} />
        : <Empty>{q ? t("nothingMatches") : t("noTraffic")}</Empty>}
      {open > 0 && <Entry id={open} onClose={close} />}
    </div>
    <div class="bar foot mut">{t("rowsCount", count(shown.length))}{more.value ? " …" : ""}{paused.value ? " · " + t("paused") : ""}<span class="space" />
      <span class="legend"><i class="gw" />{t("gateway")} <i class="net" />{t("network")} <i class="srv" />{t("server")}</span></div>
  </div>;
}

function HeaderRow() {
  const heads: [Key, string][] = [["time", ""], ["client", ""], ["server", ""], ["method", ""], ["name", ""], ["status", ""], ["duration", "r"], ["size", "r"], ["where", ""]];
  return <div class="grid-head" role="rowgroup"><div class="grid-row" role="row">{heads.map(([k, c]) => <span role="columnheader" key={k} class={"c-" + k + " " + c}>{t(k)}</span>)}</div></div>;
}

interface RowProps { call: Call; style: Record<string, string>; on: boolean; index: number; suffix: string; scale: number }

/** CallRow renders again only when what it shows has changed: scrolling moves most rows as they are. */
class CallRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const p = this.props;
    return p.call !== next.call || p.on !== next.on || p.index !== next.index || p.suffix !== next.suffix || p.scale !== next.scale || p.style.transform !== next.style.transform;
  }
  override render({ call: c, style, on, index, suffix, scale }: RowProps) {
    return <div class={on ? "grid-row on" : "grid-row"} role="row" aria-rowindex={index + 1} aria-selected={on} style={style}>
      <span role="gridcell" class="c-time mut"><a href={`/ui/traffic/${c.id}${suffix}`} tabIndex={-1}>{clock(c.start)}</a></span>
      <span role="gridcell" class="c-client">{c.bench ? <span class="tag">{t("bench")}</span> : c.client}</span>
      <span role="gridcell" class="c-server"><b>{c.server}</b></span>
      <span role="gridcell" class="c-method mut">{c.fromServer ? "← " : ""}{c.parent && c.hop === "server" ? "↳ " : ""}{c.method}</span>
      <span role="gridcell" class="c-name"><code>{c.name}</code></span>
      <span role="gridcell" class="c-status"><Status tone={toneOfCall(c)} state={c.status}>{c.status === "ok" ? "" : statusName(c)}</Status></span>
      <span role="gridcell" class="c-duration r">{c.status === "pending" ? "…" : ns(c.total)}</span>
      <span role="gridcell" class="c-size r mut">{bytes(c.resSize)}</span>
      <span role="gridcell" class="c-where"><Waterfall total={c.total} gateway={c.gateway} transport={c.transport} server={c.serverTime} failed={failed(c)} scale={scale} /></span>
    </div>;
  }
}

/** Bars show how the newest calls are spread over time; errors in red. */
function Bars({ calls }: { calls: Call[] }) {
  const bars = useMemo(() => {
    const part = calls.slice(0, 2000);
    if (part.length < 2) return [];
    const times = part.map((c) => Date.parse(c.start));
    const from = Math.min(...times), width = Math.max(1, Math.max(...times) - from) / 160;
    const out = Array.from({ length: 161 }, () => ({ n: 0, bad: 0 }));
    part.forEach((c, i) => { const b = out[Math.floor((times[i]! - from) / width)]!; b.n++; if (failed(c)) b.bad++; });
    return out;
  }, [calls]);
  const top = bars.reduce((m, b) => Math.max(m, b.n), 1);
  return <svg class="bars" viewBox="0 0 161 40" preserveAspectRatio="none" role="img" aria-label={t("callsOverTime")}>
    {bars.map((b, i) => b.n > 0 && <rect x={i} width={0.75} y={40 - (b.n / top) * 38} height={(b.n / top) * 38} />)}
    {bars.map((b, i) => b.bad > 0 && <rect class="bad" x={i} width={0.75} y={40 - (b.bad / top) * 38} height={(b.bad / top) * 38} />)}
  </svg>;
}
