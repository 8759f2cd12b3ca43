// The cost of the tools in every conversation, by server.
import { useMemo } from "preact/hooks";
import { get, type CatalogPage, type CatalogRow, type Stat, type Usage } from "../api.ts";
import { day, percent, short } from "../format.ts";
import { lang, t } from "../i18n/index.ts";
import { servers } from "../live.ts";
import { useLoad } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";

/** costByServer sums the tokens of the enabled tools, largest first. */
export function costByServer(page: CatalogPage): [string, number][] {
  const by = new Map<string, number>();
  for (const r of page.rows) if (r.on && r.kind === "tool") by.set(r.server, (by.get(r.server) ?? 0) + r.cost.tokens);
  return [...by].sort((a, b) => b[1] - a[1]);
}

/** Called is how often tools were called, by server and name, and since when calls are counted. known is false if the user sees only their own calls, and so cannot know which tools were never called. */
export interface Called { calls: Map<string, number>; /** last are the days of the last calls. */ last: Map<string, string>; since: string; known: boolean; unused: (page: CatalogPage) => CatalogRow[] }

/** useCalled reads the calls of the last days if they are counted, else those since the start of the gateway. */
export function useCalled(stats: Stat[], days: number, deps: unknown[]): Called {
  const { value: u } = useLoad(() => get<Usage>("usage?days=" + days), [days, ...deps]);
  return useMemo(() => {
    const own = (page: CatalogPage, called: (key: string) => boolean) => page.rows.filter((r) => r.on && r.kind === "tool" && !called(r.server + "\n" + r.own));
    if (u?.on) {
      const first = u.days[0]!.day, since = u.since && u.since > first ? u.since : first;
      const rows = u.rows.filter((r) => r.kind === "tool").map((r) => ({ key: r.server + "\n" + r.name, n: r.ok + r.tool + r.err, last: r.last }));
      return { calls: new Map(rows.map((r) => [r.key, r.n])), last: new Map(rows.map((r) => [r.key, r.last])), since: day(Date.parse(since + "T00:00")), known: !!u.unused,
        unused: (page) => { if (!u.unused) return []; const list = new Set(u.unused.filter((x) => x.schema === page.schema).map((x) => x.server + "\n" + x.name)); return own(page, (key) => !list.has(key)); } };
    }
    const calls = new Map(stats.filter((s) => s.name).map((s) => [s.server + "\n" + s.name, s.calls]));
    return { calls, last: new Map(), since: t("theStart"), known: !!u, unused: (page) => (u ? own(page, (key) => !!calls.get(key)) : []) };
  }, [u, stats, lang.value]);
}

/** usualDays is the default period in days. */
export const usualDays = 30;

/** usualWindow is the context window of most models, in tokens. */
const usualWindow = 200_000;

const opacity = (i: number) => ({ opacity: String(Math.max(0.25, 1 - i * 0.14)) });

/** useCatalog reads the catalog, again when a server has other tools. */
export const useCatalog = () => useLoad(() => get<CatalogPage>("catalog"), [servers.value.map((s) => s.schema + s.name + s.tools).join()]).value;

export function ContextCost({ stats, page }: { stats: Stat[]; page?: CatalogPage }) {
  const called = useCalled(stats, usualDays, [page]);
  if (!page) return null;
  const top = costByServer(page), sum = top.reduce((n, [, v]) => n + v, 0) || 1;
  const unused = called.unused(page), spare = unused.reduce((n, r) => n + r.cost.tokens, 0);
  const now = page.list[page.mode as "full"] ?? page.list.full;
  return <section class="card flush" aria-labelledby="cost-h"><header><h2 id="cost-h">{t("contextCost")}</h2><span class="end">{t("mode", page.mode)}</span></header>
    <div class="body"><span class="big">{short(now.tokens)}</span> <span class="mut">{t("tokensPerConversation")} · {t("ofWindow", percent(now.tokens, usualWindow))}</span>
      <div class="costbar" role="img" aria-label={top.map(([n, v]) => `${n} ${short(v)}`).join(", ")}>{top.slice(0, 8).map(([n, v], i) => <i key={n} style={{ width: `${(v / sum) * 100}%`, ...opacity(i) }} />)}</div>
      <ul class="plain costs">{top.slice(0, 6).map(([n, v], i) => <li key={n}><i class="key k-map" style={opacity(i)} /><span class="cut grow">{n}</span><span class="mut num">{short(v)}</span></li>)}</ul></div>
    {unused.length > 0 && <footer><Icon name="bell" /><span class="cut">{t("unusedCost", unused.length, short(spare), called.since)}</span><span class="space" /><a class="link" href="/ui/catalog?only=unused">{t("trim")}</a></footer>}
  </section>;
}
