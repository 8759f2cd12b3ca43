// The result: as an app, data, table, content, raw, wire or difference.
import type { ComponentChildren } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, path, type Bench, type Call, type Problem, type Run } from "../api.ts";
import { bytes, ns, tokens } from "../format.ts";
import { said, t } from "../i18n/index.ts";
import { JsonView } from "../json/view.tsx";
import { inbox } from "../live.ts";
import { Blocks, ResourceContents } from "../parts/content.tsx";
import { Empty, Notice, Panel, Status, Tabs, type Tab, errorText, now, toast, useLoad } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, href } from "../router.ts";
import { validate } from "../form/validate.ts";
import { useShortcuts } from "../keys.ts";
import { Item as QuestionItem } from "../pages/inbox.tsx";
import { AppView, appOf } from "./app/app.tsx";
import { resultParts, useBody, type Parts } from "./body.ts";
import { RunDiff, othersOf } from "./diff.tsx";
import { Events } from "./events.tsx";
import type { Item } from "./list.tsx";
import { phone } from "../state.ts";
import { cancel, failureOf, notes } from "./session.ts";
import { numberOf, runStatus, toneOfRun } from "./runs.tsx";
import { Table, findTable } from "./table.tsx";
import { Wire } from "./wire.tsx";

interface ResultProps {
  run?: Run; tool?: Item; tools?: Item[]; bench: Bench; target: string;
  /** empty says what to do before the first run. */
  empty?: string;
  /** actions are shown next to the tabs. */
  actions?: ComponentChildren;
  /** more returns tabs that come first and show the result. If it is set, there is no content tab and no split of the time. */
  more?: (text: string, run: Run) => { id: string; label: ComponentChildren; view: ComponentChildren }[];
  /** failure replaces the message of a failed run. */
  failure?: (run: Run) => ComponentChildren;
}

/** wanted is the tab that stays open from run to run. */
const wanted = signal("");
export function showTab(id: string): void { wanted.value = id; }

export function ResultPane(p: ResultProps) {
  const { run, bench } = p;
  const { text, error } = useBody(run);
  const parts = useMemo(() => (text === undefined ? undefined : resultParts(text)), [text]);
  const table = useMemo(() => parts && findTable(parts.structured, parts.content), [parts]);
  // On a phone the result is below the form.
  const pane = useRef<HTMLElement>(null);
  useEffect(() => { if (run?.id && phone.peek()) pane.current?.scrollIntoView({ block: "start" }); }, [run?.id]);
  useShortcuts(run && run.status !== "running" ? [{ keys: "d", label: "diff", run: () => showTab("diff") }] : []);
  if (!run) return <section class="pane result-pane" aria-label={t("result")}><Empty>{p.empty ?? t("notRun")}</Empty></section>;
  const others = othersOf(run).length;
  const n = (label: string, count?: number) => <>{label}{count ? <span class="n">{count}</span> : null}</>;
  const app = parts && appOf(p.tool, parts.content);
  const more = text !== undefined && p.more ? p.more(text, run) : [];
  const tabs: Tab[] = [
    ...more.map(({ id, label }) => ({ id, label })),
    { id: "app", label: t("app"), hidden: !app },
    { id: "structured", label: t("structured"), hidden: !parts?.structured },
    { id: "messages", label: n(t("messages"), parts?.messages?.length), hidden: !parts?.messages },
    { id: "preview", label: n(t("preview"), parts?.contents?.length), hidden: !parts?.contents },
    { id: "table", label: t("table"), hidden: !table },
    { id: "content", label: n(t("content"), parts?.content.length), hidden: !parts?.content.length || more.length > 0 },
    { id: "raw", label: t("raw"), hidden: text === undefined && !run.error },
    { id: "wire", label: t("wire") }, { id: "diff", label: n(t("diff"), others), hidden: text === undefined },
  ];
  const selected = tabs.find((x) => x.id === wanted.value && !x.hidden)?.id ?? tabs.find((x) => !x.hidden)!.id;
  return <section class="pane result-pane" ref={pane} aria-label={t("result")} data-testid="result" data-state={run.status}>
    <Summary run={run} tool={p.tool} parts={parts} whole={!!p.more} />
    {run.status === "running" ? <div class="pscroll"><Questions run={run} /><Progress run={run} /></div> : <>
      <div class="rt"><Tabs name="result" label={t("result")} selected={selected} onSelect={showTab} tabs={tabs} /><span class="space" />{p.actions}</div>
      <Trouble run={run} failure={p.failure} error={error} /><Confined run={run} />
      <Panel name="result" selected={selected} class="fill result-body">
        {more.find((m) => m.id === selected)?.view}
        <Body selected={selected} text={text} parts={parts} table={table} app={app} {...p} run={run} />
      </Panel></>}
    <Events bench={bench} run={run} />
  </section>;
}

