// What clients see: names, cost, limits, and a switch for each tool.
import { useEffect, useMemo, useState } from "preact/hooks";
import { change, get, path, type CatalogPage, type CatalogRow, type Fit, type Stat } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { count } from "../format.ts";
import { t, type Key } from "../i18n/index.ts";
import { clients, servers } from "../live.ts";
import { Empty, Notice, Status, errorText, toast, useLoad } from "../parts/basics.tsx";
import { VirtualList } from "../parts/list.tsx";
import { href, query, setQuery } from "../router.ts";
import { may } from "../state.ts";
import { Effect } from "../bench/list.tsx";

const effects: Record<string, object> = { r: { readOnlyHint: true }, d: { destructiveHint: true }, w: {} };
export const tok = (n: number) => (n < 1000 ? String(n) : (n / 1000).toFixed(1) + "k");

export function Catalog() {
  const schema = query.value.get("schema") ?? "", as = query.value.get("as") ?? "", filter = query.value.get("q") ?? "";
  const { value, error, reload } = useLoad(() => get<CatalogPage>("catalog?" + new URLSearchParams({ schema, as })), [schema, as, servers.value]);
  const { value: overview } = useLoad(() => get<{ stats: Stat[] }>("overview"), [value]);
  useEffect(() => { commandLine.value = as ? command("cost", "--json") : command("cost"); }, [as]);
  const calls = useMemo(() => new Map((overview?.stats ?? []).filter((s) => s.name).map((s) => [s.server + "\n" + s.name, s.calls])), [overview]);
  const shown = useMemo(() => (value?.rows ?? []).filter((r) => matches(r, filter)), [value, filter]);
  const lens = value?.lens && new Set(value.lens.listed);
  return <div class="page catalog-page">
    <div class="bar wrap"><h1>{t("catalog")}</h1>
      <input type="search" data-filter value={filter} placeholder={t("filter") + "  /"} aria-label={t("filter")} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
      {(value?.schemas.length ?? 0) > 1 && <label class="check">{t("schema")} <select value={value!.schema} onChange={(e) => setQuery({ schema: e.currentTarget.value, as: undefined })}>{value!.schemas.map((s) => <option key={s}>{s}</option>)}</select></label>}
      <label class="check">{t("throughEyes")} <select data-testid="lens" value={as} onChange={(e) => setQuery({ as: e.currentTarget.value || undefined })}>
        <option value="">{t("anyClient")}</option>{clients.value.map((c) => <option key={c.session} value={c.session}>{c.name || t("unnamed")} {c.version} · {c.session}</option>)}</select></label>
      <span class="space" />{value && <span class="mut">{t("shownOf", count(value.rows.filter((r) => r.on).length), count(value.rows.length))}</span>}
    </div>
    {error && <Notice tone="err">{error}</Notice>}
    {value && <Summary page={value} />}
    {shown.length ? <VirtualList class="grid catalog-grid" role="grid" count={shown.length} height={27} label={t("catalog")} testid="catalog-rows" header={<Head lens={!!lens} />}
      row={(i, style) => <Row key={shown[i]!.server + shown[i]!.kind + shown[i]!.own} row={shown[i]!} style={style} schema={value!.schema} index={i} calls={calls.get(shown[i]!.server + "\n" + shown[i]!.own) ?? 0}
        seen={lens ? lens.has(shown[i]!.listed ?? "") : undefined} onChanged={reload} />} />
      : value && <Empty>{value.rows.length ? t("nothingMatches") : t("catalogEmpty")}</Empty>}
  </div>;
}

