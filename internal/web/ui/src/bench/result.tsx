// What came back: as structure, table, content, raw, wire or difference.
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, path, type Bench, type Frame, type Problem, type Run } from "../api.ts";
import { bytes, clock, ns, tokens } from "../format.ts";
import { said, t } from "../i18n/index.ts";
import { Exact, isObject, parse, stringify, type Json } from "../json/exact.ts";
import { diff } from "../json/diff.ts";
import { linesOf, partsOf, type Part } from "../json/lines.ts";
import { JsonView } from "../json/view.tsx";
import { inbox } from "../live.ts";
import { Blocks } from "../parts/content.tsx";
import { Empty, Notice, Panel, Status, Tabs, Waterfall, errorText } from "../parts/basics.tsx";
import { VirtualList, slots } from "../parts/list.tsx";
import { go, href } from "../router.ts";
import { validate } from "../form/validate.ts";
import { Item as QuestionItem } from "../pages/inbox.tsx";
import { DiffList } from "./compare.tsx";
import type { Item } from "./list.tsx";
import { body, failureOf, notes, runs } from "./session.ts";
import { runStatus, toneOfRun } from "./runs.tsx";

/** useBody reads the result of a run when it has ended. */
export function useBody(run: Run | undefined): { text?: string; error?: string } {
  const [state, setState] = useState<{ id?: string; text?: string; error?: string }>({});
  useEffect(() => {
    if (!run || run.status === "running" || !run.kept) { setState({ id: run?.id }); return; }
    let live = true;
    body(run).then((text) => live && setState({ id: run.id, text }), (e) => live && setState({ id: run.id, error: errorText(e) }));
    return () => { live = false; };
  }, [run?.id, run?.status]);
  return state.id === run?.id ? state : {};
}

export function ResultPane({ run, tool, bench, target }: { run?: Run; tool?: Item; bench: Bench; target: string }) {
  const { text, error } = useBody(run);
  const [tab, setTab] = useState("");
  const parts = useMemo(() => (text === undefined ? undefined : resultParts(text)), [text]);
  const table = useMemo(() => findTable(parts), [parts]);
  if (!run) return <section class="pane result-pane" aria-label={t("result")}><Empty>{t("notRun")}</Empty></section>;
  const tabs = [
    { id: "structured", label: t("structured"), hidden: !parts?.structured }, { id: "content", label: t("contentN", parts?.content.length ?? 0), hidden: !parts?.content.length },
    { id: "table", label: t("table"), hidden: !table }, { id: "raw", label: t("raw"), hidden: text === undefined && !run.error },
    { id: "wire", label: t("wire") }, { id: "diff", label: t("diff"), hidden: text === undefined },
  ];
  const selected = tabs.find((x) => x.id === tab && !x.hidden)?.id ?? tabs.find((x) => !x.hidden)!.id;
  const showLink = (uri: string) => go(href(["bench", target, "resources", uri]));
  return <section class="pane result-pane" aria-label={t("result")} data-testid="result" data-state={run.status}>
    <Summary run={run} />
    <Questions bench={bench} />
    {run.error && <Notice tone="err">{failureOf(run)}</Notice>}
    {!run.error && run.message && <Notice tone={run.status === "cancelled" ? "info" : "err"}>{said(run.message, run.messageZH)}</Notice>}
    {error && <Notice tone="err">{error}</Notice>}
    {run.status === "running" ? <Progress run={run} /> : <>
      <div class="bar"><Tabs name="result" label={t("result")} selected={selected} onSelect={setTab} tabs={tabs} /></div>
      <Panel name="result" selected={selected} class="fill result-body">
        {selected === "structured" && parts?.structured && <><SchemaCheck schema={tool?.outputSchema} value={parts.structured} /><JsonView text={text!} member="structuredContent" label={t("structured")} /></>}
        {selected === "content" && parts && <div class="scroll"><Blocks content={parts.content} onLink={showLink} /></div>}
        {selected === "table" && table && <Table rows={table} />}
        {selected === "raw" && <JsonView text={text ?? JSON.stringify(run.error ?? null)} label={t("raw")} />}
        {selected === "wire" && <Wire run={run} />}
        {selected === "diff" && text !== undefined && <RunDiff run={run} text={text} />}
      </Panel></>}
    <NoteList bench={bench} run={run} />
  </section>;
}

