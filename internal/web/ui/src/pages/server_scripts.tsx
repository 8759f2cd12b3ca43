// The scripts of a server: their code and input schema, and the form that adds or changes one.
import { useEffect, useState } from "preact/hooks";
import { change, path, type ServerDetail } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { t } from "../i18n/index.ts";
import { servers } from "../live.ts";
import { Empty, Notice, errorText, toast } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { Switch } from "../parts/switch.tsx";
import { go, href } from "../router.ts";
import { may } from "../state.ts";
import { Launch } from "./server_launch.tsx";

/** A Script is a tool that is written in the entry of a server. */
interface Script { description?: string; arguments?: unknown; code?: string; file?: string; readOnly?: boolean; timeout?: string }

export const scriptsOf = (entry: Record<string, unknown> | null | undefined) => entry?.scripts as Record<string, Script> | undefined;

/** save writes the scripts of an entry; they run after a person has approved them. */
const save = (schema: string, server: string, entry: Record<string, unknown>, scripts: Record<string, Script>) => change("PUT", path("servers", schema, server), { entry: { ...entry, scripts }, confirm: "" });

/** ScriptsTab shows the scripts of a server. */
export function ScriptsTab({ d, reload }: { d: ServerDetail; reload: () => void }) {
  const scripts = scriptsOf(d.entry) ?? {}, names = Object.keys(scripts), admin = may("admin");
  const [open, setOpen] = useState<string>(); // "" is a new one
  const put = async (was: string, name: string, script: Script) => {
    const list = Object.entries(scripts).map(([k, s]): [string, Script] => (k === was ? [name, script] : [k, s]));
    await save(d.schema, d.name, d.entry!, Object.fromEntries(was ? list : [...list, [name, script]]));
    setOpen(undefined);
    toast(t("scriptSaved", name));
    reload();
  };
  const drop = async (name: string) => {
    const keep = (list: Record<string, Script>) => save(d.schema, d.name, d.entry!, list).then(reload);
    try {
      await keep(Object.fromEntries(Object.entries(scripts).filter(([k]) => k !== name)));
      toast(t("removed", name), { label: "undo", run: () => void keep(scripts).catch((e) => toast(errorText(e), undefined, "err")) });
    } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  return <div class="scroll server-body"><div class="wide stack">
    {d.approval?.entry && <Launch entry={d.entry ?? {}} whole={d.approval.entry} />}
    <div class="row"><p class="mut grow">{t("scriptsText")}</p>{admin && <button type="button" class="button" data-testid="add-script" onClick={() => setOpen("")}><Icon name="plus" />{t("addScript")}</button>}</div>
    {open === "" && <section class="card" aria-labelledby="h-new-script"><h2 id="h-new-script">{t("addScript")}</h2><ScriptForm taken={names} onSave={(name, s) => put("", name, s)} onCancel={() => setOpen(undefined)} /></section>}
    {names.map((name) => open === name
      ? <section class="card" key={name} aria-label={name}><ScriptForm name={name} script={scripts[name]} taken={names.filter((n) => n !== name)} onSave={(to, s) => put(name, to, s)} onCancel={() => setOpen(undefined)} /></section>
      : <ScriptCard key={name} d={d} name={name} script={scripts[name]!} onEdit={admin ? () => setOpen(name) : undefined} onRemove={admin && names.length > 1 ? () => void drop(name) : undefined} />)}
    {!names.length && <Empty>{t("catalogEmpty")}</Empty>}
  </div></div>;
}

function ScriptCard({ d, name, script: s, onEdit, onRemove }: { d: ServerDetail; name: string; script: Script; onEdit?: () => void; onRemove?: () => void }) {
  const id = "h-script-" + name;
  return <section class="card flush script-card" aria-labelledby={id} data-testid={"script-" + name}>
    <header><h2 id={id}><code>{name}</code></h2>{s.readOnly && <span class="tag">{t("readOnly")}</span>}{s.timeout && <span class="mut">{t("timeoutIs", s.timeout)}</span>}
      <span class="end row">{d.state === "up" && <a class="button small" href={href(["bench", d.name, "tools", name])}><Icon name="bench" />{t("openInBench")}</a>}
        {onEdit && <button type="button" class="button small" onClick={onEdit}><Icon name="edit" />{t("edit")}</button>}{onRemove && <button type="button" class="button small danger" onClick={onRemove}>{t("remove")}</button>}</span></header>
    <div class="body">{s.description ? <p>{s.description}</p> : <p class="mut">{t("noDescription")}</p>}
      <div class="cols"><div class="c8"><h3>{t("scriptCode")}{s.file && <> <code class="mut">{s.file}</code></>}</h3><pre class="code text" tabIndex={0} role="group" aria-label={`${t("scriptCode")} ${name}`}>{s.code ?? d.code?.[name] ?? t("scriptInFile", s.file ?? "")}</pre></div>
        <div class="c4"><h3>{t("inputSchema")}</h3>{s.arguments === undefined ? <p class="mut">{t("noArguments")}</p> : <pre class="code text" tabIndex={0} role="group" aria-label={`${t("inputSchema")} ${name}`}>{JSON.stringify(s.arguments, null, 2)}</pre>}</div></div></div>
  </section>;
}

interface FormProps { name?: string; script?: Script; taken: string[]; onSave: (name: string, s: Script) => Promise<unknown>; onCancel?: () => void; ready?: boolean; children?: preact.ComponentChildren }

/** ScriptForm edits one script. What it does not show, such as a timeout, stays as it is. */
function ScriptForm({ name: was = "", script: old = {}, taken, onSave, onCancel, ready: allowed = true, children }: FormProps) {
  const [name, setName] = useState(was);
  const [s, setScript] = useState(old);
  const [schema, setSchema] = useState(old.arguments === undefined ? "" : JSON.stringify(old.arguments, null, 2));
  const [error, setError] = useState("");
  const set = (part: Partial<Script>) => setScript({ ...s, ...part });
  const ready = allowed && name && !taken.includes(name) && (s.file || s.code?.trim());
  const send = async () => {
    try {
      const { arguments: _, readOnly, description, ...rest } = s;
      const given = schema.trim() ? JSON.parse(schema) : undefined;
      await onSave(name, { ...(description ? { description } : {}), ...rest, ...(readOnly ? { readOnly } : {}), ...(given === undefined ? {} : { arguments: given }) });
    } catch (e) { setError(errorText(e)); }
  };
  return <form class="script-form" onSubmit={(e) => { e.preventDefault(); if (ready) void send(); }}>
    {children}
    <div class="field"><label for="sc-name">{t("scriptName")} <span class="err">*</span></label><input id="sc-name" class="mono" value={name} spellcheck={false} autocomplete="off" aria-invalid={taken.includes(name)} onInput={(e) => setName(e.currentTarget.value.trim())} />{taken.includes(name) && <span class="err" role="alert">{t("trouble_duplicate")}</span>}</div>
    <div class="field"><label for="sc-description">{t("description")}</label><input id="sc-description" value={s.description ?? ""} aria-describedby="sc-description-d" onInput={(e) => set({ description: e.currentTarget.value })} /><span class="hint" id="sc-description-d">{t("scriptDescriptionHint")}</span></div>
    {s.file ? <div class="field"><span class="label">{t("scriptCode")}</span><p class="mut">{t("scriptInFile", s.file)}</p></div>
      : <div class="field"><label for="sc-code">{t("scriptCode")} <span class="err">*</span></label><textarea id="sc-code" class="mono" rows={12} spellcheck={false} value={s.code ?? ""} placeholder={"const {sum} = await tools.demo.add(args);\nreturn sum"} aria-describedby="sc-code-d" onInput={(e) => set({ code: e.currentTarget.value })} /><span class="hint" id="sc-code-d">{t("scriptCodeHint")}</span></div>}
    <div class="field"><label for="sc-schema">{t("inputSchema")}</label><textarea id="sc-schema" class="mono" rows={6} spellcheck={false} value={schema} placeholder={'{"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}'} aria-describedby="sc-schema-d" onInput={(e) => setSchema(e.currentTarget.value)} /><span class="hint" id="sc-schema-d">{t("inputSchemaHint")}</span></div>
    <div class="row switch-row"><Switch id="sc-readonly" on={!!s.readOnly} label={t("readOnly")} onChange={(readOnly) => set({ readOnly })} /><span><label for="sc-readonly">{t("readOnly")}</label><small class="mut">{t("readOnlyHint")}</small></span></div>
    {error && <Notice tone="err">{error}</Notice>}
    <div class="bar"><button type="submit" class="button primary" disabled={!ready}>{t("save")}</button>{onCancel && <button type="button" class="button" onClick={onCancel}>{t("cancel")}</button>}<span class="mut">{t("scriptWaits")}</span></div>
  </form>;
}

/** NewScripts adds a server of one script. */
export function NewScripts() {
  const [server, setServer] = useState("");
  useEffect(() => { commandLine.value = command("config", "edit"); }, []);
  const used = servers.value.some((s) => s.schema === "default" && s.name === server);
  const add = async (name: string, s: Script) => {
    await save("default", server, {}, { [name]: s });
    toast(t("scriptSaved", name));
    go(href(["servers", "default", server], { tab: "scripts" }));
  };
  return <><p class="mut">{t("scriptsText")}</p><ScriptForm taken={[]} onSave={add} ready={!!server && !used}>
    <div class="field"><label for="sc-server">{t("scriptServer")} <span class="err">*</span></label><input id="sc-server" class="mono" value={server} placeholder="reports" spellcheck={false} autocomplete="off" aria-invalid={used} onInput={(e) => setServer(e.currentTarget.value.trim())} />{used && <span class="err" role="alert">{t("trouble_duplicate")}</span>}</div></ScriptForm></>;
}