function matches(r: CatalogRow, filter: string): boolean {
  const text = `${r.server} ${r.own} ${r.listed ?? ""} ${r.description ?? ""} ${r.on ? "on" : "off"} ${(r.issues ?? []).map((i) => i.code).join(" ")}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

/** Summary says what it costs, and for whom it is too much. */
function Summary({ page }: { page: CatalogPage }) {
  const bySource = new Map<string, number>();
  for (const r of page.rows) if (r.on && r.kind === "tool") bySource.set(r.server, (bySource.get(r.server) ?? 0) + r.cost.tokens);
  const sum = [...bySource.values()].reduce((a, b) => a + b, 0) || 1;
  const top = [...bySource].sort((a, b) => b[1] - a[1]);
  const now = page.mode === "compact" ? page.list.compact : page.mode === "search" ? page.list.search : page.list.full;
  return <div class="catalog-cards">
    <section class="card" aria-labelledby="h-cost"><h2 id="h-cost">{t("contextCost")}</h2>
      <span class="big">{tok(page.lens ? page.lens.shown.tokens || now.tokens : now.tokens)}</span> <span class="mut">{t("tokensEach")} · {t("mode", page.mode)}</span>
      <div class="share" role="img" aria-label={top.map(([n, v]) => `${n} ${Math.round((v / sum) * 100)} %`).join(", ")}>{top.slice(0, 6).map(([n, v], i) => <i key={n} class={"s" + i} style={{ width: `${(v / sum) * 100}%` }} />)}</div>
      <p class="mut">{top.slice(0, 4).map(([n, v]) => `${n} ${Math.round((v / sum) * 100)} %`).join(" · ")}</p>
    </section>
    <section class="card" aria-labelledby="h-modes"><h2 id="h-modes">{t("modes")}</h2>
      <table class="mini"><tbody>{(["full", "compact", "search"] as const).map((m) => <tr key={m} class={page.mode === m ? "on" : ""}><td>{m}{page.mode === m ? " ●" : ""}</td><td class="r">{tok(page.list[m].tokens)} tok</td></tr>)}</tbody></table>
      {page.advice.mode && page.advice.mode !== page.mode && <p class="mut">{t("wouldSuit", page.advice.mode)}</p>}
    </section>
    <section class="card" aria-labelledby="h-fit"><h2 id="h-fit">{t("limits")}</h2>
      <ul class="plain">{page.fits.map((f) => <li key={f.client}><Status tone={tooMuch(f) ? "warn" : "ok"}><b>{f.client}</b> {fitText(f)}</Status></li>)}</ul>
    </section>
  </div>;
}

const tooMuch = (f: Fit) => (f.maxTools ?? 0) > 0 && f.tools > f.maxTools! || (f.longNames ?? 0) > 0;
const fitText = (f: Fit) => [f.maxTools ? t("ofTools", f.tools, f.maxTools) : t("anyNumber", f.tools), f.longNames ? t("longNames", f.longNames, f.maxName!) : ""].filter(Boolean).join(" · ");

function Head({ lens }: { lens: boolean }) {
  return <div class="grid-head" role="rowgroup"><div class="grid-row" role="row">
    <span role="columnheader">{t("on")}</span><span role="columnheader">{t("server")}</span><span role="columnheader">{t("exposedAs")}</span><span role="columnheader" class="c-own">{t("ownName")}</span>
    <span role="columnheader" class="c-effect">R/W</span><span role="columnheader" class="r">tok</span><span role="columnheader" class="r c-calls">{t("calls")}</span><span role="columnheader" class="c-issues">{t(lens ? "seenByIt" : "issues")}</span></div></div>;
}

function Row({ row: r, style, schema, index, calls, seen, onChanged }: { row: CatalogRow; style: Record<string, string>; schema: string; index: number; calls: number; seen?: boolean; onChanged: () => void }) {
  // What was asked for is shown until the gateway has told the new state.
  const [asked, setAsked] = useState<boolean>();
  useEffect(() => setAsked(undefined), [r]);
  const flip = async (on: boolean) => {
    setAsked(on);
    try {
      const url = path("catalog", schema, r.server, r.kind, r.own);
      await change("PUT", url, { on });
      toast(t(on ? "switchedOn" : "switchedOff", r.own), { label: "undo", run: () => void change("PUT", url, { on: !on }).then(onChanged, (e) => toast(errorText(e), undefined, "err")) });
      onChanged();
    } catch (e) { setAsked(undefined); toast(errorText(e), undefined, "err"); }
  };
  return <div class={"grid-row" + (r.on ? "" : " off")} role="row" aria-rowindex={index + 1} style={style} title={r.description} data-testid={`row-${r.server}-${r.own}`}>
    <span role="gridcell"><input type="checkbox" checked={asked ?? r.on} disabled={asked !== undefined || !may("admin")} aria-label={`${r.server} ${r.own}`} onChange={(e) => void flip(e.currentTarget.checked)} /></span>
    <span role="gridcell"><b>{r.server}</b></span>
    <span role="gridcell">{r.listed ? <a href={href(["bench", r.server, r.kind === "tool" ? "tools" : "prompts", r.own])}><code>{r.listed}</code></a> : <span class="mut">{t("notShown")}</span>}</span>
    <span role="gridcell" class="c-own mut"><code>{r.own}</code></span>
    <span role="gridcell" class="c-effect">{r.kind === "tool" ? <Effect tool={{ annotations: effects[r.effect ?? "w"] }} /> : <span class="tag effect" title={t("prompt")}>P<span class="hidden"> {t("prompt")}</span></span>}</span>
    <span role="gridcell" class="r">{count(r.cost.tokens)}</span><span role="gridcell" class="r c-calls mut">{calls ? count(calls) : "–"}</span>
    <span role="gridcell" class="c-issues">{seen !== undefined && <Status tone={seen ? "ok" : "idle"}>{t(seen ? "seen" : "notSeen")}</Status>}
      {(r.issues ?? []).map((i) => <Issue key={i.code} i={i} plain={r.listed === r.own} />)}</span>
  </div>;
}

/** Issue is a warning, unless prefixes tell equal names apart. */
function Issue({ i, plain }: { i: { code: string; with?: string[] }; plain: boolean }) {
  const text = t(("issue_" + i.code) as Key, (i.with ?? []).join(", "));
  return i.code === "same" && !plain ? <span class="mut">{text}</span> : <Status tone="warn">{text}</Status>;
}
