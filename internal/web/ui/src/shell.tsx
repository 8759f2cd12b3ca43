// The frame around every screen.
import { Fragment, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { commandLine } from "./cli.ts";
import { count } from "./format.ts";
import { lang, setLang, t, type Key } from "./i18n/index.ts";
import { focusFilter, modName, shortcuts, startKeys, useShortcuts, type Shortcut } from "./keys.ts";
import { clients, online, servers, waitingCount } from "./live.ts";
import { Overview } from "./pages/overview.tsx";
import { Palette, paletteOpen } from "./palette.tsx";
import { CopyButton, Empty, IconButton, Notice, Status, Toasts, errorText } from "./parts/basics.tsx";
import { Icon, type IconName } from "./parts/icons.tsx";
import { go, segments } from "./router.ts";
import { dark, session, theme } from "./state.ts";

interface Screen { id: string; icon: IconName; label: Key; group?: Key; load: () => Promise<ComponentType> }

const screens: Screen[] = [
  { id: "overview", icon: "overview", label: "overview", group: "operate", load: async () => Overview },
  { id: "servers", icon: "servers", label: "servers", load: async () => (await import("./pages/servers.tsx")).Servers },
  { id: "catalog", icon: "catalog", label: "catalog", load: async () => (await import("./pages/catalog.tsx")).Catalog },
  { id: "clients", icon: "clients", label: "clientsTitle", load: async () => (await import("./pages/clients.tsx")).Clients },
  { id: "traffic", icon: "traffic", label: "traffic", load: async () => (await import("./pages/traffic.tsx")).Traffic },
  { id: "inbox", icon: "inbox", label: "inbox", load: async () => (await import("./pages/inbox.tsx")).InboxPage },
  { id: "bench", icon: "bench", label: "bench", group: "test", load: async () => (await import("./bench/page.tsx")).BenchPage },
  { id: "tests", icon: "tests", label: "tests", load: async () => (await import("./pages/tests.tsx")).Tests },
  { id: "doctor", icon: "doctor", label: "doctor", load: async () => (await import("./pages/doctor.tsx")).Doctor },
  { id: "settings", icon: "settings", label: "settings", group: "system", load: async () => (await import("./pages/settings.tsx")).SettingsPage },
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
  { keys: "g c", label: "catalog", run: () => go("/ui/catalog") },
  { keys: "g l", label: "clientsTitle", run: () => go("/ui/clients") },
  { keys: "g b", label: "bench", run: () => go("/ui/bench") },
  { keys: "g x", label: "tests", run: () => go("/ui/tests") },
  { keys: "g d", label: "doctor", run: () => go("/ui/doctor") },
  { keys: "g e", label: "settings", run: () => go("/ui/settings") },
];

export function Shell() {
  useShortcuts(global);
  const id = segments.value[0] ?? "overview";
  const screen = screens.find((s) => s.id === id);
  const waiting = waitingCount.value;
  useEffect(() => {
    const title = screen ? t(screen.label) : "";
    document.title = (waiting ? `(${waiting}) ` : "") + title + " · mcp-all-in-one";
  }, [screen, waiting, lang.value]);
  return <>
    <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>{t("skip")}</a>
    <Header />
    <Nav current={id} />
    <main id="main" tabIndex={-1} class={"screen " + id}>
      {screen ? <Lazy key={id} load={screen.load} /> : <Empty>{t("noScreen")}</Empty>}
    </main>
    <footer>
      <code class="cli" data-testid="command-line"><span class="mut">$ </span>{commandLine.value}</code>
      <CopyButton text={() => commandLine.value} />
      <span class="space" />
      <Status tone={online.value ? "ok" : "err"}>{t(online.value ? "live" : "offline")}</Status>
      <button type="button" class="link" onClick={() => { helpOpen.value = true; }}>{t("keyboard")} <kbd>?</kbd></button>
    </footer>
    <Toasts />
    <Palette />
    {helpOpen.value && <Help />}
  </>;
}

function Header() {
  const up = servers.value.filter((s) => s.state === "up").length;
  const counted = servers.value.filter((s) => s.state !== "disabled").length;
  return <header>
    <a class="brand" href="/ui/overview"><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M8 9h5l3 7-3 7H8M24 9h-3M24 16h-8M24 23h-3" /></svg><b>mcp-all-in-one</b></a>
    <span class="pill endpoint"><span class="mut">{t("endpoint")}</span> <code>{session.value!.endpoint}</code> <CopyButton text={() => session.value!.endpoint} /></span>
    <span class="space" />
    <button type="button" class="pill search" onClick={() => { paletteOpen.value = true; }}><Icon name="search" /><span>{t("paletteHint")}</span> <kbd>{modName} K</kbd></button>
    <a class={"pill" + (waitingCount.value ? " attention" : "")} href="/ui/inbox" data-testid="inbox-badge">
      {waitingCount.value ? <Status tone="warn">{t("inboxCount", waitingCount.value)}</Status> : t("inbox")}</a>
    <a class="pill" href="/ui/servers"><Status tone={up < counted ? "warn" : "ok"}>{t("upCount", up, counted)}</Status></a>
    <button type="button" class="pill" lang={lang.value === "en" ? "zh-CN" : "en"} data-testid="language"
      onClick={() => setLang(lang.value === "en" ? "zh-CN" : "en")}>{lang.value === "en" ? "中文" : "English"}</button>
    <IconButton icon={dark() ? "sun" : "moon"} label={t("theme")} onClick={() => { theme.value = dark() ? "light" : "dark"; }} testid="theme" />
  </header>;
}

function Nav({ current }: { current: string }) {
  const tools = servers.value.reduce((n, s) => n + s.tools, 0);
  const counts: Record<string, number> = { servers: servers.value.length, catalog: tools, clients: clients.value.length, inbox: waitingCount.value };
  return <nav aria-label={t("navigation")}>
    {screens.map((s) => <Fragment key={s.id}>{s.group && <span class="nav-group" aria-hidden="true">{t(s.group)}</span>}<a href={"/ui/" + s.id} aria-current={s.id === current ? "page" : undefined}>
      <Icon name={s.icon} /><span>{t(s.label)}</span>{counts[s.id] ? <i>{count(counts[s.id]!)}</i> : null}</a></Fragment>)}
  </nav>;
}

/** Lazy shows a screen when its code has arrived. */
function Lazy({ load }: { load: () => Promise<ComponentType> }) {
  const [Screen, setScreen] = useState<ComponentType | undefined>();
  const [error, setError] = useState("");
  useEffect(() => { load().then((s) => setScreen(() => s), (e) => setError(errorText(e))); }, []);
  if (error) return <Notice tone="err">{t("loadFailed", error)}</Notice>;
  return Screen ? <Screen /> : null;
}

function Help() {
  const close = () => { helpOpen.value = false; };
  return <aside class="drawer" aria-label={t("keyboard")}>
    <div class="bar"><h2>{t("keyboard")}</h2><span class="space" /><IconButton icon="close" label={t("close")} onClick={close} /></div>
    <dl class="keys">{shortcuts().map((s) => <div key={s.keys}><dt><kbd>{s.keys.replace("mod+", modName + " ").replace("alt+", "Alt ")}</kbd></dt><dd>{t(s.label)}</dd></div>)}</dl>
  </aside>;
}
