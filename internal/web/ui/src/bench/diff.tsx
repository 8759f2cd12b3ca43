// A run next to the previous one, key by key.
import { useMemo, useState } from "preact/hooks";
import type { Run } from "../api.ts";
import { clock } from "../format.ts";
import { t } from "../i18n/index.ts";
import { parse } from "../json/exact.ts";
import { diff, type Change } from "../json/diff.ts";
import { Empty, Status } from "../parts/basics.tsx";
import { useBody } from "./body.ts";
import { runStatus } from "./runs.tsx";
import { runs } from "./session.ts";

/** othersOf returns the runs that a run can be compared with: the same request, newest first. */
export function othersOf(run: Run): Run[] {
  return [...runs.value.values()].filter((r) => r.id !== run.id && r.target === run.target && r.method === run.method && r.name === run.name && r.kept).sort((a, b) => b.start.localeCompare(a.start));
}

export function RunDiff({ run, text }: { run: Run; text: string }) {
  const others = othersOf(run);
  const [chosen, setChosen] = useState("");
  // "Rerun and compare" compares with the previous run.
  const other = others.find((r) => r.id === chosen) ?? others.find((r) => r.start < run.start) ?? others[0];
  const { text: before } = useBody(other);
  const changes = useMemo(() => (before === undefined ? undefined : diff(parse(before), parse(text))), [before, text]);
  if (!other) return <Empty>{t("nothingToCompare")}</Empty>;
  return <div class="scroll"><div class="bar"><label for="diff-with">{t("compareWith")}</label><select id="diff-with" value={other.id} onChange={(e) => setChosen(e.currentTarget.value)}>
    {others.map((r) => <option key={r.id} value={r.id}>{clock(r.start)} {r.target} {runStatus(r)}</option>)}</select></div>
    {changes && <DiffList changes={changes} />}</div>;
}

export function DiffList({ changes }: { changes: Change[] }) {
  if (!changes.length) return <p class="pad"><Status tone="ok">{t("noDifference")}</Status></p>;
  return <table class="diff" aria-label={t("differences")}><thead><tr><th>{t("key")}</th><th>{t("was")}</th><th>{t("isNow")}</th></tr></thead><tbody>{changes.slice(0, 200).map((c) => <tr key={c.path} class={c.kind}>
    <td><code>{c.path || "/"}</code></td><td><code class="before">{c.before?.slice(0, 200)}</code></td><td><code class="after">{c.after?.slice(0, 200)}</code></td></tr>)}</tbody></table>;
}
