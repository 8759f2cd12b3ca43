// What the tools cost in every conversation, by server.
import { get, type CatalogPage, type Stat } from "../api.ts";
import { short } from "../format.ts";
import { t } from "../i18n/index.ts";
import { servers } from "../live.ts";
import { useLoad } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";

/** costByServer sums the tokens of the tools that are on, the largest first. */
export function costByServer(page: CatalogPage): [string, number][] {
  const by = new Map<string, number>();
  for (const r of page.rows) if (r.on && r.kind === "tool") by.set(r.server, (by.get(r.server) ?? 0) + r.cost.tokens);
  return [...by].sort((a, b) => b[1] - a[1]);
}

/** unusedTools are those that clients see and nobody called since the gateway runs. */
export function unusedTools(page: CatalogPage, stats: Stat[]) {
  const called = new Set(stats.filter((s) => s.name && s.calls).map((s) => s.server + "\n" + s.name));
  return page.rows.filter((r) => r.on && r.kind === "tool" && !called.has(r.server + "\n" + r.own));
}

const opacity = (i: number) => ({ opacity: String(Math.max(0.25, 1 - i * 0.14)) });

export function ContextCost({ stats }: { stats: Stat[] }) {
  const tools = servers.value.map((s) => s.schema + s.name + s.tools).join();
  const { value: page } = useLoad(() => get<CatalogPage>("catalog"), [tools]);
  if (!page) return null;
  const top = costByServer(page), sum = top.reduce((n, [, v]) => n + v, 0) || 1;
  const unused = unusedTools(page, stats), spare = unused.reduce((n, r) => n + r.cost.tokens, 0);
  const now = page.list[page.mode as "full"] ?? page.list.full;
  return <section class="card flush" aria-labelledby="cost-h"><header><h2 id="cost-h">{t("contextCost")}</h2><span class="end">{t("mode", page.mode)}</span></header>
    <div class="body"><span class="big">{short(now.tokens)}</span> <span class="mut">{t("tokensPerConversation")}</span>
      <div class="costbar" role="img" aria-label={top.map(([n, v]) => `${n} ${short(v)}`).join(", ")}>{top.slice(0, 8).map(([n, v], i) => <i key={n} style={{ width: `${(v / sum) * 100}%`, ...opacity(i) }} />)}</div>
      <ul class="plain costs">{top.slice(0, 6).map(([n, v], i) => <li key={n}><i class="key k-map" style={opacity(i)} /><span class="cut grow">{n}</span><span class="mut num">{short(v)}</span></li>)}</ul></div>
    {unused.length > 0 && <footer><Icon name="bell" /><span class="cut">{t("unusedCost", unused.length, short(spare))}</span><span class="space" /><a class="link" href="/ui/catalog?only=unused">{t("trim")}</a></footer>}
  </section>;
}
