// The frame around every screen.
import { Fragment, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { change } from "./api.ts";
import { commandLine } from "./cli.ts";
import { clock, count } from "./format.ts";
import { lang, said, setLang, t, type Key } from "./i18n/index.ts";
import { focusFilter, modName, shortcuts, startKeys, useShortcuts, type Shortcut } from "./keys.ts";
import { checkUnread, clients, link, loaded, lostAt, refresh, retry, retryAt, servers, unread, waitingCount } from "./live.ts";
import { Overview } from "./pages/overview.tsx";
import { isOff } from "./pages/server_state.ts";
import { Palette } from "./palette.tsx";
import { CopyButton, Empty, IconButton, Notice, Status, Toasts, copyText, errorText, toast } from "./parts/basics.tsx";
import { Skeleton } from "./parts/head.tsx";
import { Icon, type IconName } from "./parts/icons.tsx";
import { go, segments } from "./router.ts";
import { dark, may, narrow, paletteOpen, remembered, session, theme } from "./state.ts";

interface Screen { id: string; icon: IconName; label: Key; group?: Key; load: () => Promise<ComponentType> }

const screens: Screen[] = [
  { id: "overview", icon: "overview", label: "overview", load: async () => Overview },
  { id: "servers", icon: "servers", label: "servers", load: async () => (await import("./pages/servers.tsx")).Servers },
  { id: "catalog", icon: "catalog", label: "catalog", load: async () => (await import("./pages/catalog.tsx")).Catalog },
  { id: "clients", icon: "clients", label: "clientsTitle", load: async () => (await import("./pages/clients.tsx")).Clients },
  { id: "traffic", icon: "traffic", label: "traffic", load: async () => (await import("./pages/traffic.tsx")).Traffic },
  { id: "usage", icon: "usage", label: "usage", load: async () => (await import("./pages/usage.tsx")).UsagePage },
  { id: "inbox", icon: "inbox", label: "inbox", load: async () => (await import("./pages/inbox.tsx")).InboxPage },
  { id: "bench", icon: "bench", label: "bench", group: "test", load: async () => (await import("./bench/page.tsx")).BenchPage },
  { id: "tests", icon: "tests", label: "tests", load: async () => (await import("./pages/tests.tsx")).Tests },
  { id: "doctor", icon: "doctor", label: "doctor", load: async () => (await import("./pages/doctor.tsx")).Doctor },
  { id: "settings", icon: "settings", label: "settings", load: async () => (await import("./pages/settings.tsx")).SettingsPage },
];

const helpOpen = signal(false);
startKeys();

const global: Shortcut[] = [
  { keys: "mod+k", label: "paletteTitle", run: () => { paletteOpen.value = true; }, inInput: true },
  { keys: "?", label: "keyboard", run: () => { helpOpen.value = !helpOpen.value; } },
  { keys: ".", label: "inbox", run: () => go("/ui/inbox") },
  { keys: "/", label: "filter", run: focusFilter },
  { keys: "g o", label: "overview", run: () => go("/ui/overview") },
  { keys: "g s", label: "servers", run: () => go("/ui/servers") },
  { keys: "g t", label: "traffic", run: () => go("/ui/traffic") },
  { keys: "g u", label: "usage", run: () => go("/ui/usage") },
  { keys: "g c", label: "catalog", run: () => go("/ui/catalog") },
  { keys: "g l", label: "clientsTitle", run: () => go("/ui/clients") },
  { keys: "g b", label: "bench", run: () => go("/ui/bench") },
  { keys: "g x", label: "tests", run: () => go("/ui/tests") },
  { keys: "g d", label: "doctor", run: () => go("/ui/doctor") },
  { keys: "g e", label: "settings", run: () => go("/ui/settings") },
];

const railed = remembered("rail", false);

export function Shell() {
  useShortcuts(global);
  const id = segments.value[0] ?? "overview";
  const screen = screens.find((s) => s.id === id);
  const waiting = waitingCount.value;
  useEffect(() => {
    const title = screen ? t(screen.label) : "";
    document.title = (waiting ? `(${waiting}) ` : "") + title + " · mcp-all-in-one";
  }, [screen, waiting, lang.value]);
  const admin = session.value!.scope === "admin";
  useEffect(() => { if (!admin) return; const timer = setInterval(() => void checkUnread(), 15_000); return () => clearInterval(timer); }, [admin]);
  const rail = railed.value || narrow.value || id === "bench";
  return <div class={"app" + (rail ? " rail" : "") + (link.value === "lost" ? " stale" : "")}>
    <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>{t("skip")}</a>
    <Side current={id} />
    <div class="main">
      {link.value === "lost" ? <Lost /> : unread.value && may("admin") && <UnreadBar />}
      <main id="main" tabIndex={-1} class={"screen " + id}>
        {screen ? <Lazy key={id} load={screen.load} /> : <Empty>{t("noScreen")}</Empty>}
      </main>
      <footer class="cli-bar">
        <code class="cli" data-testid="command-line" title={commandLine.value}><span class="mut">$ </span>{commandLine.value}</code>
        <CopyButton text={() => commandLine.value} />
        <span class="space" />
        <button type="button" class="link" onClick={() => { helpOpen.value = true; }}>{t("keyboard")} <kbd>?</kbd></button>
      </footer>
    </div>
    <TabBar current={id} />
    <Toasts />
    <Palette />
    {helpOpen.value && <Help />}
  </div>;
}

function Side({ current }: { current: string }) {
  const endpoint = session.value!.endpoint;
  return <header class="side">
    <a class="brand" href="/ui/overview" aria-label="mcp-all-in-one"><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M8 9h5l3 7-3 7H8M24 9h-3M24 16h-8M24 23h-3" /></svg><b class="lbl">mcp-all-in-one</b></a>
    <button type="button" class="find" aria-label={`${t("paletteHint")} ${modName} K`} onClick={() => { paletteOpen.value = true; }}><Icon name="search" /><span class="lbl">{t("paletteHint")}</span> <kbd>{modName} K</kbd></button>
    <Nav current={current} />
    <div class="foot">
      <div class="endpoint"><span class="h3">{t("endpoint")}</span><IconButton icon="copy" label={t("copy")} onClick={() => void copyText(endpoint).then(() => toast(t("copied", endpoint)))} /><code title={endpoint}>{endpoint.replace(/^https?:\/\//, "")}</code></div>
      <div class="tools"><Live /><span class="space" />
        <button type="button" class="icon-button" lang={lang.value === "en" ? "zh-CN" : "en"} data-testid="language" aria-label={lang.value === "en" ? "中文" : "EN, English"}
          onClick={() => setLang(lang.value === "en" ? "zh-CN" : "en")}>{lang.value === "en" ? "中" : "EN"}</button>
        <IconButton icon={dark() ? "sun" : "moon"} label={t("theme")} onClick={() => { theme.value = dark() ? "light" : "dark"; }} testid="theme" />
        {!narrow.value && <IconButton icon="panel" label={t("collapse")} onClick={() => { railed.value = !railed.value; }} />}
      </div>
    </div>
  </header>;
}

/** Live shows the state of the connection to the gateway; a slow first response does not count as a broken connection. */
function Live() {
  const state = link.value;
  return <span class="live" data-testid="live" title={t(state === "live" ? "live" : state === "lost" ? "offline" : "connectingShort")}>
    <Status tone={state === "live" ? "ok" : state === "lost" ? "warn" : "busy"} state={state}><span class="lbl">{t(state === "live" ? "live" : state === "lost" ? "offline" : "connectingShort")}</span></Status></span>;
}

/** Lost shows that the data is old, and when the page reconnects. */
function Lost() {
  const [, tick] = useState(0);
  useEffect(() => { const timer = setInterval(() => tick((n) => n + 1), 1000); return () => clearInterval(timer); }, []);
  const left = Math.max(0, Math.ceil((retryAt.value - Date.now()) / 1000));
  return <div class="offline-bar" role="alert" data-testid="offline">
    <Icon name="alert" /><span>{t("offlineText", clock(new Date(lostAt.value).toISOString()).slice(0, 8))}</span><span class="space" />
    <span class="mut" aria-hidden="true">{t("nextTry", left)}</span><button type="button" class="button small" onClick={retry}>{t("retryNow")}</button>
  </div>;
}

/** UnreadBar shows that the config file has changed since the gateway read it. */
function UnreadBar() {
  const u = unread.value!;
  const names = [...u.added, ...u.removed, ...u.changed].map((s) => s.replace(/^default\//, "")).concat(u.settings);
  const reload = async () => {
    try { await change("POST", "reload"); toast(t("reloaded")); await refresh(); } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  return <div class="offline-bar info" role="status" data-testid="unread">
    <Icon name={u.error ? "alert" : "refresh"} /><span>{u.error ? t("unreadBroken", said(u.error, u.errorZH)) : t("unreadText", names.slice(0, 6).join(", "))}</span><span class="space" />
    <button type="button" class="button small" onClick={() => void reload()}>{t("reload")}</button>
  </div>;
}

/** trouble returns the number of servers that need attention. */
const trouble = () => servers.value.filter((s) => s.state === "down" || s.state === "auth").length;

function Nav({ current }: { current: string }) {
  const tools = servers.value.reduce((n, s) => n + s.tools, 0), bad = trouble();
  const counts: Record<string, number> = { servers: servers.value.filter((s) => !isOff(s)).length, catalog: tools, clients: clients.value.length };
  const badge = (id: string) => id === "inbox" ? waitingCount.value > 0 && <span class="n hot" data-testid="inbox-badge">{waitingCount.value}</span>
    : loaded.value && counts[id] ? <span class="n">{id === "servers" && bad > 0 && <><b>{bad}</b> / </>}{count(counts[id]!)}</span> : null;
  return <nav aria-label={t("navigation")}>
    {screens.map((s) => <Fragment key={s.id}>{s.group && <span class="h3">{t(s.group)}</span>}{s.id === "settings" && <span class="gap" />}<a class="nav" href={"/ui/" + s.id} aria-current={s.id === current ? "page" : undefined} title={t(s.label)}>
      <Icon name={s.icon} /><span class="lbl">{t(s.label)}</span>{badge(s.id)}</a></Fragment>)}
  </nav>;
}

/** TabBar is the navigation on a phone; the other pages are in the search. */
function TabBar({ current }: { current: string }) {
  const list = ["overview", "servers", "traffic", "inbox", "bench"].map((id) => screens.find((s) => s.id === id)!);
  return <nav class="tabbar" aria-label={t("navigation")}>{list.map((s) => <a key={s.id} href={"/ui/" + s.id} aria-current={s.id === current ? "page" : undefined}>
    <Icon name={s.icon} /><span>{t(s.label)}</span>{s.id === "inbox" && waitingCount.value > 0 && <b>{waitingCount.value}</b>}</a>)}</nav>;
}

/** Lazy shows a screen after its code is loaded. */
function Lazy({ load }: { load: () => Promise<ComponentType> }) {
  const [Screen, setScreen] = useState<ComponentType | undefined>();
  const [error, setError] = useState("");
  useEffect(() => { load().then((s) => setScreen(() => s), (e) => setError(errorText(e))); }, []);
  if (error) return <Notice tone="err">{t("loadFailed", error)}</Notice>;
  return Screen ? <Screen /> : <div class="page"><div class="head" /><div class="scroll"><Skeleton /></div></div>;
}

function Help() {
  const close = () => { helpOpen.value = false; };
  return <aside class="keys-drawer" aria-label={t("keyboard")}>
    <div class="bar"><h2>{t("keyboard")}</h2><span class="space" /><IconButton icon="close" label={t("close")} onClick={close} /></div>
    <dl class="keys">{shortcuts().map((s) => <div key={s.keys}><dt><kbd>{s.keys.replace("mod+", modName + " ").replace("alt+", "Alt ")}</kbd></dt><dd>{t(s.label)}</dd></div>)}</dl>
  </aside>;
}
