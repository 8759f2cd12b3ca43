// A script that calls tools. It runs on the engine of the command script, in
// this session.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, path, type Bench, type Call, type CatalogPage, type Run } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { ns, short } from "../format.ts";
import { t } from "../i18n/index.ts";
import { JsonView } from "../json/view.tsx";
import { modName, useShortcuts } from "../keys.ts";
import { outcome, failed, toneOfCall } from "../pages/traffic.tsx";
import { Empty, Notice, Status, errorText, useLoad } from "../parts/basics.tsx";
import { Blocks } from "../parts/content.tsx";
import { href } from "../router.ts";
import { may, remembered } from "../state.ts";
import { List } from "./list.tsx";
import { Gutter } from "./panes.tsx";
import { ResultPane } from "./result.tsx";
import { RunList } from "./runs.tsx";
import { labelOf, runs, start } from "./session.ts";

/** scriptTool runs scripts for people; models have another tool. */
const scriptTool = "mcp-all-in-one/script";

/** code is the last script in this browser. */
const code = remembered("bench.script", "");
const args = remembered("bench.script.args", "");

const member = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? "." + name : `[${JSON.stringify(name)}]`);

/** ScriptList shows the tools that a script can call; choosing one inserts it into the code. */
export function ScriptList({ schema }: { schema: string }) {
  const { value: page, error } = useLoad(() => get<CatalogPage>("catalog?schema=" + encodeURIComponent(schema)), [schema]);
  const items = (page?.rows ?? []).filter((r) => r.kind === "tool" && r.on).map((r) => ({ name: `${r.server} / ${r.own}`, description: r.description, call: `tools${member(r.server)}${member(r.own)}` }));
  const insert = (name: string) => {
    const box = document.getElementById("script-code") as HTMLTextAreaElement | null;
    const call = `await ${items.find((i) => i.name === name)!.call}({})`, at = box?.selectionStart ?? code.peek().length, end = box?.selectionEnd ?? at;
    code.value = code.peek().slice(0, at) + call + code.peek().slice(end);
    requestAnimationFrame(() => { box?.focus(); box?.setSelectionRange(at + call.length - 2, at + call.length - 2); });
  };
  if (error) return <Notice tone="err">{error}</Notice>;
  return <><h2 class="h3 pad">{t("scriptInsert")}</h2>{page && <List items={items} keyOf={(i) => i.name} onSelect={insert} kind="script" />}</>;
}

