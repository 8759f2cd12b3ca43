// The session itself: handshake, ping, log level, roots, raw requests,
// notifications, history.
import { useEffect, useState } from "preact/hooks";
import { RawBody, change, get, path, text as getText, type Bench, type Run } from "../api.ts";
import { ago, ns } from "../format.ts";
import { t } from "../i18n/index.ts";
import { JsonView } from "../json/view.tsx";
import { parse } from "../json/exact.ts";
import { Spark, Status, download, errorText, now, pickFile, toast } from "../parts/basics.tsx";
import { Editor } from "../parts/editor.tsx";
import { Rows, type Pair } from "../parts/rows.tsx";
import { may } from "../state.ts";
import { ChaosBox } from "./chaos.tsx";
import { Events } from "./events.tsx";
import { Gutter } from "./panes.tsx";
import { ResultPane, showTab } from "./result.tsx";
import { toneOfRun } from "./runs.tsx";
import { failureOf, finished, runs, start } from "./session.ts";

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

export function SessionPane({ bench }: { bench: Bench }) {
  const [runId, setRunId] = useState("");
  return <>
    <section class="pane form-pane" aria-label={t("session")}><div class="pscroll session-pane">
      <Ping bench={bench} />
      <Level bench={bench} />
      <Roots bench={bench} />
      <Raw bench={bench} onRun={setRunId} />
      <ChaosBox bench={bench} />
      <History />
      <Requests bench={bench} current={runId} onShow={(id) => { showTab("wire"); setRunId(id); }} />
    </div></section>
    <Gutter pane="form" label="resizeForm" />
    {runs.value.get(runId) ? <ResultPane run={runs.value.get(runId)} bench={bench} target={"@" + bench.id} />
      : <section class="pane result-pane" aria-label={t("handshake")}><div class="rh"><b>{t("handshake")}</b><span class="mut">{bench.info.protocol} · {bench.info.transport}</span></div>
        <div class="fill"><JsonView text={JSON.stringify(bench.info.handshake ?? null)} label={t("handshake")} /></div><Events bench={bench} /></section>}
  </>;
}

/** Requests shows all requests of this session, including those of the page itself. */
function Requests({ bench, current, onShow }: { bench: Bench; current: string; onShow: (id: string) => void }) {
  const own = [...runs.value.values()].filter((r) => r.bench === bench.id).sort((a, b) => b.start.localeCompare(a.start));
  useEffect(() => {
    void get<Run[]>("runs?bench=" + encodeURIComponent(bench.id)).then((old) => { runs.value = new Map([...old.map((r): [string, Run] => [r.id, r]), ...runs.peek()]); }, () => {});
  }, [bench.id]);
  return <section class="runs" aria-label={t("requests")}><h2>{t("requests")}<span class="mut">{t("requestsHint")}</span></h2>
    <ol data-testid="requests">{own.slice(0, 200).map((r) => <li key={r.id} class="run-row" aria-current={r.id === current ? "true" : undefined} onClick={() => onShow(r.id)}>
      <Status tone={toneOfRun(r)} state={r.status} /><button type="button" class="plain-button cut" onClick={(e) => { e.stopPropagation(); onShow(r.id); }}><code>{r.method}</code> <span class="mut">{r.name}</span></button>
      <span class="r">{r.status === "running" ? "…" : ns(r.total)}</span><span class="r mut">{ago(r.start, now.value)}</span><span /></li>)}</ol></section>;
}

async function simple(bench: Bench, method: string, params?: string): Promise<Run> {
  const run = await finished(await start(bench.id, method, params));
  if (run.status !== "ok") throw new Error(failureOf(run));
  return run;
}

function Ping({ bench }: { bench: Bench }) {
  const [times, setTimes] = useState<number[]>([]);
  const ping = async () => {
    try { const r = await simple(bench, "ping"); setTimes((x) => [...x, r.total].slice(-30)); } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  return <div class="bar"><button type="button" class="button" onClick={() => void ping()} disabled={!may("call")}>Ping</button>
    {times.length > 0 && <><Status tone="ok"><span data-testid="ping">{ns(times.at(-1))}</span></Status><Spark values={times} label="ping" /></>}</div>;
}

function Level({ bench }: { bench: Bench }) {
  if (!bench.info.capabilities?.logging) return null;
  const set = async (level: string) => {
    try { await simple(bench, "logging/setLevel", JSON.stringify({ level })); toast(t("levelSet", level)); } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  return <div class="field"><label for="level">{t("logLevel")}</label><select id="level" onChange={(e) => { if (e.currentTarget.value) void set(e.currentTarget.value); }}><option value="">–</option>{levels.map((l) => <option key={l}>{l}</option>)}</select></div>;
}

function Roots({ bench }: { bench: Bench }) {
  const [pairs, setPairs] = useState<Pair[]>((bench.target.roots ?? []).map((r) => [r.uri, r.name ?? ""]));
  const save = async () => {
    try { await change("PUT", path("bench", bench.id, "roots"), { roots: pairs.filter(([uri]) => uri).map(([uri, name]) => ({ uri, name })) }); toast(t("rootsSet")); } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  return <div class="field"><span class="label">{t("roots")}</span><Rows label={t("roots")} pairs={pairs} name="file:///…" value={t("name")} onChange={setPairs} />
    <button type="button" class="button" onClick={() => void save()} disabled={!may("call")}>{t("setRoots")}</button></div>;
}

function Raw({ bench, onRun }: { bench: Bench; onRun: (id: string) => void }) {
  const [method, setMethod] = useState("tools/list");
  const [params, setParams] = useState("{}");
  const [error, setError] = useState("");
  const send = async () => {
    setError("");
    try { parse(params || "{}"); onRun((await start(bench.id, method, params.trim() && params.trim() !== "{}" ? params : undefined)).id); } catch (e) { setError(errorText(e)); }
  };
  return <details><summary>{t("rawRequest")}</summary>
    <div class="field"><label for="raw-method">{t("method")}</label><input id="raw-method" class="mono" value={method} spellcheck={false} onInput={(e) => setMethod(e.currentTarget.value)} /></div>
    <div class="field"><span class="label">params</span><Editor value={params} onChange={setParams} label="params" /></div>
    {error && <p class="err">{error}</p>}
    <button type="button" class="button" onClick={() => void send()} disabled={!method || !may("call")}>{t("send")}</button></details>;
}

function History() {
  const save = async () => download("mcp-request-history.json", await getText("runs?export=1"));
  const load = async () => {
    try {
      const { imported } = await change<{ imported: number }>("POST", "runs", new RawBody(await pickFile(".json")));
      toast(t("importedRuns", imported));
    } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  const clear = async () => { await change("DELETE", "runs"); runs.value = new Map((await get<Run[]>("runs")).map((r) => [r.id, r])); };
  return <div class="bar wrap"><span class="label">{t("history")}</span><button type="button" class="button" onClick={() => void save()}>{t("export")}</button>
    <button type="button" class="button" onClick={() => void load()} disabled={!may("call")}>{t("import")}</button><button type="button" class="button" onClick={() => void clear()} disabled={!may("call")}>{t("clear")}</button></div>;
}