function Body(p: ResultProps & { run: Run; selected: string; text?: string; parts?: Parts; table?: ReturnType<typeof findTable>; app?: string }) {
  const { run, parts, text } = p;
  switch (p.selected) {
    case "app": return <AppView key={run.id} run={run} bench={p.bench} tool={p.tool} tools={p.tools ?? []} uri={p.app!} text={text!} />;
    case "structured": return <><SchemaProblems schema={p.tool?.outputSchema} value={parts!.structured!} /><JsonView text={text!} member="structuredContent" label={t("structured")} /></>;
    case "messages": return <div class="scroll">{parts!.description && <p class="description">{parts!.description}</p>}
      {parts!.messages!.map((m: any, i: number) => <section class={"msg " + m.role} key={i} data-testid="prompt-message"><p class="role">{m.role}</p><Blocks content={Array.isArray(m.content) ? m.content : [m.content]} /></section>)}</div>;
    case "preview": return <div class="scroll">{parts!.contents!.map((c, i) => <ResourceContents key={i} c={c} />)}</div>;
    case "content": return <div class="scroll"><Blocks content={parts!.content} onLink={(uri) => go(href(["bench", p.target, "resources", uri], { via: p.bench.target.via === "gateway" ? "gateway" : undefined }))} /></div>;
    case "table": return <Table rows={p.table!} />;
    case "raw": return <JsonView text={text ?? JSON.stringify(run.error ?? null)} label={t("raw")} />;
    case "wire": return <Wire run={run} bench={p.bench} />;
    case "diff": return <RunDiff run={run} text={text!} />;
    default: return null;
  }
}

/** Confined reports that the sandbox may be the reason of a failed run, from the traffic record. */
function Confined({ run }: { run: Run }) {
  const { value } = useLoad(async () => (run.trafficId && (run.status === "error" || run.status === "tool_error") ? (await get<{ related: Call[] }>(path("traffic", run.trafficId))).related : []), [run.id, run.status, run.trafficId]);
  const call = value?.find((c) => c.notes?.some((n) => n.startsWith("confined;")));
  const at = call?.notes?.findIndex((n) => n.startsWith("confined;")) ?? -1;
  return call ? <Notice tone="info">{said(call.notes![at]!, call.notesZH?.[at])}</Notice> : null;
}

function Trouble({ run, failure, error }: { run: Run; failure?: (run: Run) => ComponentChildren; error?: string }) {
  if (error) return <Notice tone="err">{error}</Notice>;
  if (failure && run.status !== "ok" && run.status !== "tool_error") return <>{failure(run)}</>;
  if (run.error) return <Notice tone="err">{failureOf(run)}</Notice>;
  return run.message ? <Notice tone={run.status === "cancelled" ? "info" : "err"}>{said(run.message, run.messageZH)}</Notice> : null;
}

