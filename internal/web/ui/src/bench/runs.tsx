// The earlier runs of one tool or prompt.
import { useEffect, useState } from "preact/hooks";
import { get, type Run, type RunStatus } from "../api.ts";
import { ago, ns } from "../format.ts";
import { t, type Key } from "../i18n/index.ts";
import { inbox } from "../live.ts";
import { IconButton, Status, now, type Tone } from "../parts/basics.tsx";
import { runs } from "./session.ts";

const tones: Record<RunStatus, Tone> = { running: "busy", ok: "ok", tool_error: "warn", error: "err", failed: "err", cancelled: "idle", timeout: "err" };
export const toneOfRun = (r: Run) => tones[r.status];
export const runStatus = (r: Run) => t(("run_" + r.status) as Key) + (r.error ? " " + r.error.code : "");

/** numberOf returns the number of a run among the known runs of its tool; the oldest has number 1. */
export function numberOf(run: Run): number {
  return [...runs.value.values()].filter((r) => !r.quiet && r.target === run.target && r.method === run.method && r.name === run.name && r.start <= run.start).length;
}

interface RunListProps { target: string; method: string; name: string; current: string; onShow: (id: string) => void; onReuse?: (run: Run) => void; onAgain?: (run: Run) => void; onCompare?: () => void }

export function RunList(p: RunListProps) {
  const [, setLoaded] = useState(0);
  useEffect(() => {
    const q = new URLSearchParams({ target: p.target, method: p.method, name: p.name, limit: "30" });
    void get<Run[]>("runs?" + q).then((old) => {
      const next = new Map(runs.peek());
      for (const r of old) if (!next.has(r.id)) next.set(r.id, r);
      runs.value = next;
      setLoaded((n) => n + 1);
    }, () => {});
  }, [p.target, p.method, p.name]);
  const list = [...runs.value.values()].filter((r) => !r.quiet && r.target === p.target && r.method === p.method && r.name === p.name).sort((a, b) => b.start.localeCompare(a.start)).slice(0, 30);
  if (!list.length) return null;
  return <section aria-label={t("runs")} class="runs"><h2>{t("runs")}<span class="mut">{t("ofThisItem")}</span><span class="space" />{p.onCompare && list.length > 1 && <button type="button" class="link" onClick={p.onCompare}>{t("compare")}</button>}</h2>
    <ol>{list.map((r, i) => <RunRow key={r.id} r={r} n={list.length - i} {...p} />)}</ol></section>;
}

function RunRow({ r, n, ...p }: RunListProps & { r: Run; n: number }) {
  const asks = r.status === "running" && inbox.value.some((q) => q.run === r.id);
  const show = () => p.onShow(r.id);
  return <li aria-current={r.id === p.current ? "true" : undefined} class="run-row" onClick={show}>
    <span class="mut">#{n}</span>
    <button type="button" class="plain-button" onClick={(e) => { e.stopPropagation(); show(); }}><Status tone={asks ? "ask" : toneOfRun(r)} state={asks ? "asking" : r.status}>{asks ? t("waitsAnswer") : runStatus(r)}</Status></button>
    <span class="r">{r.status === "running" ? "…" : ns(r.total)}</span><span class="r mut">{ago(r.start, now.value)}</span>
    <span class="act" onClick={(e) => e.stopPropagation()}>
      {p.onReuse && <IconButton icon="edit" label={t("useArguments")} onClick={() => p.onReuse!(r)} />}
      {p.onAgain && <IconButton icon="refresh" label={t("runAgain")} onClick={() => p.onAgain!(r)} />}</span></li>;
}
