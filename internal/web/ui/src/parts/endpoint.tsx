// The fields of a server's connection, shared by the config editor and the
// tester's connect form.
import { t } from "../i18n/index.ts";
import { IconButton } from "./basics.tsx";
import { Icon } from "./icons.tsx";
import { Rows, fromPairs, toPairs, type Pair, type Vault } from "./rows.tsx";

export interface Endpoint {
  kind: "stdio" | "http" | "sse";
  command: string; args: string[]; cwd: string; env: Pair[];
  url: string; headers: Pair[];
}

export const emptyEndpoint: Endpoint = { kind: "stdio", command: "", args: [], cwd: "", env: [], url: "", headers: [] };

export function endpointOf(entry: Record<string, any>): Endpoint {
  const kind = entry.url ? (entry.type === "sse" ? "sse" : "http") : "stdio";
  return { kind, command: entry.command ?? "", args: (entry.args ?? []).map(String), cwd: entry.cwd ?? "", env: toPairs(entry.env), url: entry.url ?? "", headers: toPairs(entry.headers) };
}

/** fieldsOf returns the members of an entry, without undefined ones. Arguments stay as typed, including spaces and line breaks. */
export function fieldsOf(e: Endpoint): Record<string, unknown> {
  const all = e.kind === "stdio"
    ? { command: e.command.trim(), args: e.args.length ? e.args : undefined, cwd: e.cwd || undefined, env: fromPairs(e.env) }
    : { type: e.kind, url: e.url.trim(), headers: fromPairs(e.headers) };
  return Object.fromEntries(Object.entries(all).filter(([, v]) => v !== undefined));
}

/** edited returns an entry with the changes of the form; everything else stays the same, to the byte. */
export function edited(entry: Record<string, unknown>, e: Endpoint): Record<string, unknown> {
  const was = endpointOf(entry as Record<string, any>), next = fieldsOf(e), out = { ...entry };
  if (was.kind !== e.kind) for (const k of ["command", "args", "cwd", "env", "url", "headers", "type"]) delete out[k];
  for (const k of ["command", "args", "cwd", "env", "url", "headers"] as const) {
    if (was.kind === e.kind && JSON.stringify(was[k]) === JSON.stringify(e[k])) continue;
    if (next[k] === undefined) delete out[k]; else out[k] = next[k];
  }
  if (was.kind !== e.kind && next.type) out.type = next.type;
  return out;
}

export const complete = (e: Endpoint) => (e.kind === "stdio" ? !!e.command.trim() : /^https?:\/\/./.test(e.url.trim()));

/** foreign reports whether an address cannot become one of HTTP by typing on. */
export const foreign = (url: string) => !/^https?:\/\/./.test(url.trim()) && !["http://", "https://"].some((s) => s.startsWith(url.trim()));

const kindNames: [Endpoint["kind"], string][] = [["stdio", "STDIO"], ["http", "Streamable HTTP"], ["sse", "SSE"]];

