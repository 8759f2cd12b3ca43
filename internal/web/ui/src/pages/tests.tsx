// Test files: their results, their runs, and new files made from traffic.
import { useEffect } from "preact/hooks";
import { ApiError, change, get, path, type Suite, type SuiteRun, type TestResult } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { ago, ns } from "../format.ts";
import { t } from "../i18n/index.ts";
import { on } from "../live.ts";
import { Empty, Notice, Status, errorText, now, toast, useLoad } from "../parts/basics.tsx";
import { Head, Skeleton } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, href, segments } from "../router.ts";
import { may } from "../state.ts";
import { SuiteNew } from "./test_new.tsx";
import { SuitePage } from "./test_suite.tsx";

export function Tests() {
  const [, name] = segments.value;
  if (name === "new") return <SuiteNew />;
  return name ? <SuitePage name={name} key={name} /> : <SuiteList />;
}

/** useTests reloads when a test file or a run has changed. */
export function useTests<T>(url: string) {
  const loaded = useLoad(() => get<T>(url), [url]);
  useEffect(() => on("tests", () => loaded.reload()), [url]);
  return loaded;
}

/** runSuite starts a run. If the file starts a command, that is shown first. */
export async function runSuite(name: string, update: boolean, confirm?: string): Promise<string | undefined> {
  try { await change("POST", path("suites", name, "run"), { update, confirm: confirm ?? "" }); } catch (e) {
    if (e instanceof ApiError && e.run) return e.run;
    toast(errorText(e), undefined, "err");
  }
  return undefined;
}

function SuiteList() {
  const { value, error } = useTests<{ dir: string; suites: Suite[] }>("suites");
  useEffect(() => { commandLine.value = command("test", ...(value ? [value.dir] : [])); }, [value?.dir]);
  // Failed suites come first.
  const bad = (s: Suite) => !!s.error || !!s.runs.at(-1)?.failed || !!s.runs.at(-1)?.error;
  const list = [...(value?.suites ?? [])].sort((a, b) => Number(bad(b)) - Number(bad(a)));
  const failing = list.filter(bad).length;
  const all = async () => {
    for (const s of list) {
      const needs = s.isRunning || s.error || !s.tests ? "" : await runSuite(s.name, false);
      if (needs) go(href(["tests", s.name]));
    }
  };
  return <div class="page tests-page">
    <Head title={t("tests")} what={value && <>{failing > 0 && <span class="err">{t("failuresN", failing)} · </span>}{t("testsWhat", list.length)}</>}>
      {may("admin") && <a class="button" href="/ui/tests/new"><Icon name="plus" />{t("fromTraffic")}</a>}
      <button type="button" class="button primary" disabled={!list.length || !may("call")} onClick={() => void all()}><Icon name="play" />{t("runAll")}</button></Head>
    {error && <Notice tone="err">{error}</Notice>}
    <div class="scroll">{!value && !error && <Skeleton cards={["c12"]} />}
    {list.length ? <section class="card flush wide" aria-label={t("tests")}><table class="suites">
      <thead><tr><th>{t("suite")}</th><th>{t("target")}</th><th class="r">{t("cases")}</th><th>{t("lastRun")}</th><th class="r">{t("duration")}</th><th>{t("trend")}</th><th><span class="hidden">{t("actions")}</span></th></tr></thead>
      <tbody>{list.map((s) => <SuiteRow key={s.name} s={s} />)}</tbody></table></section>
      : value && <Empty><b>{t("noSuites")}</b><span>{t("noSuitesText")}</span><a class="button" href="/ui/tests/new">{t("fromTraffic")}</a></Empty>}
    {value && <p class="mut folder">{t("suitesIn")} <code>{value.dir}</code></p>}</div>
  </div>;
}

function SuiteRow({ s }: { s: Suite }) {
  const last = s.runs.at(-1);
  return <tr data-testid={"suite-" + s.name} class="open-row" onClick={() => go(href(["tests", s.name]))}>
    <td><a class="name" href={href(["tests", s.name])}>{s.name}</a></td><td class="mut"><code>{s.target}</code></td><td class="r">{s.tests}</td>
    <td>{s.error ? <Status tone="err">{t("unreadable")}</Status> : s.isRunning ? <Status tone="busy" state="running">{t("runningN", s.running?.length ?? 0, s.tests)}</Status> : last ? <><Outcome run={last} /> <span class="mut">· {ago(last.start, now.value)}</span></> : <span class="mut">{t("neverRun")}</span>}</td>
    <td class="r">{last ? ns(last.took) : "–"}</td><td class="spark-cell"><Trend runs={s.runs} /></td>
    <td class="actions" onClick={(e) => e.stopPropagation()}><button type="button" class="button small" disabled={s.isRunning || !!s.error || !s.tests || !may("call")} onClick={() => void runSuite(s.name, false).then((run) => { if (run) go(href(["tests", s.name])); })}>{t("run")}</button></td></tr>;
}

export function Outcome({ run }: { run: SuiteRun }) {
  const bad = run.failed > 0 || !!run.error;
  return <Status tone={bad ? "err" : "ok"} state={bad ? "failed" : "passed"}>{run.error && !run.results?.length && !run.passed && !run.failed ? t("didNotRun") : t("outcome", run.passed, run.failed)}</Status>;
}

/** Trend draws the duration of each run; failed runs are red. */
export function Trend({ runs }: { runs: SuiteRun[] }) {
  const part = runs.slice(-30);
  const top = Math.max(1, ...part.map((r) => r.took));
  if (!part.length) return null;
  return <svg class="spark trend" viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label={t("trendOf", part.length, part.filter((r) => r.failed || r.error).length)}>
    {part.map((r, i) => <rect key={r.start} class={r.failed || r.error ? "bad" : "good"} x={(i * 100) / 30} width={2.6} y={30 - Math.max(3, (r.took / top) * 29)} height={Math.max(3, (r.took / top) * 29)} />)}</svg>;
}

export const toneOfTest = (r: TestResult) => (r.status === "passed" ? "ok" : r.status === "failed" ? "err" : "idle");
