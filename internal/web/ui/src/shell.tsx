// The frame around every screen.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { commandLine } from "./cli.ts";
import { lang, setLang, t, type Key } from "./i18n/index.ts";
import { focusFilter, modName, shortcuts, startKeys, useShortcuts, type Shortcut } from "./keys.ts";
import { inbox, online, servers } from "./live.ts";
import { Overview } from "./pages/overview.tsx";
import { Palette, paletteOpen } from "./palette.tsx";
import { CopyButton, Empty, IconButton, Notice, Status, Toasts, errorText } from "./parts/basics.tsx";
import { Icon, type IconName } from "./parts/icons.tsx";
import { go, segments } from "./router.ts";
import { dark, session, theme } from "./state.ts";

interface Screen { id: string; icon: IconName; label: Key; load: () => Promise<ComponentType> }

const screens: Screen[] = [
  { id: "overview", icon: "overview", label: "overview", load: async () => Overview },
  { id: "servers", icon: "servers", label: "servers", load: async () => (await import("./pages/servers.tsx")).Servers },
  { id: "traffic", icon: "traffic", label: "traffic", load: async () => (await import("./pages/traffic.tsx")).Traffic },
  { id: "bench", icon: "bench", label: "bench", load: async () => (await import("./bench/page.tsx")).BenchPage },
  { id: "inbox", icon: "inbox", label: "inbox", load: async () => (await import("./pages/inbox.tsx")).InboxPage },
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
  { keys: "g b", label: "bench", run: () => go("/ui/bench") },
  { keys: "g e", label: "settings", run: () => go("/ui/settings") },
];

export function Shell() {
  useShortcuts(global);
  const id = segments.value[0] ?? "overview";
  const screen = screens.find((s) => s.id === id);
  const waiting = inbox.value.length;
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
    <a class={"pill" + (inbox.value.length ? " attention" : "")} href="/ui/inbox" data-testid="inbox-badge">
      {inbox.value.length ? <Status tone="warn">{t("inboxCount", inbox.value.length)}</Status> : t("inbox")}</a>
    <a class="pill" href="/ui/servers"><Status tone={up < counted ? "warn" : "ok"}>{t("upCount", up, counted)}</Status></a>
    <button type="button" class="pill" lang={lang.value === "en" ? "zh-CN" : "en"} data-testid="language"
      onClick={() => setLang(lang.value === "en" ? "zh-CN" : "en")}>{lang.value === "en" ? "中文" : "English"}</button>
    <IconButton icon={dark() ? "sun" : "moon"} label={t("theme")} onClick={() => { theme.value = dark() ? "light" : "dark"; }} testid="theme" />
  </header>;
}

function Nav({ current }: { current: string }) {
  const counts: Record<string, number> = { servers: servers.value.length, inbox: inbox.value.length };
  return <nav aria-label={t("navigation")}>
    {screens.map((s) => <a key={s.id} href={"/ui/" + s.id} aria-current={s.id === current ? "page" : undefined}>
      <Icon name={s.icon} /><span>{t(s.label)}</span>{counts[s.id] ? <i>{counts[s.id]}</i> : null}</a>)}
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
