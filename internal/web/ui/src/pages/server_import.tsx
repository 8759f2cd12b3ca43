import { useEffect, useState } from "preact/hooks";
import { change, get, path, ApiError, type Importable, type Program } from "../api.ts";
import { command, commandLine, quote } from "../cli.ts";
import { lang, t } from "../i18n/index.ts";
import { servers } from "../live.ts";
import { Notice, Status, errorText, pickFile, toast, useLoad } from "../parts/basics.tsx";
import { Head } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, query } from "../router.ts";

interface Found { name: string; entry: Record<string, any>; known: boolean; line: string }

/** read finds the servers in the configuration of any client. */
export function read(text: string): { name: string; entry: Record<string, any> }[] {
  const doc = JSON.parse(text);
  const list = doc.mcpServers ?? doc.servers ?? doc.context_servers ?? doc.mcp ?? doc;
  return Object.entries(list as Record<string, any>).filter(([, e]) => e && typeof e === "object").map(([name, e]) => {
    if (Array.isArray(e.command)) return { name, entry: { ...e, command: e.command[0], args: e.command.slice(1) } };
    const url = e.url ?? e.serverUrl ?? e.httpUrl;
    return { name, entry: url && !e.url ? { ...e, url, serverUrl: undefined, httpUrl: undefined } : e };
  }).filter((s) => s.entry.command || s.entry.url || s.entry.scripts);
}

export function ServerImport() {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [error, setError] = useState("");
  useEffect(() => { commandLine.value = command("import"); }, []);
  let found: Found[] = [];
  let bad = "";
  if (text.trim()) {
    try {
      found = read(text).map((s) => ({ ...s, known: servers.value.some((x) => x.name === s.name), line: s.entry.scripts ? `${t("scripts")}: ${Object.keys(s.entry.scripts).join(", ")}` : s.entry.url ?? [s.entry.command, ...(s.entry.args ?? [])].map(quote).join(" ") }));
    } catch (e) { bad = errorText(e); }
  }
  const load = (s: string) => {
    setText(s);
    try { setChosen(new Set(read(s).map((x) => x.name).filter((n) => !servers.value.some((y) => y.name === n)))); } catch { setChosen(new Set()); }
  };
  const save = async () => {
    setError("");
    for (const s of found.filter((x) => chosen.has(x.name))) {
      try {
        await change("PUT", path("servers", "default", s.name), { entry: s.entry, confirm: s.line });
      } catch (e) {
        setError(`${s.name}: ${e instanceof ApiError && e.run ? t("willRun") + " " + e.run : errorText(e)}`);
        return;
      }
    }
    toast(t("imported", chosen.size));
    go("/ui/servers");
  };
  return <div class="page"><Head title={<><a href="/ui/servers">{t("servers")}</a> / {t("import")}</>}>
      <button type="button" class="button" onClick={() => void pickFile(".json,application/json").then(load)}><Icon name="upload" />{t("chooseFile")}</button></Head>
    <div class="scroll editor"><FromPrograms /><section class="card">
    <div class="field"><label for="import-text">{t("importText")}</label><textarea id="import-text" class="mono" rows={10} spellcheck={false} value={text} placeholder={'{"mcpServers": {"github": {"command": "npx", "args": ["-y", "…"]}}}'} onInput={(e) => load(e.currentTarget.value)} /></div>
    {bad && <Notice tone="err">{bad}</Notice>}
    {found.length > 0 && <table class="import-list"><thead><tr><th><span class="hidden">{t("import")}</span></th><th>{t("server")}</th><th>{t("willRunColumn")}</th></tr></thead><tbody>
      {found.map((s) => <tr key={s.name}><td><input type="checkbox" aria-label={s.name} checked={chosen.has(s.name)} onChange={() => {
        const next = new Set(chosen);
        if (!next.delete(s.name)) next.add(s.name);
        setChosen(next);
      }} /></td><td><b>{s.name}</b> {s.known && <span class="warn">{t("replaces")}</span>}</td><td><code>{s.line}</code></td></tr>)}
    </tbody></table>}
    {error && <Notice tone="err">{error}</Notice>}
    <div class="bar"><button type="button" class="button primary" disabled={!chosen.size} onClick={() => void save()}>{chosen.size ? t("importCount", chosen.size) : t("import")}</button></div>
    </section></div></div>;
}

/** FromPrograms imports servers of the programs on this machine. */
function FromPrograms() {
  const { value: list } = useLoad(() => get<Importable[]>("programs/servers"), [servers.value.length, lang.value]);
  const { value: programs } = useLoad(() => get<Program[]>("programs"), []);
  const from = query.value.get("from")?.split(",");
  const idOf = (s: Importable) => s.program + "/" + s.name;
  const [flipped, setFlipped] = useState<ReadonlySet<string>>(new Set());
  const [error, setError] = useState("");
  if (!list?.length) return null;
  // Of servers with one name the first is chosen.
  const wanted = list.filter((s) => s.adds && (!from || from.includes(s.program)));
  const chosen = (s: Importable) => s.adds && (wanted.find((x) => x.name === s.name) === s) !== flipped.has(idOf(s));
  const picked = list.filter(chosen);
  const flip = (s: Importable) => { const next = new Set(flipped); if (!next.delete(idOf(s))) next.add(idOf(s)); setFlipped(next); };
  const save = async () => {
    setError("");
    try {
      const done = await change<Importable[]>("POST", "programs/import", { servers: picked });
      const left = done.filter((s) => !s.adds);
      toast(t("imported", done.length - left.length));
      if (left.length) setError(left.map((s) => `${s.name}: ${s.outcome}`).join("\n"));
      else go("/ui/servers");
    } catch (e) { setError(errorText(e)); }
  };
  return <section class="card" aria-labelledby="h-found" data-testid="from-programs"><h2 id="h-found">{t("foundHere")}</h2>
    <table class="import-list"><thead><tr><th><span class="hidden">{t("import")}</span></th><th>{t("server")}</th><th>{t("client")}</th><th>{t("willRunColumn")}</th></tr></thead><tbody>
      {list.map((s) => <tr key={idOf(s)}><td><input type="checkbox" aria-label={`${s.name} ${s.program}`} disabled={!s.adds} checked={chosen(s)} onChange={() => flip(s)} /></td><td><b>{s.name}</b></td>
        <td>{programs?.find((p) => p.id === s.program)?.name ?? s.program}</td><td>{s.adds ? <code>{s.run}</code> : <Status tone="idle">{s.outcome}</Status>}{s.notes?.map((n) => <div key={n} class="mut">{n}</div>)}</td></tr>)}
    </tbody></table>
    {error && <Notice tone="err">{error}</Notice>}
    <div class="bar"><button type="button" class="button primary" disabled={!picked.length} onClick={() => void save()}>{t("importServers", picked.length)}</button></div>
  </section>;
}
