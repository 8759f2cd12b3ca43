import { useEffect, useState } from "preact/hooks";
import { change, path, ApiError } from "../api.ts";
import { command, commandLine, quote } from "../cli.ts";
import { t } from "../i18n/index.ts";
import { servers } from "../live.ts";
import { Notice, errorText, pickFile, toast } from "../parts/basics.tsx";
import { Head } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { go } from "../router.ts";

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
    <div class="scroll editor"><section class="card">
    <div class="field"><label for="import-text">{t("importText")}</label><textarea id="import-text" class="mono" rows={10} spellcheck={false} value={text} placeholder={'{"mcpServers": {"github": {"command": "npx", "args": ["-y", "…"]}}}'} onInput={(e) => load(e.currentTarget.value)} /></div>
    {bad && <Notice tone="err">{bad}</Notice>}
    {found.length > 0 && <table><thead><tr><th><span class="hidden">{t("import")}</span></th><th>{t("server")}</th><th>{t("willRunColumn")}</th></tr></thead><tbody>
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
