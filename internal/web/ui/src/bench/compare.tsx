// The same call on several targets, with the differences.
import { useEffect, useState } from "preact/hooks";
import type { Bench, Run } from "../api.ts";
import { bytes, ns } from "../format.ts";
import { t } from "../i18n/index.ts";
import { parse } from "../json/exact.ts";
import { diff, type Change } from "../json/diff.ts";
import { member } from "../json/members.ts";
import { JsonView } from "../json/view.tsx";
import { servers } from "../live.ts";
import { Menu } from "../parts/menu.tsx";
import { IconButton, Status, errorText, toast } from "../parts/basics.tsx";
import { DiffList } from "./diff.tsx";
import { body, failureOf, finished, labelOf, open, start } from "./session.ts";
import { runStatus, toneOfRun } from "./runs.tsx";

export interface Column { label: string; run?: Run; text?: string; error?: string }

function CompareButton(p: { bench: Bench; method: string; params: () => string; onStart: (c: Column[]) => void; disabled: boolean }) {
  const [chosen, setChosen] = useState<string[]>([]);
  const own = p.bench.target.server;
  const options = [...(own && p.bench.target.via !== "gateway" ? [own + "?gateway"] : []), ...servers.value.filter((s) => s.name !== own).map((s) => s.name), ...new Set(servers.value.map((s) => "~" + s.schema))];
  const name = (o: string) => (o.endsWith("?gateway") ? t("viaGatewayOf", o.slice(0, -8)) : o.startsWith("~") ? t("wholeGateway", o.slice(1)) : o);
  const go = async () => {
    const columns: Column[] = [{ label: labelOf(p.bench) }, ...chosen.map((c) => ({ label: name(c) }))];
    p.onStart([...columns]);
    const set = (i: number, part: Partial<Column>) => { columns[i] = { ...columns[i]!, ...part }; p.onStart([...columns]); };
    await Promise.all(columns.map(async (_, i) => {
      try {
        const other = chosen[i - 1];
        const b = other === undefined ? p.bench : await open(other.replace("?gateway", ""), other.endsWith("?gateway") ? "gateway" : null);
        const run = await finished(await start(b.id, p.method, p.params()));
        set(i, { run, text: run.kept ? await body(run) : undefined, error: run.kept ? undefined : failureOf(run) });
      } catch (e) { set(i, { error: errorText(e) }); toast(errorText(e), undefined, "err"); }
    }));
  };
  return <Menu class="button" label={t("runOnSeveral")} text={t("runOnSeveral")} disabled={p.disabled}>
    {options.map((o) => <label class="check menu-check" key={o}><input type="checkbox" checked={chosen.includes(o)} onChange={() => setChosen(chosen.includes(o) ? chosen.filter((x) => x !== o) : [...chosen, o])} />{name(o)}</label>)}
    <button type="button" class="button primary" disabled={!chosen.length} onClick={() => void go()}>{t("runOnN", chosen.length + 1)}</button>
  </Menu>;
}

const comparable = (text: string) => member(text, "structuredContent") ?? member(text, "content") ?? text;

function Columns({ columns, onClose }: { columns: Column[]; onClose: () => void }) {
  const [changes, setChanges] = useState<(Change[] | undefined)[]>([]);
  useEffect(() => {
    const first = columns[0]?.text;
    setChanges(columns.map((c, i) => (i && first && c.text ? diff(parse(comparable(first)), parse(comparable(c.text))) : undefined)));
  }, [columns]);
  return <section class="pane result-pane compare" aria-label={t("comparison")}>
    <div class="bar"><h2>{t("comparison")}</h2><span class="space" /><IconButton icon="close" label={t("close")} onClick={onClose} /></div>
    <div class="columns">{columns.map((c, i) => <section key={i} class="column" aria-label={c.label}>
      <div class="bar wrap"><b>{c.label}</b>{c.run ? <><Status tone={toneOfRun(c.run)}>{runStatus(c.run)}</Status> {ns(c.run.total)} <span class="mut">{bytes(c.run.resSize)}</span></> : c.error ? null : <Status tone="busy">…</Status>}</div>
      {c.error && <p class="err pad">{c.error}</p>}
      {changes[i] && <DiffList changes={changes[i]!} />}
      {c.text && <div class="json-box"><JsonView fit text={comparable(c.text)} label={c.label} /></div>}
    </section>)}</div>
  </section>;
}

export const Compare = { Button: CompareButton, Columns };
