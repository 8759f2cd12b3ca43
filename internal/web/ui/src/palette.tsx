// The palette: searches or runs anything, with Ctrl-K.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, type CatalogPage, type Overview, type Setting, type Suite } from "./api.ts";
import { lang, setLang, t } from "./i18n/index.ts";
import { clients, servers } from "./live.ts";
import { Icon, type IconName } from "./parts/icons.tsx";
import { rank } from "./rank.ts";
import { go, href } from "./router.ts";
import { may, paletteOpen, remembered, theme } from "./state.ts";

interface Entry { id: string; group: string; icon: IconName; text: string; hint?: string; calls?: number; run: () => void }

/** used are the recently chosen entries, newest first. */
const used = remembered<string[]>("palette.used", []);

/** Found is data of the gateway; it is read each time the search opens. */
interface Found { catalogs: CatalogPage[]; suites: Suite[]; settings: Setting[]; calls: Map<string, number> }

async function find(): Promise<Found> {
  const none = <T,>(v: T) => (): T => v;
  const [first, suites, settings, overview] = await Promise.all([
    get<CatalogPage>("catalog").catch(none(undefined)), get<{ suites: Suite[] }>("suites").catch(none({ suites: [] })),
    get<Setting[]>("settings").catch(none([])), get<Overview>("overview").catch(none(undefined)),
  ]);
  const rest = await Promise.all((first?.schemas ?? []).filter((s) => s !== first!.schema).map((s) => get<CatalogPage>("catalog?schema=" + encodeURIComponent(s)).catch(none(undefined))));
  const calls = new Map((overview?.stats ?? []).filter((s) => s.name).map((s) => [s.server + "\n" + s.name, s.calls]));
  return { catalogs: [first, ...rest].filter((x) => x !== undefined), suites: suites.suites, settings, calls };
}

function pages(): Entry[] {
  const page = (id: string, text: string): Entry => ({ id: "page " + id, group: t("pages"), icon: id as IconName, text, run: () => go("/ui/" + id) });
  return [page("overview", t("overview")), page("servers", t("servers")), page("catalog", t("catalog")), page("clients", t("clientsTitle")), page("traffic", t("traffic")), page("usage", t("usage")),
    page("inbox", t("inbox")), page("bench", t("bench")), page("tests", t("tests")), page("doctor", t("doctor")), page("settings", t("settings"))];
}

function verbs(): Entry[] {
  const verb = (id: string, icon: IconName, text: string, run: () => void, hint?: string): Entry => ({ id: "verb " + id, group: t("actions"), icon, text, hint, run });
  const act = (name: "restart" | "enable" | "disable", schema: string, server: string) => void import("./pages/servers.tsx").then((m) => m.act({ schema, name: server }, name));
  return [
    verb("add", "plus", t("addServer"), () => go("/ui/servers/new")), verb("import", "upload", t("import"), () => go("/ui/servers/import")),
    verb("connect", "clients", t("connectAnother"), () => go("/ui/clients")), verb("tests", "tests", t("fromTraffic"), () => go("/ui/tests/new")), verb("other", "bench", t("connectAny"), () => go("/ui/bench")),
    verb("theme", "moon", t("theme"), () => { theme.value = theme.value === "dark" ? "light" : "dark"; }),
    verb("language", "settings", lang.value === "en" ? "中文" : "English", () => setLang(lang.value === "en" ? "zh-CN" : "en")),
    ...servers.value.flatMap((s) => [
      ...(may("admin") ? [s.state === "disabled" ? verb(`enable ${s.schema}/${s.name}`, "power", t("verb_enable", s.name), () => act("enable", s.schema, s.name))
        : verb(`restart ${s.schema}/${s.name}`, "refresh", t("verb_restart", s.name), () => act("restart", s.schema, s.name)),
      ...(s.state === "disabled" ? [] : [verb(`disable ${s.schema}/${s.name}`, "power", t("verb_disable", s.name), () => act("disable", s.schema, s.name))])] : []),
      verb(`bench ${s.name}`, "bench", `${t("bench")} ${s.name}`, () => go(href(["bench", s.name]))),
      verb(`calls ${s.name}`, "traffic", t("verb_calls", s.name), () => go(href(["traffic"], { q: `server:${s.name} status:error,tool_error` }))),
      verb(`log ${s.schema}/${s.name}`, "log", t("verb_log", s.name), () => go(href(["servers", s.schema, s.name], { tab: "logs" }))),
    ]),
  ];
}

function entries(f: Found | undefined): Entry[] {
  return [
    ...pages(), ...verbs(),
    ...servers.value.map((s): Entry => ({ id: `server ${s.schema}/${s.name}`, group: t("servers"), icon: "servers", text: s.name, hint: s.schema === "default" ? s.transport : s.schema, run: () => go(href(["servers", s.schema, s.name])) })),
    ...clients.value.map((c): Entry => ({ id: "client " + c.session, group: t("clientsTitle"), icon: "clients", text: c.name || t("unnamed"), hint: c.version, run: () => go(href(["traffic"], { q: "session:" + c.session })) })),
    ...(f?.catalogs ?? []).flatMap((page) => page.rows.map((r): Entry => ({
      id: `${r.kind} ${page.schema}/${r.server}/${r.own}`, group: t(r.kind === "tool" ? "tools" : "prompts"), icon: "bench", text: `${r.server} / ${r.own}`, hint: r.title,
      calls: f!.calls.get(r.server + "\n" + r.own), run: () => go(href(["bench", r.server, r.kind === "tool" ? "tools" : "prompts", r.own])) }))),
    ...(f?.suites ?? []).map((s): Entry => ({ id: "suite " + s.name, group: t("tests"), icon: "tests", text: s.name, hint: s.target, run: () => go(href(["tests", s.name])) })),
    ...(f?.settings ?? []).map((s): Entry => ({ id: "setting " + s.key, group: t("settings"), icon: "settings", text: s.key, hint: s.doc, run: () => go(href(["settings"], { q: s.key })) })),
  ];
}