function Summary({ run, tool, parts, whole }: { run: Run; tool?: Item; parts?: Parts; whole: boolean }) {
  const done = run.status !== "running";
  const asking = !done && questionsOf(run).length > 0;
  return <div class="rh" role="status" aria-live="polite">
    <Status tone={asking ? "ask" : toneOfRun(run)} state={run.status}><b>{asking ? t("waitsAnswer") : runStatus(run)}</b></Status>
    {run.chaos && <span class="tag warn">{t("chaosOn", run.chaos)}</span>}
    {done && <><span class="took">{ns(run.total)}</span>{!whole && <Split run={run} />}<span class="space" /><span class="mut size">{bytes(run.resSize)} {tokens(run.resSize)}</span>
      {parts?.structured && tool?.outputSchema && <SchemaTag schema={tool.outputSchema} value={parts.structured} />}</>}
    {!done && <><span class="space" /><span class="mut num">{t("runNumber", numberOf(run))} · {ns(Math.max(0, now.value - Date.parse(run.start)) * 1e6)}</span>
      <button type="button" class="button small" onClick={() => void cancel(run).catch((e) => toast(errorText(e), undefined, "err"))}><Icon name="stop" />{t("cancelRun")}</button></>}
  </div>;
}

/** Split shows where the time went: gateway, network, server. */
function Split({ run }: { run: Run }) {
  if (run.serverTime === undefined && run.gateway === undefined && run.transport === undefined) return null;
  const parts = ([["gw", "gateway", run.gateway ?? 0], ["net", "network", run.transport ?? 0], ["srv", "server", run.serverTime ?? 0]] as const).filter(([, , v]) => v > 0);
  const whole = Math.max(1, parts.reduce((n, [, , v]) => n + v, 0));
  const text = parts.map(([, key, v]) => `${t(key)} ${ns(v)}`).join(" · ");
  return <><span class={"split" + (run.status === "ok" ? "" : " bad")} role="img" aria-label={text} title={text}>{parts.map(([c, , v]) => <i key={c} class={"d-" + c} style={{ flexGrow: String(Math.max(v / whole, 0.01)) }} />)}</span>
    <span class="legend" aria-hidden="true">{parts.map(([c, key, v]) => <span key={c}><i class={"key d-" + c} />{t(key)} {ns(v)}</span>)}</span></>;
}

function Progress({ run }: { run: Run }) {
  const last = notes.value.findLast((n) => n.run === run.id)?.params;
  const value = last?.total ? last.progress / last.total : undefined;
  if (questionsOf(run).length) return null;
  return <div class="pad"><progress value={value} max={1} aria-label={t("progress")} />
    <p class="mut">{last ? `${last.progress}${last.total ? " / " + last.total : ""} ${last.message ?? ""}` : t("waitingAnswer")}</p></div>;
}

const questionsOf = (run: Run) => inbox.value.filter((q) => q.run === run.id);

/** Questions shows the open questions of a run; they disappear when the run ends. */
function Questions({ run }: { run: Run }) {
  return <>{questionsOf(run).map((q) => <QuestionItem key={q.id} q={q} />)}</>;
}

function useSchemaCheck(schema: unknown, value: string): Problem[] | undefined {
  const [problems, setProblems] = useState<Problem[]>();
  useEffect(() => {
    setProblems(undefined);
    if (schema && value.length < 5 << 20) void validate(JSON.stringify(schema), value).then(setProblems, () => {});
  }, [schema, value]);
  return problems;
}

function SchemaTag({ schema, value }: { schema: unknown; value: string }) {
  const problems = useSchemaCheck(schema, value);
  if (!problems) return null;
  return problems.length ? <span class="tag err" title={t("schemaBroken")}>{t("schemaTag")}</span> : <span class="tag ok" title={t("schemaKept")}><Icon name="check" />{t("schemaTag")}</span>;
}

function SchemaProblems({ schema, value }: { schema?: unknown; value: string }) {
  const problems = useSchemaCheck(schema, value);
  return problems?.length ? <Notice tone="err">{t("schemaBroken")} {problems.slice(0, 5).map((p) => <div key={p.path}><code>{p.path || "/"}</code> {said(p.message, p.messageZH)}</div>)}</Notice> : null;
}
