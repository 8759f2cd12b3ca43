// The cost of the tools: by server, by mode, and for clients with limits.
import type { CatalogPage, CatalogRow, Fit } from "../api.ts";
import { count, percent, short } from "../format.ts";
import { t } from "../i18n/index.ts";
import { Status } from "../parts/basics.tsx";
import { Bar } from "../parts/chart.tsx";
import { Icon } from "../parts/icons.tsx";
import { setQuery } from "../router.ts";
import { squarify } from "../treemap.ts";
import { keyOf } from "./catalog.tsx";

interface Share { name: string; tokens: number; tools: number; spare: number }

function shares(rows: CatalogRow[], unused: Set<string>): Share[] {
  const by = new Map<string, Share>();
  for (const r of rows) {
    if (!r.on || r.kind !== "tool") continue;
    const s = by.get(r.server) ?? { name: r.server, tokens: 0, tools: 0, spare: 0 };
    by.set(r.server, s);
    s.tokens += r.cost.tokens;
    s.tools++;
    if (unused.has(keyOf(r))) s.spare += r.cost.tokens;
  }
  return [...by.values()].filter((s) => s.tokens > 0).sort((a, b) => b.tokens - a.tokens);
}

/** CostCards shows the cost of the tools. since is empty if it is not known which tools were not called. */
export function CostCards({ page, unused, since, onSelect }: { page: CatalogPage; unused: Set<string>; since: string; onSelect: () => void }) {
  const list = shares(page.rows, unused), spare = list.reduce((n, s) => n + s.spare, 0), sum = list.reduce((n, s) => n + s.tokens, 0);
  const now = page.lens?.shown.tokens || (page.list[page.mode as "full"] ?? page.list.full).tokens, most = Math.max(1, page.list.full.tokens, page.list.compact.tokens, page.list.search.tokens);
  return <div class="cols cost-cards">
    <section class="card flush c8" aria-labelledby="h-map"><header><h2 id="h-map">{t("costByServer")}</h2><span class="end legend" aria-hidden="true"><span><i class="key k-map" />{t("tokens")}</span>{since && <span><i class="key hatched" />{t("notCalled", since)}</span>}</span></header>
      <Treemap list={list} />
      {unused.size > 0 && <footer><Icon name="bell" /><span class="cut">{t("unusedSaves", unused.size, short(spare), percent(spare, sum), since)}</span><span class="space" /><button type="button" class="button small" onClick={onSelect}>{t("selectThem")}</button></footer>}</section>
    <section class="card flush c4" aria-labelledby="h-cost"><header><h2 id="h-cost">{t("costPerConversation")}</h2></header>
      <div class="body"><span class="big">{short(now)}</span> <span class="mut">{t("tokensEach")}</span>
        <ul class="plain modes" aria-label={t("modes")}>{(["full", "compact", "search"] as const).map((m) => <li key={m} class={page.mode === m ? "on" : ""} aria-current={page.mode === m ? "true" : undefined}><Status tone={page.mode === m ? "ok" : "idle"}>{m}</Status><Bar part={page.list[m].tokens / most} /><span class="num r">{short(page.list[m].tokens)}</span></li>)}</ul>
        {page.advice.mode && page.advice.mode !== page.mode && <p class="mut">{t("wouldSuit", page.advice.mode)}</p>}
        <h3 id="h-fit">{t("limits")}</h3><ul class="plain lim" aria-labelledby="h-fit">{page.fits.map((f) => <li key={f.client}><Status tone={tooMuch(f) ? "warn" : "ok"}>{f.client}</Status><span class={"r " + (tooMuch(f) ? "warn" : "mut")}>{fitText(f)}</span></li>)}</ul></div></section>
  </div>;
}

const tooMuch = (f: Fit) => (f.maxTools ?? 0) > 0 && f.tools > f.maxTools! || (f.longNames ?? 0) > 0;
const fitText = (f: Fit) => [f.maxTools ? t("ofTools", count(f.tools), f.maxTools) : t("anyNumber", count(f.tools)), f.longNames ? t("longNames", f.longNames, f.maxName!) : ""].filter(Boolean).join(" · ");

/** Treemap shows each server with an area in proportion to the cost of its tools; uncalled tools are hatched. On a phone it is a list of bars. */
function Treemap({ list }: { list: Share[] }) {
  const boxes = squarify(list.map((s) => s.tokens), 300, 100), most = list[0]?.tokens ?? 1;
  return <><div class="map" data-testid="treemap">{list.map((s, i) => { const b = boxes[i]!; const small = b.w < 26 || b.h < 16; return <button type="button" key={s.name} class={small ? "xs" : ""} title={`${s.name} · ${short(s.tokens)} · ${s.tools}`} onClick={() => setQuery({ q: s.name })}
    style={{ left: `${b.x / 3}%`, top: `${b.y}%`, width: `${b.w / 3}%`, height: `${b.h}%`, "--k": `${Math.round(14 + 42 * (s.tokens / most))}%`, "--u": `${(s.spare / s.tokens) * 100}%` }}><span class="u" />{small ? <span class="hidden">{s.name}</span> : <><b>{s.name}</b><small>{short(s.tokens)} · {s.tools}</small></>}</button>; })}</div>
  <ul class="plain mapbars">{list.slice(0, 8).map((s) => <li key={s.name}><span class="cut">{s.name}</span><Bar part={s.tokens / most} /><span class="num r">{short(s.tokens)}</span></li>)}</ul></>;
}