/** paramsOf returns the params of the call that runs a script; undefined if args is not an object. */
function paramsOf(): string | undefined {
  const given = args.peek().trim() || "{}";
  try { if (!/^\{/.test(given) || typeof JSON.parse(given) !== "object") return undefined; } catch { return undefined; }
  return `{"name":${JSON.stringify(scriptTool)},"arguments":{"code":${JSON.stringify(code.peek())},"args":${given}}}`;
}

export function ScriptPane({ bench, target }: { bench: Bench; target: string }) {
  const [runId, setRunId] = useState("");
  const [failure, setFailure] = useState("");
  const run = runs.value.get(runId);
  useEffect(() => { commandLine.value = command("script", "FILE", ...(bench.target.schema && bench.target.schema !== "default" ? ["--schema", bench.target.schema] : [])); }, [bench.id]);
  const go = async () => {
    const params = paramsOf();
    setFailure(params ? "" : t("scriptArgsBad"));
    if (!params || !code.peek().trim()) return;
    try { setRunId((await start(bench.id, "tools/call", params)).id); } catch (e) { setFailure(errorText(e)); }
  };
  const latest = useRef(go);
  latest.current = go;
  useShortcuts([{ keys: "mod+Enter", label: "run", run: () => void latest.current(), inInput: true }]);
  const reuse = (r: Run) => { code.value = String(r.params?.arguments?.code ?? ""); const given = r.params?.arguments?.args; args.value = given && Object.keys(given).length ? JSON.stringify(given) : ""; };
  return <>
    <section class="pane form-pane script-pane" aria-label={t("script")}>
      <div class="pb"><h2>{t("script")}</h2></div>
      <div class="pscroll"><p class="description">{t("scriptText")}</p>
        <div class="form">
          <div class="field"><label for="script-code">{t("scriptCode")}</label><textarea id="script-code" class="mono" rows={14} spellcheck={false} autocomplete="off" value={code.value} placeholder={"const {sum} = await tools.demo.add({a: 2, b: 40});\nconsole.log(sum);\nreturn sum"} onInput={(e) => { code.value = e.currentTarget.value; }} /></div>
          <div class="field"><label for="script-args">{t("scriptArgs")}</label><textarea id="script-args" class="mono" rows={2} spellcheck={false} value={args.value} placeholder="{}" onInput={(e) => { args.value = e.currentTarget.value; }} /></div>
        </div>
        <div class="run-bar"><button type="button" class="button primary" data-testid="run-script" disabled={!may("call") || run?.status === "running" || !code.value.trim()} onClick={() => void go()}>{t("run")} <kbd>{modName} ⏎</kbd></button></div>
        {failure && <Notice tone="err">{failure}</Notice>}
        <RunList target={labelOf(bench)} method="tools/call" name={scriptTool} current={runId} onShow={setRunId} onReuse={reuse} />
      </div>
    </section>
    <Gutter pane="form" label="resizeForm" />
    <ResultPane run={run} bench={bench} target={target} empty={t("scriptEmpty")} more={outcomeOf} />
  </>;
}

/** outcomeOf returns the value, the log and the calls of a script. */
function outcomeOf(text: string, run: Run) {
  let result: any;
  try { result = JSON.parse(text); } catch { return []; }
  const used = result._meta?.["mcp-all-in-one/run"], blocks: any[] = result.content ?? [];
  const values = blocks.slice(0, used?.values ?? blocks.length), said = blocks.slice(values.length);
  const log = said.map((b) => String(b.text ?? "").replace(/^Log:\n/, "")).join("\n");
  const lines = log ? log.trimEnd().split("\n").length : 0;
  return [
    { id: "value", label: t("scriptValue"), view: <Value blocks={values} failed={!!result.isError} /> },
    { id: "log", label: <>{t("scriptLog")}{lines > 0 && <span class="n">{lines}</span>}</>, view: log ? <pre class="code text scroll script-log" tabIndex={0} role="group" aria-label={t("scriptLog")} data-testid="script-log">{log}</pre> : <Empty>{t("scriptNoLog")}</Empty> },
    { id: "calls", label: <>{t("scriptCalls")}{used?.calls > 0 && <span class="n">{used.calls}</span>}</>, view: <Calls run={run} keptOut={used?.tokensKeptOut ?? 0} /> },
  ];
}

/** Value shows JSON as JSON, and anything else as content. */
function Value({ blocks, failed }: { blocks: any[]; failed: boolean }) {
  const only = blocks.length === 1 && blocks[0].type === "text" ? String(blocks[0].text) : undefined;
  let json = false;
  if (only !== undefined && !failed) try { JSON.parse(only); json = true; } catch { /* it is text */ }
  if (failed) return <div class="scroll" data-testid="script-value"><Notice tone="err"><pre class="plainpre">{only ?? ""}</pre></Notice></div>;
  return json ? <div class="fill" data-testid="script-value"><JsonView text={only!} label={t("scriptValue")} /></div> : <div class="scroll" data-testid="script-value"><Blocks content={blocks} /></div>;
}

/** Calls shows the calls of the script to servers, in order. */
function Calls({ run, keptOut }: { run: Run; keptOut: number }) {
  const { value, error } = useLoad(async () => (run.trafficId ? (await get<{ related: Call[] }>(path("traffic", run.trafficId))).related : []), [run.id, run.status]);
  const inner = value?.filter((c) => c.kind === "call" && c.hop === "server" && !c.fromServer);
  if (error) return <Notice tone="err">{error}</Notice>;
  if (!inner) return null;
  if (!inner.length) return <Empty>{t("scriptNoCalls")}</Empty>;
  return <div class="scroll" data-testid="script-calls">{keptOut > 0 && <p class="mut pad">{t("scriptKeptOut", short(keptOut))}</p>}
    <table class="fixed"><colgroup><col /><col class="w-state" /><col class="w70" /></colgroup><thead><tr><th>{t("tool")}</th><th>{t("state")}</th><th class="r">{t("duration")}</th></tr></thead>
      <tbody>{inner.map((c) => <tr key={c.id}><td><a href={href(["traffic", String(c.id)])}>{c.server} <code>{c.name || c.method}</code></a></td><td title={failed(c) ? outcome(c) : undefined}><Status tone={toneOfCall(c)} state={c.status}>{failed(c) ? outcome(c) : t("call_ok")}</Status></td><td class="r">{ns(c.total)}</td></tr>)}</tbody></table></div>;
}
