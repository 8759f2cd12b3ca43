// The fields that say how a server is reached, shared by the config editor and
// the tester's connect form.
import { t } from "../i18n/index.ts";
import { Rows, fromPairs, toPairs, type Pair } from "./rows.tsx";

export interface Endpoint {
  kind: "stdio" | "http" | "sse";
  command: string; args: string; cwd: string; env: Pair[];
  url: string; headers: Pair[];
}

export const emptyEndpoint: Endpoint = { kind: "stdio", command: "", args: "", cwd: "", env: [], url: "", headers: [] };

export function endpointOf(entry: Record<string, any>): Endpoint {
  const kind = entry.url ? (entry.type === "sse" ? "sse" : "http") : "stdio";
  return { kind, command: entry.command ?? "", args: (entry.args ?? []).join("\n"), cwd: entry.cwd ?? "", env: toPairs(entry.env), url: entry.url ?? "", headers: toPairs(entry.headers) };
}

/** fieldsOf are the members of an entry; undefined ones are left out. */
export function fieldsOf(e: Endpoint): Record<string, unknown> {
  const args = e.args.split("\n").map((a) => a.trim()).filter(Boolean);
  const all = e.kind === "stdio"
    ? { command: e.command.trim(), args: args.length ? args : undefined, cwd: e.cwd || undefined, env: fromPairs(e.env) }
    : { type: e.kind, url: e.url.trim(), headers: fromPairs(e.headers) };
  return Object.fromEntries(Object.entries(all).filter(([, v]) => v !== undefined));
}

export const complete = (e: Endpoint) => (e.kind === "stdio" ? !!e.command.trim() : /^https?:\/\/./.test(e.url.trim()));

export function EndpointFields({ value: e, onChange, id }: { value: Endpoint; onChange: (e: Endpoint) => void; id: string }) {
  const set = (part: Partial<Endpoint>) => onChange({ ...e, ...part });
  return <>
    <div class="field"><label for={id + "-kind"}>{t("transport")}</label>
      <select id={id + "-kind"} value={e.kind} onChange={(ev) => set({ kind: ev.currentTarget.value as Endpoint["kind"] })}>
        <option value="stdio">STDIO</option><option value="http">Streamable HTTP</option><option value="sse">SSE</option></select></div>
    {e.kind === "stdio" ? <>
      <div class="field"><label for={id + "-command"}>{t("command")}</label><input id={id + "-command"} class="mono" value={e.command} placeholder="npx" spellcheck={false} onInput={(ev) => set({ command: ev.currentTarget.value })} /></div>
      <div class="field"><label for={id + "-args"}>{t("arguments")} <span class="mut">{t("onePerLine")}</span></label><textarea id={id + "-args"} class="mono" rows={3} value={e.args} spellcheck={false} onInput={(ev) => set({ args: ev.currentTarget.value })} /></div>
      <div class="field"><span class="label">{t("environment")}</span><Rows label={t("environment")} pairs={e.env} secret onChange={(env) => set({ env })} /></div>
      <div class="field"><label for={id + "-cwd"}>{t("directory")}</label><input id={id + "-cwd"} class="mono" value={e.cwd} spellcheck={false} onInput={(ev) => set({ cwd: ev.currentTarget.value })} /></div>
    </> : <>
      <div class="field"><label for={id + "-url"}>URL</label><input id={id + "-url"} class="mono" type="url" value={e.url} placeholder="https://example.com/mcp" spellcheck={false} onInput={(ev) => set({ url: ev.currentTarget.value })} /></div>
      <div class="field"><span class="label">{t("headers")}</span><Rows label={t("headers")} pairs={e.headers} secret onChange={(headers) => set({ headers })} /></div>
    </>}
  </>;
}

/** Confirm shows the command before anything runs. */
export function Confirm({ run, onYes, onNo }: { run: string; onYes: () => void; onNo: () => void }) {
  return <div class="notice warn confirm" role="alertdialog" aria-label={t("willRun")} data-testid="confirm">
    <p>{t("willRun")}</p><pre class="code text">{run}</pre>
    <button type="button" class="button primary" onClick={onYes}>{t("runIt")}</button> <button type="button" class="button" onClick={onNo}>{t("cancel")}</button>
  </div>;
}
