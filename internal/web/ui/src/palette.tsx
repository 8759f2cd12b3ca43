// Search or run anything: Ctrl-K.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { lang, setLang, t } from "./i18n/index.ts";
import { servers } from "./live.ts";
import { known } from "./bench/known.ts";
import { go, href } from "./router.ts";
import { paletteOpen, theme } from "./state.ts";

interface Entry { group: string; text: string; hint?: string; run: () => void }

function entries(): Entry[] {
  const page = (id: string, text: string): Entry => ({ group: t("pages"), text, run: () => go("/ui/" + id) });
  return [
    page("overview", t("overview")), page("servers", t("servers")), page("catalog", t("catalog")), page("clients", t("clientsTitle")), page("traffic", t("traffic")),
    page("inbox", t("inbox")), page("bench", t("bench")), page("tests", t("tests")), page("doctor", t("doctor")), page("settings", t("settings")),
    { group: t("actions"), text: t("addServer"), run: () => go("/ui/servers/new") },
    { group: t("actions"), text: t("connectAnother"), run: () => go("/ui/clients") },
    { group: t("actions"), text: t("fromTraffic"), run: () => go("/ui/tests/new") },
    { group: t("actions"), text: t("connectAny"), run: () => go("/ui/bench") },
    { group: t("actions"), text: t("theme"), run: () => { theme.value = theme.value === "dark" ? "light" : "dark"; } },
    { group: t("actions"), text: lang.value === "en" ? "中文" : "English", run: () => setLang(lang.value === "en" ? "zh-CN" : "en") },
    ...servers.value.map((s): Entry => ({ group: t("servers"), text: s.name, hint: s.state, run: () => go(href(["servers", s.schema, s.name])) })),
    ...servers.value.map((s): Entry => ({ group: t("bench"), text: `${t("bench")} · ${s.name}`, hint: s.transport, run: () => go(href(["bench", s.name])) })),
    ...known.value.map((k): Entry => ({ group: t(k.kind), text: k.name, hint: k.target, run: () => go(href(["bench", k.target, k.kind, k.name])) })),
  ];
}

/** matches finds the letters of the query in order. */
export function matches(text: string, query: string): boolean {
  let at = 0;
  const low = text.toLowerCase();
  for (const c of query.toLowerCase().replaceAll(" ", "")) {
    at = low.indexOf(c, at) + 1;
    if (!at) return false;
  }
  return true;
}

export function Palette() {
  return paletteOpen.value ? <PaletteBox /> : null;
}

function PaletteBox() {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const before = useRef(document.activeElement as HTMLElement | null);
  const found = useMemo(() => entries().filter((e) => matches(e.text + " " + (e.hint ?? ""), query)).slice(0, 50), [query]);
  useEffect(() => { input.current?.focus(); return () => before.current?.focus?.(); }, []);
  const close = () => { paletteOpen.value = false; };
  const run = (e: Entry | undefined) => { close(); e?.run(); };
  const key = (e: KeyboardEvent) => {
    if (e.key === "Escape") close();
    else if (e.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (e.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (e.key === "Enter") run(found[at]);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return <div class="palette-back" onClick={(e) => { if (e.target === e.currentTarget) close(); }}>
    <div class="palette" role="dialog" aria-label={t("paletteTitle")} aria-modal="true">
      <input ref={input} role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={found[at] ? `palette-${at}` : undefined}
        aria-label={t("paletteTitle")} placeholder={t("paletteHint")} value={query} onKeyDown={key}
        onInput={(e) => { setQuery(e.currentTarget.value); setAt(0); }} />
      <ul id="palette-list" role="listbox" aria-label={t("paletteTitle")}>
        {found.map((e, i) => <li key={i} id={`palette-${i}`} role="option" aria-selected={i === at} onClick={() => run(e)} onMouseMove={() => setAt(i)}>
          <span>{e.text}</span><span class="mut">{e.hint}</span><span class="space" /><span class="mut">{e.group}</span></li>)}
      </ul>
    </div>
  </div>;
}
