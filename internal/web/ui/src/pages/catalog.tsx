// What clients see, what it costs, and what can be turned off.
import { useEffect, useMemo, useState } from "preact/hooks";
import { change, get, path, type CatalogPage, type CatalogRow, type Overview, type Stat } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { count, short, sinceDay } from "../format.ts";
import { t, type Key } from "../i18n/index.ts";
import { clients, servers } from "../live.ts";
import { Empty, IconButton, Notice, Status, errorText, toast, useLoad, type Tone } from "../parts/basics.tsx";
import { Bar } from "../parts/chart.tsx";
import { Head, Skeleton } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { VirtualList } from "../parts/list.tsx";
import { Segments, Switch } from "../parts/switch.tsx";
import { href, query, setQuery } from "../router.ts";
import { may, roomy } from "../state.ts";
import { Effect } from "../bench/list.tsx";
import { CostCards } from "./catalog_cost.tsx";
import { useCalled, usualDays, type Called } from "./overview_cost.tsx";
import { ToolSwitch } from "./server_status.tsx";

const effects: Record<string, object> = { r: { readOnlyHint: true }, d: { destructiveHint: true }, w: {} };
export const keyOf = (r: CatalogRow) => r.server + "\n" + r.kind + "\n" + r.own;

/** onlys are the filters of the chips. */
const onlys: Record<string, (r: CatalogRow, unused: Set<string>) => boolean> = {
  unused: (r, unused) => unused.has(keyOf(r)), off: (r) => !r.on, destructive: (r) => r.effect === "d", look: (r) => (r.issues ?? []).some((i) => i.code !== "same" || r.listed === r.own),
};

const none: Stat[] = [];

export function Catalog() {
  const schema = query.value.get("schema") ?? "", as = query.value.get("as") ?? "", filter = query.value.get("q") ?? "", only = query.value.get("only") ?? "";
  const { value, error, reload } = useLoad(() => get<CatalogPage>("catalog?" + new URLSearchParams({ schema, as })), [schema, as, servers.value]);
  const { value: data } = useLoad(() => get<Overview>("overview"), [value]);
  useEffect(() => { commandLine.value = as ? command("cost", "--json") : command("cost"); }, [as]);
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const called = useCalled(data?.stats ?? none, Number(query.value.get("days")) || usualDays, [value]);
  const by = (query.value.get("by") ?? "server") as By;
  const unused = useMemo(() => new Set(value ? called.unused(value).map(keyOf) : []), [value, called]);
  const shown = useMemo(() => (value?.rows ?? []).filter((r) => matches(r, filter) && (onlys[only]?.(r, unused) ?? true)), [value, filter, only, unused]);
  const tools = (value?.rows ?? []).filter((r) => r.kind === "tool" && r.on).length;
  const many = new Set((value?.rows ?? []).map((r) => r.server)).size;
  const chip = (id: string, tone?: Tone) => <button type="button" class="filter-chip" key={id} aria-pressed={only === id} onClick={() => setQuery({ only: only === id ? undefined : id })}>{tone ? <Status tone={tone}>{t(("only_" + id) as Key)}</Status> : t(("only_" + id) as Key)}<span class="n">{count((value?.rows ?? []).filter((r) => onlys[id]!(r, unused)).length)}</span></button>;
  return <div class="page catalog-page">
    <Head title={t("catalog")} what={value && t("whatClientsSee", t("anyNumber", tools), t("serversN", many))}>
      {(value?.schemas.length ?? 0) > 1 && <label class="check">{t("schema")} <select value={value!.schema} onChange={(e) => setQuery({ schema: e.currentTarget.value, as: undefined })}>{value!.schemas.map((s) => <option key={s}>{s}</option>)}</select></label>}
      <label class="check hide-m"><span class="mut">{t("throughEyes")}</span> <select data-testid="lens" value={as} onChange={(e) => setQuery({ as: e.currentTarget.value || undefined })}>
        <option value="">{t("anyClient")}</option>{clients.value.map((c) => <option key={c.session} value={c.session}>{c.name || t("unnamed")} {c.version} · {c.session}</option>)}</select></label>
    </Head>
    {error && <Notice tone="err">{error}</Notice>}
    {!value && !error && <div class="scroll"><Skeleton cards={["c8", "c4", "c12"]} /></div>}
    {value && <div class="catalog-body"><CostCards page={value} unused={unused} since={called.known ? called.since : ""} onSelect={() => { setQuery({ only: "unused" }); setChosen(new Set(unused)); }} />
      <section class="card flush catalog-table" aria-label={t("tools")}>
        <div class="search-line"><label class="with-icon"><Icon name="search" /><input type="search" data-filter value={filter} placeholder={t("filterTools", count(value.rows.length))} aria-label={t("filter")} onInput={(e) => setQuery({ q: e.currentTarget.value })} /><kbd aria-hidden="true">/</kbd></label>
          {called.known && chip("unused")}{chip("off")}{chip("destructive")}{chip("look", "warn")}<span class="space" /><span class="row hide-m"><span class="mut nowrap">{t("groupBy")}</span><Segments label={t("groupBy")} value={by} choices={ways.map((w) => [w, t(`by_${w}`)])} onChange={(v) => setQuery({ by: v === "server" ? undefined : v })} /></span><span class="mut nowrap" data-testid="matching">{filter || only ? t("nOf", count(shown.length), count(value.rows.length)) : t("shownOf", count(value.rows.filter((r) => r.on).length), count(value.rows.length))}</span></div>
        {shown.length ? <Table page={value} rows={shown} by={by} called={called} unused={unused} chosen={chosen} onChoose={setChosen} onChanged={reload} open={!!filter || !!only} />
          : <Empty><b>{t(value.rows.length ? "nothingMatches" : "catalogEmpty")}</b>{value.rows.length ? <button type="button" class="button" onClick={() => setQuery({ q: undefined, only: undefined })}>{t("clearFilter")}</button> : null}</Empty>}
      </section></div>}
    {value && chosen.size > 0 && <Bulk page={value} chosen={chosen} onDone={() => { setChosen(new Set()); reload(); }} />}
  </div>;
}

