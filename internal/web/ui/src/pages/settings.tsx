// Settings: the value, where it comes from, and whether a change needs a
// restart.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change, get, path, type Setting } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { kind } from "../form/scalar.tsx";
import { lang, setLang, t, type Key, type Lang } from "../i18n/index.ts";
import { online } from "../live.ts";
import { Empty, Notice, errorText, toast, useLoad } from "../parts/basics.tsx";
import { Head, Skeleton } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { Segments, Switch } from "../parts/switch.tsx";
import { query, setQuery } from "../router.ts";
import { may, roomy, session, theme, type Theme } from "../state.ts";
import { AsJSON } from "./settings_json.tsx";

/** groups assign keys to groups by their prefix; the first match counts. */
const groups: [Key, RegExp][] = [
  ["grp_web", /^server\.cors\./], ["grp_gateway", /^(server\.|startWait|compat|roots|cli\.)/], ["grp_tools", /^(mode|naming|fit|compact\.)/], ["grp_limits", /^limits\./],
  ["grp_access", /^(access\.|tokens)/], ["grp_answers", /^(sampling\.|answers\.)/], ["grp_log", /^(logging\.|audit\.)/], ["grp_telemetry", /^(metrics\.|tracing\.|usage\.)/], ["grp_advanced", /./],
];
const order: Key[] = ["grp_gateway", "grp_tools", "grp_limits", "grp_access", "grp_web", "grp_answers", "grp_log", "grp_telemetry", "grp_advanced"];
const groupOf = (s: Setting) => groups.find(([, re]) => re.test(s.key))![0];

/** names are parts of keys that a title needs, as they are written. */
const names: Record<string, string> = { tls: "TLS", acme: "ACME", nats: "NATS", webhook: "Webhook" };

/** titleOf makes a title of a key: server.cors.allowAnyOrigin is "Allow any origin", server.tls.cert is "TLS cert". */
export function titleOf(key: string): string {
  const parts = key.split("."), words = parts.slice(parts.length > 2 ? -1 : 1).join(" ") || key;
  const text = (parts.length === 2 && /^(file|enabled|url|key|maxSize|maxFiles|types)$/.test(parts[1]!) ? parts.join(" ") : words).replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  const of = parts.length > 2 ? names[parts.at(-2)!] : undefined;
  return of ? `${of} ${text}` : text[0]!.toUpperCase() + text.slice(1);
}

/** said splits the description of a key into a title and the rest: a Chinese one begins with what it is. */
function said(s: Setting): [title: ComponentChildren, rest: string] {
  if (lang.value === "en") return [titleOf(s.key), s.doc ?? ""];
  const [, title, rest] = /^([^；。，：]{2,24})[；。，：](.*)$/s.exec(s.doc ?? "") ?? [];
  return title ? [title, rest!] : [<code>{s.key}</code>, s.doc ?? ""];
}

export function SettingsPage() {
  const { value, error, reload } = useLoad(() => get<Setting[]>("settings"), [lang.value, online.value]);
  const q = (query.value.get("q") ?? "").toLowerCase();
  useEffect(() => { commandLine.value = command("config", "show"); }, []);
  const list = (value ?? []).filter((s) => (s.key + " " + titleOf(s.key) + " " + (s.doc ?? "")).toLowerCase().includes(q));
  const by = order.map((g) => ({ g, list: list.filter((s) => groupOf(s) === g) })).filter((x) => x.list.length);
  const waiting = (value ?? []).filter((s) => s.waits), json = query.value.get("as") === "json";
  const restart = () => void change("POST", "restart").then(() => toast(t("restarting")), (e) => toast(errorText(e), undefined, "err"));
  const jump = (id: string) => document.getElementById(id)?.scrollIntoView({ block: "start" });
  return <div class="page settings-page">
    <Head title={t("settings")} what={session.value!.version}>
      {!json && <label class="with-icon find-setting"><Icon name="search" /><input type="search" data-filter value={query.value.get("q") ?? ""} placeholder={t("findSetting")} aria-label={t("filter")} onInput={(e) => setQuery({ q: e.currentTarget.value })} /><kbd aria-hidden="true">/</kbd></label>}
      {may("admin") && !json && <button type="button" class="button" onClick={() => setQuery({ as: "json" })}><Icon name="edit" />{t("editJSON")}</button>}
    </Head>
    {json ? <AsJSON onClose={() => { setQuery({ as: undefined }); reload(); }} /> : <div class="set"><nav aria-label={t("settings")}><button type="button" onClick={() => jump("grp_browser")}>{t("grp_browser")}</button>{by.map(({ g, list }) => <button type="button" key={g} onClick={() => jump(g)}>{t(g)}<span class="n">{list.length}</span></button>)}</nav>
      <div class="scroll" tabIndex={0} role="group" aria-label={t("settings")}>
        {waiting.length > 0 && <Notice tone="info"><div class="row"><span class="grow">{t("restartBanner", waiting.map((s) => s.key).join(", "))}</span><button type="button" class="button small" onClick={restart}>{t("restartNow")}</button></div></Notice>}
        {error && <Notice tone="err">{error}</Notice>}
        {!q && <Browser />}
        {!value && !error && <Skeleton cards={["c12"]} rows={8} />}
        {by.map(({ g, list }) => <section class="card flush" id={g} key={g} aria-labelledby={g + "-h"}><header><h2 id={g + "-h"}>{t(g)}</h2></header>{list.map((s) => <Row key={s.key} s={s} onSaved={reload} />)}</section>)}
        {value && !by.length && <Empty><b>{t("noSettings")}</b><button type="button" class="button" onClick={() => setQuery({ q: undefined })}>{t("clearFilter")}</button></Empty>}
      </div></div>}
  </div>;
}