interface Parts { structured?: string; content: any[] }

/** resultParts looks over the text once; large results are not parsed. */
function resultParts(text: string): Parts {
  const lines = linesOf(text);
  const parts = lines ? partsOf(lines) : new Map<string, Part>();
  const cut = (key: string) => { const p = parts.get(key); return p && text.slice(p.start, p.end); };
  let content: any[] = [];
  try { content = JSON.parse(cut("content") ?? cut("contents") ?? "[]"); } catch { /* shown raw */ }
  return { structured: cut("structuredContent"), content: Array.isArray(content) ? content : [] };
}

function Summary({ run }: { run: Run }) {
  const done = run.status !== "running";
  return <div class="summary" role="status" aria-live="polite">
    <Status tone={toneOfRun(run)} state={run.status}><b>{runStatus(run)}</b></Status>
    {done && <><b>{ns(run.total)}</b><span class="mut">{run.serverTime !== undefined ? `${t("gateway")} ${ns(run.gateway ?? 0)} · ${t("network")} ${ns(run.transport ?? 0)} · ${t("server")} ${ns(run.serverTime)}` : ""}</span>
      <span class="space" /><span class="mut">{bytes(run.resSize)} {tokens(run.resSize)}</span>
      {run.trafficId ? <a href={href(["traffic", String(run.trafficId)])}>{t("traffic")}</a> : null}
      <Waterfall total={run.total} gateway={run.gateway} transport={run.transport} server={run.serverTime} failed={run.status !== "ok"} /></>}
  </div>;
}

function Progress({ run }: { run: Run }) {
  const last = notes.value.findLast((n) => n.run === run.id)?.params;
  const value = last?.total ? last.progress / last.total : undefined;
  return <div class="pad"><progress value={value} max={1} aria-label={t("progress")} />
    <p class="mut">{last ? `${last.progress}${last.total ? " / " + last.total : ""} ${last.message ?? ""}` : t("waitingAnswer")}</p></div>;
}

/** Questions of this session are answered beside the call that caused them. */
function Questions({ bench }: { bench: Bench }) {
  const own = inbox.value.filter((q) => q.session === bench.id);
  return own.length ? <div class="own-questions">{own.map((q) => <QuestionItem key={q.id} q={q} />)}</div> : null;
}

function SchemaCheck({ schema, value }: { schema?: unknown; value: string }) {
  const [problems, setProblems] = useState<Problem[]>();
  useEffect(() => {
    setProblems(undefined);
    if (schema && value.length < 5 << 20) void validate(JSON.stringify(schema), value).then(setProblems, () => {});
  }, [schema, value]);
  if (!problems) return null;
  return problems.length ? <Notice tone="err">{t("schemaBroken")} {problems.slice(0, 5).map((p) => <div key={p.path}><code>{p.path || "/"}</code> {said(p.message, p.messageZH)}</div>)}</Notice>
    : <p class="check-line"><Status tone="ok">{t("schemaKept")}</Status></p>;
}