/** EndpointFields edits one of the given kinds; vault lets values go to the secret store. */
export function EndpointFields({ value: e, onChange, id, kinds, vault }: { value: Endpoint; onChange: (e: Endpoint) => void; id: string; kinds?: Endpoint["kind"][]; vault?: Vault }) {
  const set = (part: Partial<Endpoint>) => onChange({ ...e, ...part });
  return <>
    {kinds?.length !== 1 && <div class="field"><label for={id + "-kind"}>{t("transport")}</label>
      <select id={id + "-kind"} value={e.kind} onChange={(ev) => set({ kind: ev.currentTarget.value as Endpoint["kind"] })}>
        {kindNames.filter(([k]) => !kinds || kinds.includes(k)).map(([k, name]) => <option key={k} value={k}>{name}</option>)}</select></div>}
    {e.kind === "stdio" ? <>
      <div class="field"><label for={id + "-command"}>{t("command")}</label><input id={id + "-command"} class="mono" value={e.command} placeholder="npx" spellcheck={false} onInput={(ev) => set({ command: ev.currentTarget.value })} /></div>
      <div class="field"><span class="label">{t("arguments")}</span><Arguments id={id + "-arg"} list={e.args} onChange={(args) => set({ args })} /></div>
      <div class="field"><span class="label">{t("environment")}</span><Rows label={t("environment")} pairs={e.env} secret vault={vault} onChange={(env) => set({ env })} /></div>
      <div class="field"><label for={id + "-cwd"}>{t("directory")}</label><input id={id + "-cwd"} class="mono" value={e.cwd} spellcheck={false} onInput={(ev) => set({ cwd: ev.currentTarget.value })} /></div>
    </> : <>
      <div class="field"><label for={id + "-url"}>URL</label><input id={id + "-url"} class="mono" type="url" value={e.url} placeholder="https://example.com/mcp" spellcheck={false} aria-invalid={foreign(e.url)} aria-describedby={foreign(e.url) ? id + "-url-d" : undefined} onInput={(ev) => set({ url: ev.currentTarget.value })} />
        {foreign(e.url) && <span class="err" role="alert" id={id + "-url-d"}>{t("addWrongScheme")}</span>}</div>
      <div class="field"><span class="label">{t("headers")}</span><Rows label={t("headers")} pairs={e.headers} secret vault={vault} onChange={(headers) => set({ headers })} /></div>
    </>}
  </>;
}

/** Arguments has one field per argument, whatever characters it contains. */
function Arguments({ id, list, onChange }: { id: string; list: string[]; onChange: (list: string[]) => void }) {
  const put = (i: number, v: string) => onChange(list.map((x, j) => (j === i ? v : x)));
  const swap = (i: number, j: number) => { const next = [...list]; [next[i], next[j]] = [next[j]!, next[i]!]; onChange(next); };
  const add = (i: number) => { onChange([...list.slice(0, i), "", ...list.slice(i)]); requestAnimationFrame(() => document.getElementById(`${id}-${i}`)?.focus()); };
  return <div role="group" aria-label={t("arguments")} data-testid="arguments">
    {list.map((a, i) => <div class="row-one" key={i}>
      <textarea id={`${id}-${i}`} class="mono" rows={Math.min(8, a.split("\n").length)} value={a} aria-label={t("argN", i + 1)} spellcheck={false} onInput={(ev) => put(i, ev.currentTarget.value)}
        onKeyDown={(ev) => { if (ev.key === "Enter" && !ev.shiftKey && !ev.isComposing) { ev.preventDefault(); add(i + 1); } }} />
      <IconButton icon="up" label={`${t("moveUp")} ${i + 1}`} disabled={!i} onClick={() => swap(i, i - 1)} /><IconButton icon="down" label={`${t("moveDown")} ${i + 1}`} disabled={i === list.length - 1} onClick={() => swap(i, i + 1)} />
      <IconButton icon="close" label={`${t("remove")} ${i + 1}`} onClick={() => onChange(list.filter((_, j) => j !== i))} />
      {/^\s|\s$|\n/.test(a) && <span class="mut odd">{t("keptAsIs", JSON.stringify(a))}</span>}
    </div>)}
    <button type="button" class="link" onClick={() => add(list.length)}><Icon name="plus" />{t("addArgument")}</button>
  </div>;
}

/** Confirm shows the command before anything runs. */
export function Confirm({ run, onYes, onNo }: { run: string; onYes: () => void; onNo: () => void }) {
  return <div class="notice warn confirm" role="alertdialog" aria-label={t("willRun")} data-testid="confirm">
    <p>{t("willRun")}</p><pre class="code text">{run}</pre>
    <button type="button" class="button primary" onClick={onYes}>{t("runIt")}</button> <button type="button" class="button" onClick={onNo}>{t("cancel")}</button>
  </div>;
}
