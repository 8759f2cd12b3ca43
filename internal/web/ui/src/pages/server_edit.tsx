import { useEffect, useState } from "preact/hooks";
import { ApiError, change, path, type ServerDetail } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { t } from "../i18n/index.ts";
import { Notice, Tabs, Panel, errorText, toast } from "../parts/basics.tsx";
import { Confirm, EndpointFields, complete, edited, emptyEndpoint, endpointOf, fieldsOf } from "../parts/endpoint.tsx";
import { Head } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, href } from "../router.ts";
import { may } from "../state.ts";

const shown = ["command", "args", "cwd", "env", "url", "headers", "type"];

/** ServerEdit adds a server, or changes the one it is given. */
export function ServerEdit({ detail, onSaved }: { detail?: ServerDetail; onSaved?: () => void }) {
  const [name, setName] = useState(detail?.name ?? "");
  const [schema, setSchema] = useState(detail?.schema ?? "default");
  const [end, setEnd] = useState(detail ? endpointOf(detail.entry ?? {}) : emptyEndpoint);
  const [mode, setMode] = useState("form");
  const [text, setText] = useState("");
  const [error, setError] = useState("");
  const [run, setRun] = useState("");
  const rest = Object.fromEntries(Object.entries(detail?.entry ?? {}).filter(([k]) => !shown.includes(k)));
  const entry = () => edited(detail?.entry ?? {}, end);
  useEffect(() => {
    if (detail) return;
    const f = fieldsOf(end) as { command?: string; args?: string[]; url?: string };
    commandLine.value = command("add", name || "NAME", ...(f.url ? [f.url] : ["--", f.command || "COMMAND", ...(f.args ?? [])]));
  }, [name, end]);
  const switchMode = (m: string) => {
    setError("");
    if (m === "json") setText(JSON.stringify(entry(), null, 2));
    else {
      try { setEnd(endpointOf(JSON.parse(text))); } catch (e) { setError(errorText(e)); return; }
    }
    setMode(m);
  };
  const save = async (confirm?: string) => {
    setError("");
    setRun("");
    let body: unknown;
    try { body = mode === "json" ? JSON.parse(text) : entry(); } catch (e) { setError(errorText(e)); return; }
    try {
      await change("PUT", path("servers", schema, name), { entry: body, confirm: confirm ?? "" });
      toast(t("saved", name));
      onSaved ? onSaved() : go(href(["servers", schema, name]));
    } catch (e) {
      if (e instanceof ApiError && e.run) setRun(e.run);
      else setError(errorText(e));
    }
  };
  const ready = may("admin") && !!name && (mode === "json" || complete(end));
  return <form class="page" onSubmit={(e) => { e.preventDefault(); if (ready) void save(); }}>
    {!detail && <Head title={<><a href="/ui/servers">{t("servers")}</a> / {t("addServer")}</>}><a class="button" href="/ui/servers/import"><Icon name="upload" />{t("import")}</a></Head>}
    <div class="scroll editor"><section class="card">
    <Tabs name="edit" label={t("config")} selected={mode} onSelect={switchMode} tabs={[{ id: "form", label: t("form") }, { id: "json", label: "JSON" }]} />
    <Panel name="edit" selected={mode}>
      {!detail && <div class="two">
        <div class="field"><label for="s-name">{t("name")} <span class="err">*</span></label><input id="s-name" class="mono" value={name} spellcheck={false} onInput={(e) => setName(e.currentTarget.value.trim())} /></div>
        <div class="field"><label for="s-schema">{t("schema")}</label><input id="s-schema" class="mono" value={schema} spellcheck={false} onInput={(e) => setSchema(e.currentTarget.value.trim())} /></div>
      </div>}
      {mode === "form" ? <EndpointFields id="s" value={end} onChange={setEnd} />
        : <div class="field"><label for="s-json">{t("entry")}</label><textarea id="s-json" class="mono" rows={14} value={text} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} /></div>}
      <p class="mut">{t("secretsKept")}{Object.keys(rest).length ? " " + t("otherKeys", Object.keys(rest).join(", ")) : ""}</p>
      {error && <Notice tone="err">{error}</Notice>}
      {run && <Confirm run={run} onYes={() => void save(run)} onNo={() => setRun("")} />}
      <div class="bar"><button type="submit" class="button primary" disabled={!ready}>{t(detail ? "save" : "addServer")}</button></div>
    </Panel></section></div>
  </form>;
}