/** findTable looks for the first list of objects. */
function findTable(parts: Parts | undefined): (() => Json[]) | undefined {
  const text = parts?.structured ?? (parts?.content.length === 1 && parts.content[0]?.type === "text" ? String(parts.content[0].text) : undefined);
  if (!text || !/^\s*[[{]/.test(text) || !/\[\s*\{/.test(text.slice(0, 20_000))) return undefined;
  return () => {
    let v: Json;
    try { v = parse(text); } catch { return []; }
    const lists = [v, ...(isObject(v) ? Object.values(v) : [])].filter((x): x is Json[] => Array.isArray(x) && isObject(x[0]));
    return lists[0] ?? [];
  };
}

function Table({ rows: find }: { rows: () => Json[] }) {
  const rows = useMemo(find, [find]);
  const columns = useMemo(() => [...new Set(rows.slice(0, 50).flatMap((r) => (isObject(r) ? Object.keys(r) : [])))].slice(0, 30), [rows]);
  const cell = (r: Json, c: string) => { const v = isObject(r) ? r[c] : undefined; return v === undefined ? "" : typeof v === "string" ? v : stringify(v instanceof Exact ? v : v); };
  const grid = { gridTemplateColumns: `repeat(${columns.length}, minmax(80px, 220px))` };
  return <VirtualList class="grid data-table" role="grid" count={rows.length} height={25} label={t("table")} testid="table-rows"
    header={<div class="grid-head" role="rowgroup"><div class="grid-row" role="row" style={grid}>{columns.map((c) => <span key={c} role="columnheader">{c}</span>)}</div></div>}
    row={(i, style) => <div key={i % slots} class="grid-row" role="row" aria-rowindex={i + 1} style={{ ...style, ...grid }}>{columns.map((c) => <span key={c} role="gridcell" title={cell(rows[i]!, c).slice(0, 300)}>{cell(rows[i]!, c).slice(0, 200)}</span>)}</div>} />;
}

function Wire({ run }: { run: Run }) {
  const [frames, setFrames] = useState<Frame[]>();
  useEffect(() => { void get<Frame[]>(path("runs", run.id, "body") + "?part=wire").then(setFrames, () => setFrames([])); }, [run.id, run.status]);
  if (!frames) return null;
  if (!frames.length) return <Empty>{t("noWire")}</Empty>;
  return <div class="wire scroll">{frames.map((f, i) => <section key={i} aria-label={t(f.sent ? "sent" : "received")}>
    <div class="bar"><b>{f.sent ? "→" : "←"} {t(f.sent ? "sent" : "received")}</b><span class="mut">+{ns(f.at)}{f.status ? ` · HTTP ${f.status}` : ""} · {bytes(f.body.length)}</span></div>
    {f.header && <dl class="headers">{Object.entries(f.header).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>}
    <div class="json-box"><JsonView fit text={f.body} label={t(f.sent ? "sent" : "received")} /></div></section>)}</div>;
}

/** RunDiff compares with the run before, or another one. */
function RunDiff({ run, text }: { run: Run; text: string }) {
  const others = [...runs.value.values()].filter((r) => r.id !== run.id && r.method === run.method && r.name === run.name && r.kept).sort((a, b) => b.start.localeCompare(a.start));
  const [chosen, setChosen] = useState("");
  const other = others.find((r) => r.id === chosen) ?? others[0];
  const { text: before } = useBody(other);
  const changes = useMemo(() => (before === undefined ? undefined : diff(parse(before), parse(text))), [before, text]);
  if (!other) return <Empty>{t("nothingToCompare")}</Empty>;
  return <div class="scroll"><div class="bar"><label for="diff-with">{t("compareWith")}</label><select id="diff-with" value={other.id} onChange={(e) => setChosen(e.currentTarget.value)}>
    {others.map((r) => <option key={r.id} value={r.id}>{clock(r.start)} {r.target} {runStatus(r)}</option>)}</select></div>
    {changes && <DiffList changes={changes} />}</div>;
}

export function NoteList({ bench, run }: { bench: Bench; run?: Run }) {
  const own = notes.value.filter((n) => n.bench === bench.id && (!run || n.run === run.id || !n.run && n.at >= run.start));
  if (!own.length) return null;
  return <section class="notes-pane" aria-label={t("notifications")}><h3>{t("notificationsN", own.length)}</h3><ol class="loglines" tabIndex={0} aria-label={t("notifications")}>
    {own.slice(-100).map((n, i) => <li key={i}><span class="mut">{run ? "+" + ns((Date.parse(n.at) - Date.parse(run.start)) * 1e6) : clock(n.at)}</span> <code>{n.method.replace("notifications/", "")}</code> <span>{noteText(n)}</span></li>)}</ol></section>;
}

function noteText(n: { method: string; params?: any; text?: string }): string {
  if (n.text !== undefined) return n.text;
  const p = n.params ?? {};
  if (n.method === "notifications/progress") return `${p.progress}${p.total ? " / " + p.total : ""} ${p.message ?? ""}`;
  if (n.method === "notifications/message") return `${p.level} ${p.logger ?? ""} ${typeof p.data === "string" ? p.data : JSON.stringify(p.data)}`;
  return p.uri ?? JSON.stringify(p);
}
