// A tool: its form on the left, the result on the right.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { path, text as getText, type Bench, type Run } from "../api.ts";
import { argument, commandLine, program, quote } from "../cli.ts";
import { Editor } from "../parts/editor.tsx";
import { compile } from "../form/compile.ts";
import { draftOf, initialDraft, read, type Draft } from "../form/draft.ts";
import { FormView } from "../form/form.tsx";
import { judge, useProblems } from "../form/validate.ts";
import { tokens } from "../format.ts";
import { said, t } from "../i18n/index.ts";
import { isObject, parse, stringify, type Json } from "../json/exact.ts";
import { member } from "../json/members.ts";
import { JsonView } from "../json/view.tsx";
import { useShortcuts, modName } from "../keys.ts";
import { Notice, errorText, toast } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { query, setQuery } from "../router.ts";
import { may, remembered } from "../state.ts";
import { decodeArgs, encodeArgs } from "./args.ts";
import { Compare, type Column } from "./compare.tsx";
import { CopyMenu } from "./copy.tsx";
import { effectOf, type Item } from "./list.tsx";
import { Seg } from "./seg.tsx";
import { Gutter } from "./panes.tsx";
import { ResultPane, showTab } from "./result.tsx";
import { RunList } from "./runs.tsx";
import { SaveTest } from "./save.tsx";
import { cancel, labelOf, runs, start, type Limits } from "./session.ts";

const limits = remembered<Limits>("bench.limits", { idle: 60_000, limit: 600_000 });

/** callLine returns the same call as a command line. */
export function callLine(verb: string, target: string, name: string, args: Json | undefined): string {
  const words = isObject(args) ? Object.entries(args).map(([k, v]) => quote(argument(k, stringify(v)))) : [];
  return [program, verb, quote(`${target}.${name}`), ...words].join(" ");
}

function startDraft(form: ReturnType<typeof compile>): Draft {
  const given = decodeArgs(query.peek().get("a") ?? "");
  if (given) { try { return draftOf(form, form.root, parse(given)) ?? {}; } catch { /* a link that was cut */ } }
  return initialDraft(form);
}

