// One test file: its last run, its text, its trend.
import { useEffect, useState } from "preact/hooks";
import { change, path, type Suite, type TestResult } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { ago, ns } from "../format.ts";
import { said, t } from "../i18n/index.ts";
import { Empty, Notice, Panel, Status, Tabs, errorText, now, toast } from "../parts/basics.tsx";
import { Confirm } from "../parts/endpoint.tsx";
import { Head } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, query, setQuery } from "../router.ts";
import { may } from "../state.ts";
import { Outcome, Trend, runSuite, toneOfTest, useTests } from "./tests.tsx";

export function SuitePage({ name }: { name: string }) {
  const { value: s, error } = useTests<Suite>(path("suites", name));
  const [confirm, setConfirm] = useState<{ run: string; update: boolean }>();
  const tab = query.value.get("tab") ?? "results";
  useEffect(() => { commandLine.value = command("test", s?.path ?? name); }, [s?.path]);
  if (error && !s) return <div class="page"><Head title={name} /><Notice tone="err">{error}</Notice></div>;
  if (!s) return <div class="page"><h1 class="hidden">{name}</h1></div>;
  const start = async (update: boolean, yes?: string) => { const run = await runSuite(name, update, yes); setConfirm(run ? { run, update } : undefined); };
  const remove = async () => {
    try {
      const { undo } = await change<{ undo: string }>("DELETE", path("suites", name));
      go("/ui/tests");
      toast(t("removed", name), { label: "undo", run: () => void change("POST", path("undo", undo)).catch((e) => toast(errorText(e), undefined, "err")) });
    } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  const last = s.runs.at(-1);
  return <div class="page">
    <Head title={<><a href="/ui/tests">{t("tests")}</a> / {name}</>} what={<>{s.isRunning ? <Status tone="busy" state="running">{t("runningN", s.running?.length ?? 0, s.tests)}</Status> : last && <Outcome run={last} />}
      <span class="mut"><code>{s.target}</code>{last ? ` · ${ns(last.took)} · ${ago(last.start, now.value)}` : ""}</span></>}><span class="trend-box hide-m"><Trend runs={s.runs} /></span>
      {s.isRunning ? <button type="button" class="button danger" onClick={() => void change("DELETE", path("suites", name, "run")).catch((e) => toast(errorText(e), undefined, "err"))}><Icon name="stop" />{t("cancel")}</button>
        : <button type="button" class="button primary" data-testid="run-suite" disabled={!!s.error || !s.tests || !may("call")} onClick={() => void start(false)}><Icon name="play" />{t("run")}</button>}
      {may("call") && <button type="button" class="button" disabled={!!s.error || !s.tests || s.isRunning} title={t("acceptHint")} onClick={() => void start(true)}>{t("acceptNew")}</button>}
      {may("admin") && <button type="button" class="button danger" onClick={() => void remove()}>{t("remove")}</button>}</Head>
    {confirm && <Confirm run={confirm.run} onYes={() => void start(confirm.update, confirm.run)} onNo={() => setConfirm(undefined)} />}
    {s.error && <Notice tone="err">{said(s.error, s.errorZH)}</Notice>}
    {s.evals && <Notice tone="info">{t("evalsHere", s.evals)} <code>{command("eval", s.path || name)}</code></Notice>}
    {last?.error && !s.isRunning && <Notice tone="err">{said(last.error, last.errorZH)}</Notice>}
    <div class="tabline"><Tabs name="suite" label={name} selected={tab} onSelect={(id) => setQuery({ tab: id })} tabs={[{ id: "results", label: t("result") }, { id: "file", label: t("testFile") }]} /></div>
    <Panel name="suite" selected={tab} class="fill">{tab === "file" ? <SuiteText name={name} text={s.text ?? ""} path={s.path} /> : <Results list={s.isRunning ? s.running ?? [] : last?.results ?? []} never={!last && !s.isRunning} />}</Panel>
  </div>;
}

function Results({ list, never }: { list: TestResult[]; never: boolean }) {
  if (!list.length) return <Empty><b>{t(never ? "neverRun" : "noResults")}</b>{never && <span>{t("draftHint")}</span>}</Empty>;
  return <ol class="plain results" aria-label={t("result")}>{list.map((r) => <li key={r.name} data-testid="test-result" data-state={r.status}>
    <div><Status tone={toneOfTest(r)} state={r.status}><b>{r.name}</b></Status> <span class="mut">{r.status === "skipped" ? t("skipped") : ns(r.took)}{r.updated ? " · " + t("snapshotWritten") : ""}</span></div>
    {r.problems?.map((p, i) => <pre key={i} class="code text problem" tabIndex={0} role="group" aria-label={r.name}>{said(p, r.problemsZH?.[i])}</pre>)}</li>)}</ol>;
}

/** SuiteText edits the file; invalid text is not saved. */
export function SuiteText({ name, text, path: file, onSaved }: { name: string; text: string; path?: string; onSaved?: () => void }) {
  const [draft, setDraft] = useState<string>();
  const [error, setError] = useState("");
  const save = async () => {
    try {
      await change("PUT", path("suites", name), { text: draft ?? text });
      setDraft(undefined);
      setError("");
      toast(t("saved", name));
      onSaved?.();
    } catch (e) { setError(errorText(e)); }
  };
  return <div class="fill suite-text"><textarea class="mono" spellcheck={false} aria-label={t("testFile")} value={draft ?? text} readOnly={!may("admin")} onInput={(e) => setDraft(e.currentTarget.value)} />
    {error && <Notice tone="err"><pre class="plainpre">{error}</pre></Notice>}
    <div class="bar">{may("admin") && <button type="button" class="button primary" disabled={!name || draft === undefined && !onSaved} onClick={() => void save()}>{t("save")}</button>}<code class="mut">{file}</code></div></div>;
}