function matches(r: CatalogRow, filter: string): boolean {
  const text = `${r.server} ${r.own} ${r.listed ?? ""} ${r.description ?? ""} ${r.on ? "on" : "off"} ${(r.issues ?? []).map((i) => i.code).join(" ")}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** ways are how the rows are grouped. */
const ways = ["server", "cost", "none"] as const;
type By = (typeof ways)[number];

/** tiers are the lowest costs of the groups by cost, in tokens. */
const tiers = [500, 100, 0];
const tierOf = (r: CatalogRow) => tiers.find((n) => r.cost.tokens >= n)!;
const tierName = (n: number) => { const above = tiers[tiers.indexOf(n) - 1]; return above ? t("tokensFromTo", n, above - 1) : t("tokensFrom", n); };

interface Group { id: string; title: string; rows: CatalogRow[]; tokens: number; calls: number; on: number; unused: number }
type Line = { group: Group } | { row: CatalogRow };
interface TableProps { page: CatalogPage; rows: CatalogRow[]; by: By; called: Called; unused: Set<string>; chosen: Set<string>; onChoose: (s: Set<string>) => void; onChanged: () => void; open: boolean }

/** few is the number of rows up to which all groups are open. */
const few = 60;

function Table(p: TableProps) {
  const [flipped, setFlipped] = useState<Set<string>>(new Set());
  const groups = useMemo(() => (p.by === "none" ? [] : grouped(p.rows, p.by, p.called.calls, p.unused)), [p.rows, p.by, p.called, p.unused]);
  const flat = useMemo(() => byCost(p.rows), [p.rows]);
  const open = p.open || p.rows.length <= few;
  const lines: Line[] = p.by === "none" ? flat.map((row) => ({ row })) : groups.flatMap((g): Line[] => [{ group: g }, ...(open !== flipped.has(g.id) ? g.rows.map((row) => ({ row })) : [])]);
  const most = Math.max(1, ...groups.map((g) => g.tokens)), mostRow = Math.max(1, ...p.rows.map((r) => r.cost.tokens));
  const flip = (id: string) => { const next = new Set(flipped); if (!next.delete(id)) next.add(id); setFlipped(next); };
  const choose = (rows: CatalogRow[], on: boolean) => { const next = new Set(p.chosen); for (const r of rows) if (on) next.add(keyOf(r)); else next.delete(keyOf(r)); p.onChoose(next); };
  const lens = p.page.lens && new Set(p.page.lens.listed);
  return <VirtualList class="grid catalog-grid" role="grid" count={lines.length} height={roomy.value ? 42 : 34} label={t("catalog")} testid="catalog-rows" header={<TableHead lens={!!lens} />}
    row={(i, style) => {
      const line = lines[i]!;
      return "group" in line ? <GroupRow key={"g " + line.group.id} g={line.group} style={style} index={i} open={open !== flipped.has(line.group.id)} part={line.group.tokens / most} chosen={p.chosen} onFlip={() => flip(line.group.id)} onChoose={choose} schema={p.page.schema} onChanged={p.onChanged} />
        : <ToolRow key={keyOf(line.row)} r={line.row} style={style} index={i} schema={p.page.schema} part={line.row.cost.tokens / mostRow} calls={p.called.calls.get(line.row.server + "\n" + line.row.own) ?? 0} last={p.called.last.get(line.row.server + "\n" + line.row.own)} unused={p.unused.has(keyOf(line.row))}
          chosen={p.chosen.has(keyOf(line.row))} onChoose={(on) => choose([line.row], on)} seen={lens ? lens.has(line.row.listed ?? "") : undefined} onChanged={p.onChanged} />;
    }} />;
}

const byCost = (rows: CatalogRow[]) => [...rows].sort((a, b) => b.cost.tokens - a.cost.tokens);

function grouped(rows: CatalogRow[], way: By, calls: Map<string, number>, unused: Set<string>): Group[] {
  const by = new Map<string, Group>(), cost = way === "cost";
  for (const r of cost ? byCost(rows) : rows) {
    const id = cost ? String(tierOf(r)) : r.server;
    let g = by.get(id);
    if (!g) by.set(id, g = { id, title: cost ? tierName(tierOf(r)) : id, rows: [], tokens: 0, calls: 0, on: 0, unused: 0 });
    g.rows.push(r);
    if (r.on) { g.on++; g.tokens += r.cost.tokens; }
    g.calls += calls.get(r.server + "\n" + r.own) ?? 0;
    if (unused.has(keyOf(r))) g.unused++;
  }
  return cost ? [...by.values()] : [...by.values()].sort((a, b) => b.tokens - a.tokens);
}

function TableHead({ lens }: { lens: boolean }) {
  return <div class="grid-head" role="rowgroup"><div class="grid-row" role="row"><span role="columnheader"><span class="hidden">{t("select")}</span></span><span role="columnheader">{t("exposedAs")}</span><span role="columnheader" class="c-effect"><span class="hidden">{t("effect")}</span></span>
    <span role="columnheader" class="c-tokens">{t("tokens")}</span><span role="columnheader" class="r c-calls">{t("calls")}</span><span role="columnheader" class="c-last">{t("lastUsed")}</span><span role="columnheader" class="c-issues">{t(lens ? "seenByIt" : "issues")}</span><span role="columnheader" class="r">{t("on")}</span></div></div>;
}

interface GroupProps { g: Group; style: Record<string, string>; index: number; open: boolean; part: number; chosen: Set<string>; schema: string; onFlip: () => void; onChoose: (rows: CatalogRow[], on: boolean) => void; onChanged: () => void }

function GroupRow({ g, style, index, open, part, chosen, schema, onFlip, onChoose, onChanged }: GroupProps) {
  const picked = g.rows.filter((r) => chosen.has(keyOf(r))).length;
  return <div class="grid-row group" role="row" aria-rowindex={index + 1} style={style} data-testid={"group-" + g.id} onClick={onFlip}>
    <span role="gridcell" onClick={(e) => e.stopPropagation()}><input type="checkbox" aria-label={`${t("select")} ${g.title}`} checked={picked === g.rows.length} ref={(e) => { if (e) e.indeterminate = picked > 0 && picked < g.rows.length; }} onChange={(e) => onChoose(g.rows, e.currentTarget.checked)} /></span>
    <span role="gridcell"><button type="button" class="fold-button" aria-expanded={open} aria-label={g.title} onClick={(e) => { e.stopPropagation(); onFlip(); }}><Icon name={open ? "down" : "right"} /></button><b>{g.title}</b> <span class="mut">{t("onOf", g.on, g.rows.length)}</span></span>
    <span role="gridcell" class="c-effect" /><span role="gridcell" class="c-tokens"><Bar part={part} /><span class="num">{short(g.tokens)}</span></span><span role="gridcell" class="r c-calls">{count(g.calls)}</span><span role="gridcell" class="c-last" />
    <span role="gridcell" class="c-issues mut">{g.unused ? t("unusedN", g.unused) : ""}</span><span role="gridcell" class="r"><Switch on={g.on === g.rows.length ? true : g.on ? "mixed" : false} label={t("allOf", g.title)} disabled={!may("admin")} onChange={(on) => void switchAll(schema, g.rows, "on", on, onChanged)} /></span>
  </div>;
}

interface ToolProps { r: CatalogRow; style: Record<string, string>; index: number; schema: string; part: number; calls: number; last?: string; unused: boolean; chosen: boolean; onChoose: (on: boolean) => void; seen?: boolean; onChanged: () => void }

function ToolRow({ r, style, index, schema, part, calls, last, unused, chosen, onChoose, seen, onChanged }: ToolProps) {
  return <div class={"grid-row" + (r.on ? "" : " off") + (chosen ? " on" : "")} role="row" aria-rowindex={index + 1} aria-selected={chosen} style={style} title={r.description} data-testid={`row-${r.server}-${r.own}`}>
    <span role="gridcell"><input type="checkbox" aria-label={`${t("select")} ${r.server} ${r.own}`} checked={chosen} onChange={(e) => onChoose(e.currentTarget.checked)} /></span>
    <span role="gridcell" class="c-name"><a class="plain-link" href={href(["bench", r.server, r.kind === "tool" ? "tools" : "prompts", r.own])}><code>{r.listed ?? r.own}</code></a>{r.listed && r.listed !== r.own && !r.listed.endsWith(r.own) && <span class="mut"> {r.own}</span>}{!r.listed && <span class="mut"> {t("notShown")}</span>}</span>
    <span role="gridcell" class="c-effect">{r.kind === "tool" ? <Effect tool={{ annotations: effects[r.effect ?? "w"] }} /> : <span class="tag effect" title={t("prompt")}>P<span class="hidden"> {t("prompt")}</span></span>}</span>
    <span role="gridcell" class="c-tokens"><Bar part={part} /><span class="num">{count(r.cost.tokens)}</span></span><span role="gridcell" class="r c-calls mut">{count(calls)}</span><span role="gridcell" class="c-last mut">{last ? sinceDay(last) : "–"}</span>
    <span role="gridcell" class="c-issues">{seen !== undefined && <Status tone={seen ? "ok" : "idle"}>{t(seen ? "seen" : "notSeen")}</Status>}{(r.issues ?? []).map((i) => <Issue key={i.code} i={i} plain={r.listed === r.own} />)}{r.ask && <span class="tag acc">{t("asksFirst")}</span>} {unused && seen === undefined && !r.issues?.length && <span class="mut">{t("unusedOne")}</span>}</span>
    <span role="gridcell" class="r"><ToolSwitch schema={schema} r={r} onChanged={onChanged} /></span>
  </div>;
}

/** Issue shows a warning, unless prefixes distinguish equal names. */
function Issue({ i, plain }: { i: { code: string; with?: string[] }; plain: boolean }) {
  const text = t(("issue_" + i.code) as Key, (i.with ?? []).join(", "));
  return i.code === "same" && !plain ? <span class="mut">{text}</span> : <Status tone="warn">{text}</Status>;
}

/** switchAll sets a switch of tools one after the other, with undo: whether clients see them, or whether calls wait for a person. */
async function switchAll(schema: string, rows: CatalogRow[], key: "on" | "ask", on: boolean, done: () => void): Promise<void> {
  const changed = rows.filter((r) => !!r[key] !== on);
  const each = async (to: boolean) => { for (const r of changed) await change("PUT", path("catalog", schema, r.server, r.kind, r.own), { [key]: to }); };
  try {
    await each(on);
    toast(t(key === "ask" ? on ? "askedN" : "unaskedN" : on ? "turnedOnN" : "turnedOffN", changed.length), { label: "undo", run: () => void each(!on).then(done, (e) => toast(errorText(e), undefined, "err")) });
  } catch (e) { toast(errorText(e), undefined, "err"); }
  done();
}

/** Bulk shows how many tools are selected and what they cost. */
function Bulk({ page, chosen, onDone }: { page: CatalogPage; chosen: Set<string>; onDone: () => void }) {
  const rows = page.rows.filter((r) => chosen.has(keyOf(r))), tools = rows.filter((r) => r.kind === "tool"), ask = tools.some((r) => !r.ask);
  return <div class="bulk" role="region" aria-label={t("selection")} data-testid="bulk"><span><b>{t("selectedN", count(rows.length))}</b> · {t("tokensN", short(rows.reduce((n, r) => n + r.cost.tokens, 0)))}</span>
    {may("admin") && <><button type="button" class="button light" onClick={() => void switchAll(page.schema, rows, "on", false, onDone)}>{t("disable")}</button><button type="button" class="button" onClick={() => void switchAll(page.schema, rows, "on", true, onDone)}>{t("enable")}</button>
      {tools.length > 0 && <button type="button" class="button" onClick={() => void switchAll(page.schema, tools, "ask", ask, onDone)}>{t(ask ? "askBefore" : "askNot")}</button>}</>}
    <IconButton icon="close" label={t("clearSelection")} onClick={onDone} /></div>;
}