const shown = 50;

/** best returns the matching entries, ordered by match, then by recent use, then by calls. */
function best(all: Entry[], query: string): { list: Entry[]; total: number } {
  const late = new Map(used.peek().map((id, i) => [id, i]));
  if (!query.trim()) {
    const recent = used.peek().map((id) => all.find((e) => e.id === id)).filter((e) => e !== undefined).slice(0, 6).map((e) => ({ ...e, group: t("recent") }));
    const list = [...recent, ...all.filter((e) => !late.has(e.id) && !e.id.startsWith("setting "))];
    return { list: list.slice(0, shown), total: all.length };
  }
  const found = all.map((e) => ({ e, score: rank(e.text, e.hint ?? "", query) })).filter((x) => x.score > 0);
  found.sort((a, b) => b.score - a.score || (late.get(a.e.id) ?? 99) - (late.get(b.e.id) ?? 99) || (b.e.calls ?? 0) - (a.e.calls ?? 0) || a.e.text.length - b.e.text.length);
  // Entries of a group stay together, at the place of the best of them.
  const list = found.slice(0, shown).map((x) => x.e), groups = [...new Set(list.map((e) => e.group))];
  return { list: groups.flatMap((g) => list.filter((e) => e.group === g)), total: found.length };
}

export function Palette() {
  return paletteOpen.value ? <PaletteBox /> : null;
}

function PaletteBox() {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const [known, setKnown] = useState<Found>();
  const input = useRef<HTMLInputElement>(null), box = useRef<HTMLUListElement>(null);
  const before = useRef(document.activeElement as HTMLElement | null);
  const all = useMemo(() => entries(known), [known]);
  const { list: matching, total } = useMemo(() => best(all, query), [all, query]);
  const found = matching.length || !query ? matching : [{ id: "", group: "", icon: "traffic" as IconName, text: t("paletteTraffic", query), run: () => go(href(["traffic"], { q: /\s/.test(query) ? `text:"${query}"` : query })) }];
  useEffect(() => { input.current?.focus(); void find().then(setKnown); return () => before.current?.focus?.(); }, []);
  // Keep the selected row in view.
  useLayoutEffect(() => { box.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }); }, [at, found]);
  const close = () => { paletteOpen.value = false; };
  const run = (e: Entry | undefined) => {
    if (!e) return;
    if (e.id) used.value = [e.id, ...used.value.filter((id) => id !== e.id)].slice(0, 30);
    close();
    e.run();
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "Escape") close();
    else if (e.key === "ArrowDown") setAt((at + 1) % Math.max(1, found.length));
    else if (e.key === "ArrowUp") setAt((at - 1 + found.length) % Math.max(1, found.length));
    else if (e.key === "Enter") run(found[at]);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return <div class="palette-back" onClick={(e) => { if (e.target === e.currentTarget) close(); }}>
    <div class="palette" role="dialog" aria-label={t("paletteTitle")} aria-modal="true" data-testid="palette">
      <div class="q"><Icon name="search" /><input ref={input} role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        aria-label={t("paletteTitle")} placeholder={t("paletteHint")} value={query} spellcheck={false} onKeyDown={key} onInput={(e) => { setQuery(e.currentTarget.value); setAt(0); }} />
        <span class="mut" data-testid="palette-count" aria-live="polite">{query ? t("nOf", total, all.length) : ""}</span><kbd>esc</kbd></div>
      {query && !matching.length && <p class="empty" data-testid="palette-none"><b>{t("paletteNone", query)}</b></p>}
      <ul id="palette-list" role="listbox" aria-label={t("paletteTitle")} ref={box}>
        {found.map((e, i) => <>{e.group && e.group !== found[i - 1]?.group && <li class="h3" role="presentation" key={"g" + i}>{e.group}</li>}
          <li key={e.id} id={`palette-${i}`} role="option" aria-selected={i === at} data-id={e.id} onClick={() => run(e)} onMouseMove={() => { if (i !== at) setAt(i); }}>
            <Icon name={e.icon} /><span><Marked text={e.text} query={query} /></span>{e.hint && <span class="mut">{e.hint}</span>}<span class="end">{e.calls ? t("callsCount", e.calls) : ""}{i === at && <kbd>↵</kbd>}</span></li></>)}
      </ul>
      <footer aria-hidden="true"><span><kbd>↑</kbd> <kbd>↓</kbd> {t("paletteMove")}</span><span><kbd>↵</kbd> {t("paletteOpen")}</span></footer>
    </div>
  </div>;
}

/** Marked highlights the words of the query in a text. */
function Marked({ text, query }: { text: string; query: string }) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const low = text.toLowerCase(), on = new Uint8Array(text.length);
  for (const w of words) { const i = low.indexOf(w); if (i >= 0) on.fill(1, i, i + w.length); }
  const out = [];
  for (let i = 0; i < text.length;) {
    let end = i;
    while (end < text.length && on[end] === on[i]) end++;
    out.push(on[i] ? <mark>{text.slice(i, end)}</mark> : text.slice(i, end));
    i = end;
  }
  return <>{out}</>;
}