export function ToolPane({ bench, tool, target, tools }: { bench: Bench; tool: Item; target: string; tools: Item[] }) {
  const schemaText = useMemo(() => JSON.stringify(tool.inputSchema ?? { type: "object" }), [tool]);
  const form = useMemo(() => compile(parse(schemaText)), [schemaText]);
  const [draft, setDraft] = useState<Draft>(() => startDraft(form));
  const [mode, setMode] = useState("form");
  const [text, setText] = useState("");
  const [runId, setRunId] = useState("");
  const [columns, setColumns] = useState<Column[]>([]);
  const [tried, setTried] = useState(false);
  const r = useMemo(() => readBoth(form, mode, draft, text), [form, mode, draft, text]);
  const problems = useProblems(schemaText, r.json);
  const bad = problems.length + r.troubles.length > 0;
  const run = runs.value.get(runId);
  const running = run?.status === "running";
  // "Run again" of another page runs the call once, not again with the next load.
  const [atOnce] = useState(() => !!history.state?.run);
  useEffect(() => { if (atOnce) { history.replaceState(null, "", location.href); latest.current.go(true); } }, []);
  const latest = useRef({ go: (_anyway: boolean) => {}, stop: () => {} });
  useEffect(() => { commandLine.value = callLine("call", target, tool.name, r.value); setQuery({ a: r.json === "{}" ? undefined : encodeArgs(r.json) }); }, [r.json]);
  const params = () => `{"name":${JSON.stringify(tool.name)},"arguments":${r.json}}`;
  const send = async (anyway: boolean) => {
    if (running || r.error) return;
    if (!anyway && (r.troubles.length || !await judge(schemaText, r.json))) { setTried(true); return; }
    setTried(false);
    setColumns([]);
    try { setRunId((await start(bench.id, "tools/call", params(), limits.value)).id); } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  latest.current = { go: (anyway) => void send(anyway), stop: () => { if (run && running) void cancel(run).catch((e) => toast(errorText(e), undefined, "err")); } };
  const switchMode = (m: string) => {
    if (m === "json" && mode !== "json") setText(r.value === undefined ? "{}" : stringify(r.value, 2));
    if (m === "form" && mode === "json") { if (r.error) return; setDraft(draftOf(form, form.root, r.value) ?? {}); }
    setMode(m);
  };
  const again = async (old: Run) => {
    showTab("diff");
    setColumns([]);
    setRunId((await start(bench.id, "tools/call", member(await getText(path("runs", old.id)), "params"), limits.value)).id);
  };
  const failed = (e: unknown) => toast(errorText(e), undefined, "err");
  const reuse = async (old: Run) => {
    const args = await argumentsOf(old);
    setDraft(draftOf(form, form.root, args) ?? {});
    setText(stringify(args ?? {}, 2));
  };
  useShortcuts([
    { keys: "mod+Enter", label: "run", run: () => latest.current.go(false), inInput: true },
    { keys: "alt+Enter", label: "sendAnyway", run: () => latest.current.go(true), inInput: true },
    { keys: "r", label: "rerun", run: () => latest.current.go(true) },
    { keys: "Escape", label: "cancel", run: () => latest.current.stop(), inInput: true },
  ]);
  const effect = effectOf(tool);
  return <>
    <section class="pane form-pane" aria-label={tool.name}>
      <div class="pb"><h2 title={tool.name}><code>{tool.name}</code></h2>{effect && <span class={"tag " + effect.tone}>{t(effect.label)}</span>}{tool.annotations?.openWorldHint && <span class="tag">{t("openWorld")}</span>}
        <span class="mut nowrap" title={t("tokensHint")}>{tokens(JSON.stringify(tool).length)}</span><span class="space" />
        <Seg label={tool.name} selected={mode} onSelect={switchMode} options={[["form", t("form")], ["json", "JSON"]]} /></div>
      <div class="pscroll">
        <p class="description">{tool.description} <button type="button" class="link" data-testid="tab-schema" aria-pressed={mode === "schema"} onClick={() => switchMode(mode === "schema" ? "form" : "schema")}>{t("schemaTab")}</button></p>
        {mode === "form" && <FormView form={form} draft={draft} onChange={setDraft} problems={problems} troubles={r.troubles} id="t" tried={tried} />}
        {mode === "json" && <div class="pad"><Editor value={text} onChange={setText} label={t("arguments")} />{problems.map((p) => <div key={p.path + p.message} class="err message"><code>{p.path || "/"}</code> {said(p.message, p.messageZH)}</div>)}</div>}
        {mode === "schema" && <div class="json-box"><JsonView fit text={stringify({ inputSchema: parse(schemaText), ...(tool.outputSchema ? { outputSchema: parse(JSON.stringify(tool.outputSchema)) } : {}), ...(tool.annotations ? { annotations: tool.annotations } : {}) })} label={t("schemaTab")} /></div>}
        {r.error && <Notice tone="err">{r.error}</Notice>}
        <div class="run-bar">
          {running ? <button type="button" class="button danger" onClick={() => latest.current.stop()}><Icon name="stop" />{t("cancel")} <kbd>Esc</kbd></button>
            : <button type="button" class="button primary" data-testid="run" disabled={!!r.error || !may("call")} onClick={() => void send(bad && tried)}><Icon name="play" />{t(bad && tried ? "sendAnyway" : "run")} <kbd>{bad && tried ? "Alt" : modName} ⏎</kbd></button>}
          <Compare.Button bench={bench} method="tools/call" params={params} onStart={setColumns} disabled={!!r.error || running} />
          <span class="space" /><LimitBox />
        </div>
        <RunList target={labelOf(bench)} method="tools/call" name={tool.name} current={runId} onShow={(id) => { setColumns([]); setRunId(id); }} onCompare={() => { showTab("diff"); if (!runId) setRunId([...runs.value.values()].filter((x) => x.name === tool.name && x.kept).at(-1)?.id ?? ""); }}
          onReuse={(old) => void reuse(old).catch(failed)} onAgain={may("call") ? (old) => void again(old).catch(failed) : undefined} />
      </div>
    </section>
    <Gutter pane="form" label="resizeForm" />
    {columns.length ? <Compare.Columns columns={columns} onClose={() => setColumns([])} /> : <ResultPane run={run} tool={tool} tools={tools} bench={bench} target={target}
      actions={run && <><SaveTest from={{ run: run.id }} name={run.target} /><CopyMenu bench={bench} method="tools/call" params={params} /></>} />}
  </>;
}

/** argumentsOf reads the arguments of an earlier run without losing digits. */
async function argumentsOf(run: Run): Promise<Json | undefined> {
  const params = member(await getText(path("runs", run.id)), "params");
  const args = params && member(params, "arguments");
  return args ? parse(args) : undefined;
}

/** readBoth reads the form or the JSON, depending on the mode. */
function readBoth(form: ReturnType<typeof compile>, mode: string, draft: Draft, text: string) {
  if (mode === "json") {
    try { const value = parse(text); return { value, json: stringify(value), troubles: [], error: isObject(value) ? "" : t("notObject") }; } catch (e) {
      return { value: undefined, json: "{}", troubles: [], error: errorText(e) };
    }
  }
  const { value, troubles } = read(form, form.root, draft);
  return { value, json: stringify(value ?? {}), troubles, error: "" };
}

/** LimitBox shows the time limit of a call; a click opens both limits. */
function LimitBox() {
  const [open, setOpen] = useState(false);
  const box = (key: keyof Limits, label: string) => <label class="limit"><span class="mut">{label}</span><input inputMode="numeric" value={limits.value[key] / 1000} aria-label={label}
    onChange={(e) => { const n = Number(e.currentTarget.value); if (n > 0) limits.value = { ...limits.value, [key]: n * 1000 }; }} /> s</label>;
  if (!open) return <button type="button" class="limits plain-button" title={t("hardLimit") + " " + limits.value.limit / 1000 + " s"} onClick={() => setOpen(true)}>{t("timeout", limits.value.idle / 1000)}</button>;
  return <span class="limits">{box("idle", t("idleLimit"))} {box("limit", t("hardLimit"))}</span>;
}
