import { useState } from "preact/hooks";
import { ApiError, change, path, type ServerDetail } from "../api.ts";
import { t } from "../i18n/index.ts";
import { Notice, Tabs, Panel, errorText, toast } from "../parts/basics.tsx";
import { Confirm, EndpointFields, complete, edited, endpointOf } from "../parts/endpoint.tsx";
import { may } from "../state.ts";
import { scriptsOf } from "./server_scripts.tsx";

const shown = ["command", "args", "cwd", "env", "url", "headers", "type"];

/** ServerEdit changes the entry of a server. */
export function ServerEdit({ detail, onSaved }: { detail: ServerDetail; onSaved: () => void }) {
  const { name, schema } = detail;
  const [end, setEnd] = useState(endpointOf(detail.entry ?? {}));
  // Scripts have a tab of their own.
  const forms = !scriptsOf(detail.entry);
  const [mode, setMode] = useState(forms ? "form" : "json");
  const [text, setText] = useState(forms ? "" : JSON.stringify(detail.entry, null, 2));
  const [error, setError] = useState("");
  const [run, setRun] = useState("");
  const rest = Object.fromEntries(Object.entries(detail.entry ?? {}).filter(([k]) => !shown.includes(k)));
  const entry = () => edited(detail.entry ?? {}, end);
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
      onSaved();
    } catch (e) {
      if (e instanceof ApiError && e.run) setRun(e.run);
      else setError(errorText(e));
    }
  };
  const ready = may("admin") && (mode === "json" || complete(end));
  return <form class="page" onSubmit={(e) => { e.preventDefault(); if (ready) void save(); }}>
    <div class="scroll editor"><section class="card">
    {forms && <Tabs name="edit" label={t("config")} selected={mode} onSelect={switchMode} tabs={[{ id: "form", label: t("form") }, { id: "json", label: "JSON" }]} />}
    <Panel name="edit" selected={mode}>
      {mode === "form" ? <EndpointFields id="s" value={end} onChange={setEnd} />
        : <div class="field"><label for="s-json">{t("entry")}</label><textarea id="s-json" class="mono" rows={14} value={text} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} /></div>}
      <p class="mut">{t("secretsKept")}{Object.keys(rest).length ? " " + t("otherKeys", Object.keys(rest).join(", ")) : ""}</p>
      {error && <Notice tone="err">{error}</Notice>}
      {run && <Confirm run={run} onYes={() => void save(run)} onNo={() => setRun("")} />}
      <div class="bar"><button type="submit" class="button primary" disabled={!ready}>{t("save")}</button></div>
    </Panel></section></div>
  </form>;
}
