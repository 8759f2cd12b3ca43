// A prompt: its arguments, and the messages it returns.
import { useEffect, useRef, useState } from "preact/hooks";
import { path, text as getText, type Bench, type Run } from "../api.ts";
import { commandLine } from "../cli.ts";
import { t } from "../i18n/index.ts";
import { member } from "../json/members.ts";
import { useShortcuts, modName } from "../keys.ts";
import { errorText } from "../parts/basics.tsx";
import { query, setQuery } from "../router.ts";
import { may } from "../state.ts";
import { decodeArgs, encodeArgs } from "./args.ts";
import { complete } from "./complete.ts";
import type { Item } from "./list.tsx";
import { CopyMenu } from "./copy.tsx";
import { Gutter } from "./panes.tsx";
import { ResultPane, showTab } from "./result.tsx";
import { RunList } from "./runs.tsx";
import { SaveTest } from "./save.tsx";
import { failureOf, labelOf, runs, start } from "./session.ts";
import { callLine } from "./tool.tsx";

interface Argument { name: string; description?: string; required?: boolean }
/** A blank box is not sent; "" is sent only when asked for. */
type Values = Record<string, { text: string; empty?: boolean }>;

export function argumentsOf(values: Values): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([, v]) => v.text !== "" || v.empty).map(([k, v]) => [k, v.text]));
}

function startValues(): Values {
  const given = decodeArgs(query.peek().get("a") ?? "");
  try {
    return given ? Object.fromEntries(Object.entries(JSON.parse(given) as Record<string, string>).map(([k, v]) => [k, { text: String(v), empty: v === "" }])) : {};
  } catch { return {}; }
}

export function PromptPane({ bench, prompt, target }: { bench: Bench; prompt: Item; target: string }) {
  const list: Argument[] = prompt.arguments ?? [];
  const [values, setValues] = useState<Values>(startValues);
  const [missing, setMissing] = useState<string[]>([]);
  const [runId, setRunId] = useState("");
  const [failure, setFailure] = useState("");
  const run = runs.value.get(runId);
  const args = argumentsOf(values);
  const json = JSON.stringify(args);
  useEffect(() => { commandLine.value = callLine("prompt", target, prompt.name, args); setQuery({ a: json === "{}" ? undefined : encodeArgs(json) }); }, [json]);
  const get = async () => {
    const blank = list.filter((a) => a.required && !(a.name in args)).map((a) => a.name);
    setMissing(blank);
    setFailure("");
    if (blank.length) return;
    try { setRunId((await start(bench.id, "prompts/get", JSON.stringify({ name: prompt.name, arguments: args }))).id); } catch (e) { setFailure(errorText(e)); }
  };
  const again = async (old: Run) => {
    showTab("diff");
    try { setRunId((await start(bench.id, "prompts/get", member(await getText(path("runs", old.id)), "params"))).id); } catch (e) { setFailure(errorText(e)); }
  };
  const latest = useRef(get);
  latest.current = get;
  useShortcuts([{ keys: "mod+Enter", label: "run", run: () => void latest.current(), inInput: true }]);
  return <>
    <section class="pane form-pane" aria-label={prompt.name}>
      <div class="pb"><h2><code>{prompt.name}</code></h2>{prompt.title && <span class="mut">{prompt.title}</span>}</div>
      <div class="pscroll">
        {prompt.description && <p class="description">{prompt.description}</p>}
        {!list.length && <p class="mut pad">{t("noArguments")}</p>}
        <div class="form">{list.map((a) => <ArgumentBox key={a.name} a={a} bench={bench} prompt={prompt.name} values={values} missing={missing.includes(a.name)}
          onChange={(v) => { setValues({ ...values, [a.name]: v }); setMissing(missing.filter((m) => m !== a.name)); }} />)}</div>
        <div class="run-bar"><button type="button" class="button primary" data-testid="get-prompt" disabled={!may("call") || run?.status === "running"} onClick={() => void get()}>{t("getPrompt")} <kbd>{modName} ⏎</kbd></button></div>
        {failure && <Failure text={failure} />}
        <RunList target={labelOf(bench)} method="prompts/get" name={prompt.name} current={runId} onShow={setRunId} onAgain={may("call") ? (old) => void again(old) : undefined} />
      </div>
    </section>
    <Gutter pane="form" label="resizeForm" />
    <ResultPane run={run} bench={bench} target={target} empty={t("notFetched")} failure={(r) => <Failure text={failureOf(r)} />}
      actions={run && <><SaveTest from={{ run: run.id }} name={run.target} /><CopyMenu bench={bench} method="prompts/get" params={() => JSON.stringify({ name: prompt.name, ...(json === "{}" ? {} : { arguments: args }) })} /></>} />
  </>;
}

function ArgumentBox(p: { a: Argument; bench: Bench; prompt: string; values: Values; missing: boolean; onChange: (v: { text: string; empty?: boolean }) => void }) {
  const [options, setOptions] = useState<string[]>([]);
  const v = p.values[p.a.name] ?? { text: "" };
  const id = "p-" + p.a.name;
  const completes = !!p.bench.info.capabilities?.completions;
  useEffect(() => {
    if (!completes) return;
    let live = true;
    const timer = setTimeout(() => void complete(p.bench.id, { type: "ref/prompt", name: p.prompt }, p.a.name, v.text, argumentsOf(p.values)).then((o) => { if (live) setOptions(o); }), 150);
    return () => { live = false; clearTimeout(timer); };
  }, [v.text]);
  return <div class={"node" + (p.missing ? " invalid" : "")}>
    <div class="node-label"><label for={id}><code>{p.a.name}</code>{p.a.required && <span class="err">*</span>}</label><span class="space" />
      {!v.text && <button type="button" class="link" aria-pressed={!!v.empty} onClick={() => p.onChange({ text: "", empty: !v.empty })}>{t(v.empty ? "sendsEmpty" : "sendEmpty")}</button>}</div>
    {p.a.description && <div class="hint" id={id + "-d"}>{p.a.description}</div>}
    <input id={id} value={v.text} placeholder={v.empty ? '""' : undefined} list={completes ? id + "-list" : undefined} aria-invalid={p.missing} aria-describedby={`${id}-d ${id}-m`} onInput={(e) => p.onChange({ text: e.currentTarget.value })} />
    {completes && <datalist id={id + "-list"}>{options.map((o) => <option key={o} value={o} />)}</datalist>}
    {p.missing && <div class="err message" id={id + "-m"} role="alert" data-testid="missing"><span lang="zh-CN">参数必需</span>{t("glossRequired")}</div>}
  </div>;
}

/** Failure uses the words of the original tester in every language. */
function Failure({ text }: { text: string }) {
  return <div class="notice err" role="alert" data-testid="prompt-failure"><span lang="zh-CN">{`获取提示词失败: ${text}`}</span>{t("glossPromptFailed")}</div>;
}