function Browser() {
  const logout = async () => { await change("POST", "logout"); location.reload(); };
  const row = (title: string, doc: string, control: preact.ComponentChildren) => <div class="sr"><div><div class="t">{title}</div>{doc && <div class="d">{doc}</div>}</div><div class="v">{control}</div></div>;
  return <section class="card flush" id="grp_browser" aria-labelledby="h-browser"><header><h2 id="h-browser">{t("grp_browser")}</h2></header>
    {row(t("theme"), "", <Segments id="set-theme" label={t("theme")} value={theme.value} onChange={(v: Theme) => { theme.value = v; }} choices={[["auto", t("themeAuto")], ["light", t("themeLight")], ["dark", t("themeDark")]]} />)}
    {row(t("language"), "", <Segments id="set-lang" label={t("language")} value={lang.value} onChange={(v: Lang) => setLang(v)} choices={[["en", "English"], ["zh-CN", "简体中文"]]} />)}
    {row(t("rowHeight"), "", <Segments id="set-rows" label={t("rowHeight")} value={roomy.value ? "roomy" : "compact"} onChange={(v) => { roomy.value = v === "roomy"; }} choices={[["compact", t("rowsCompact")], ["roomy", t("rowsRoomy")]]} />)}
    {row(t("signedInAs"), t("loggedIn", session.value!.name, session.value!.scope), <button type="button" class="button" onClick={() => void logout()}>{t("logout")}</button>)}
    {row(t("licences"), t("licencesDoc"), <a class="button" href="/ui/THIRD_PARTY_NOTICES.txt" target="_blank" rel="noreferrer">{t("open")}</a>)}
  </section>;
}

/** show returns a value as the user types it; an unset value is empty. */
const show = (v: unknown) => (v === null || v === undefined ? "" : typeof v === "string" ? v : JSON.stringify(v));

/** automatic reports whether the program chooses the value: port 0 is not the port it listens on. */
const automatic = (key: string, v: unknown) => key === "server.port" && v === 0;

function Row({ s, onSaved }: { s: Setting; onSaved: () => void }) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState("");
  const [done, setDone] = useState(false);
  const write = async (v: unknown) => {
    try {
      await change("PUT", path("settings", s.key), { value: v });
      setText(undefined);
      setError("");
      setDone(true);
      setTimeout(() => setDone(false), 2000);
      onSaved();
    } catch (e) { setError(errorText(e)); throw e; }
  };
  const save = (typed: string) => {
    let v: unknown = typed;
    if (typeof s.value !== "string") { try { v = typed.trim() ? JSON.parse(typed) : null; } catch (e) { setError(errorText(e)); return; } }
    void write(v).catch(() => {});
  };
  const flip = (on: boolean) => void write(on).then(() => toast(t(s.restart ? "savedRestart" : "saved", s.key), { label: "undo", run: () => void write(!on).catch(() => {}) }), () => {});
  const id = "set-" + s.key, chosen = automatic(s.key, s.value), off = !may("admin");
  const [title, doc] = said(s);
  const standard = automatic(s.key, s.default) ? t("automatic") : show(s.default);
  return <div class="sr" data-testid={"setting-" + s.key}><div><div class="t"><label for={id}>{title}</label>
    {s.source !== "default" && <span class="tag line">{t("setBy", t(`source_${s.source}` as Key))}</span>}{s.waits && <span class="tag warn">{t("needsRestart")}</span>}</div>
    <div class="d">{doc} {typeof title === "string" && <code>{s.key}</code>}{s.source !== "default" && standard && typeof s.value !== "boolean" ? ` · ${t("defaultIs", standard)}` : ""}</div>
    {error && <div class="err" role="alert">{error}</div>}</div>
    <div class="v">{done && <span class="mut" role="status">{t("savedShort")}</span>}
      {typeof s.value === "boolean" ? <Switch id={id} on={s.value} label={s.key} disabled={off} onChange={flip} />
        : s.choices ? <select id={id} value={show(s.value)} disabled={off} onChange={(e) => save(e.currentTarget.value)}>{!s.choices.includes(show(s.value)) && <option value={show(s.value)}>{show(s.value) || "–"}</option>}{s.choices.map((c) => <option key={c}>{c}</option>)}</select>
          : <form onSubmit={(e) => { e.preventDefault(); if (text !== undefined) save(text); }}>{text !== undefined && text !== show(s.value) && <button type="submit" class="button primary small">{t("save")}</button>}
            <input id={id} class={typeof s.value === "number" ? "mono r" : "mono"} {...kind(s.secret ? "password" : "text")} value={text ?? (chosen ? "" : show(s.value))} placeholder={chosen ? t("automaticNow", new URL(session.value!.endpoint).port) : undefined} disabled={off} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} /></form>}</div></div>;
}
