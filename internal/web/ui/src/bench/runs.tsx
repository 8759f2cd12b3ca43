// The earlier runs of one tool or prompt.
import { useEffect, useState } from "preact/hooks";
import { get, type Run, type RunStatus } from "../api.ts";
import { ago, bytes, ns } from "../format.ts";
import { t, type Key } from "../i18n/index.ts";
import { Status, now, type Tone } from "../parts/basics.tsx";
import { runs } from "./session.ts";

const tones: Record<RunStatus, Tone> = { running: "busy", ok: "ok", tool_error: "err", error: "err", failed: "err", cancelled: "idle", timeout: "err" };
export const toneOfRun = (r: Run) => tones[r.status];
export const runStatus = (r: Run) => t(("run_" + r.status) as Key) + (r.error ? " " + r.error.code : "");

export function RunList(p: { target: string; method: string; name: string; current: string; onShow: (id: string) => void; onReuse?: (run: Run) => void }) {
  const [old, setOld] = useState<Run[]>([]);
  useEffect(() => {
    const q = new URLSearchParams({ target: p.target, method: p.method, name: p.name, limit: "30" });
    void get<Run[]>("runs?" + q).then(setOld, () => setOld([]));
  }, [p.target, p.method, p.name]);
  const all = new Map(old.map((r) => [r.id, r]));
  for (const r of runs.value.values()) if (!r.quiet && r.target === p.target && r.method === p.method && r.name === p.name) all.set(r.id, r);
  const list = [...all.values()].sort((a, b) => b.start.localeCompare(a.start)).slice(0, 30);
  if (!list.length) return null;
  const show = (r: Run) => { if (!runs.peek().has(r.id)) runs.value = new Map(runs.peek()).set(r.id, r); p.onShow(r.id); };
  return <section aria-label={t("runs")} class="runs"><h3>{t("runs")}</h3><table><tbody>
    {list.map((r) => <tr key={r.id} class={r.id === p.current ? "on" : ""}>
      <td><button type="button" class="link" onClick={() => show(r)}><Status tone={toneOfRun(r)} state={r.status}>{runStatus(r)}</Status></button></td>
      <td class="r">{r.status === "running" ? "…" : ns(r.total)}</td><td class="r mut">{bytes(r.resSize)}</td><td class="mut">{ago(r.start, now.value)}</td>
      <td class="r">{p.onReuse && <button type="button" class="link" onClick={() => p.onReuse!(r)}>{t("useArguments")}</button>}</td></tr>)}
  </tbody></table></section>;
}
