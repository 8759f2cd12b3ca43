import { useEffect, useState } from "preact/hooks";
import { change, get, path, type Setting } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { kind } from "../form/scalar.tsx";
import { lang, setLang, t, type Key, type Lang } from "../i18n/index.ts";
import { Notice, errorText, toast, useLoad } from "../parts/basics.tsx";
import { query, setQuery } from "../router.ts";
import { may, session, theme, type Theme } from "../state.ts";

export function SettingsPage() {
  const { value, error, reload } = useLoad(() => get<Setting[]>("settings"), [lang.value]);
  const q = (query.value.get("q") ?? "").toLowerCase();
  useEffect(() => { commandLine.value = command("config", "show"); }, []);
  const list = (value ?? []).filter((s) => (s.key + " " + (s.doc ?? "")).toLowerCase().includes(q));
  const logout = async () => { await change("POST", "logout"); location.reload(); };
  return <div class="page">
    <div class="bar"><h1>{t("settings")}</h1>
      <input type="search" data-filter value={query.value.get("q") ?? ""} placeholder={t("filter") + "  /"} aria-label={t("filter")} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
      <span class="space" /><span class="mut">{t("loggedIn", session.value!.name, session.value!.scope)} · {session.value!.version}</span>
      <button type="button" class="button" onClick={() => void logout()}>{t("logout")}</button></div>
    <section class="card" aria-labelledby="h-browser"><h2 id="h-browser">{t("thisBrowser")}</h2>
      <div class="two"><div class="field"><label for="set-lang">{t("language")}</label><select id="set-lang" value={lang.value} onChange={(e) => setLang(e.currentTarget.value as Lang)}><option value="en">English</option><option value="zh-CN">简体中文</option></select></div>
        <div class="field"><label for="set-theme">{t("theme")}</label><select id="set-theme" value={theme.value} onChange={(e) => { theme.value = e.currentTarget.value as Theme; }}><option value="auto">{t("themeAuto")}</option><option value="light">{t("themeLight")}</option><option value="dark">{t("themeDark")}</option></select></div></div>
    </section>
    {error && <Notice tone="err">{error}</Notice>}
    <div class="table-scroll" tabIndex={0} role="group" aria-label={t("settings")}><table class="settings stack">
      <thead><tr><th>{t("setting")}</th><th>{t("value")}</th><th>{t("default")}</th><th>{t("source")}</th></tr></thead>
      <tbody>{list.map((s) => <Row key={s.key} s={s} onSaved={reload} />)}</tbody></table></div>
  </div>;
}

/** show is a value as it is typed; what is not set is empty. */
const show = (v: unknown) => (v === null || v === undefined ? "" : typeof v === "string" ? v : JSON.stringify(v));

/** automatic says that the program chooses the value: port 0 is not where it listens. */
const automatic = (key: string, v: unknown) => key === "server.port" && v === 0;

function Row({ s, onSaved }: { s: Setting; onSaved: () => void }) {
  const [text, setText] = useState<string>();
  const [error, setError] = useState("");
  const save = async (typed: string) => {
    let v: unknown = typed;
    if (typeof s.value !== "string") { try { v = typed.trim() ? JSON.parse(typed) : null; } catch (e) { setError(errorText(e)); return; } }
    try {
      await change("PUT", path("settings", s.key), { value: v });
      toast(t(s.restart ? "savedRestart" : "saved", s.key));
      setText(undefined);
      setError("");
      onSaved();
    } catch (e) { setError(errorText(e)); }
  };
  const id = "set-" + s.key, chosen = automatic(s.key, s.value);
  return <tr><td class="line"><label for={id}><code>{s.key}</code></label><div class="mut">{s.doc}</div></td>
    <td class="line">{s.choices ? <select id={id} value={show(s.value)} disabled={!may("admin")} onChange={(e) => void save(e.currentTarget.value)}>{s.choices.map((c) => <option key={c}>{c}</option>)}</select>
      : <form onSubmit={(e) => { e.preventDefault(); if (text !== undefined) void save(text); }}>
        <input id={id} class="mono" {...kind(s.secret ? "password" : "text")} value={text ?? (chosen ? "" : show(s.value))} placeholder={chosen ? t("automaticNow", new URL(session.value!.endpoint).port) : undefined} disabled={!may("admin")} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} />
        {text !== undefined && <button type="submit" class="link">{t("save")}</button>}</form>}
      {error && <div class="err">{error}</div>}</td>
    <td class="mut" data-label={t("default")}><code>{automatic(s.key, s.default) ? t("automatic") : show(s.default) || "–"}</code></td>
    <td><span class="tag">{t(`source_${s.source}` as Key)}</span>{s.restart && <span class="tag">{t("needsRestart")}</span>}</td></tr>;
}
