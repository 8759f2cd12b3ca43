// A resource or a template: read it, subscribe to it, see what an update
// changed.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Bench } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { clock } from "../format.ts";
import { t } from "../i18n/index.ts";
import { lineDiff, type DiffLine } from "../json/diff.ts";
import { member } from "../json/members.ts";
import { on } from "../live.ts";
import { useShortcuts, modName } from "../keys.ts";
import { Status, errorText, toast } from "../parts/basics.tsx";
import { may } from "../state.ts";
import { complete } from "./complete.ts";
import type { Item } from "./list.tsx";
import { CopyMenu } from "./copy.tsx";
import { Gutter } from "./panes.tsx";
import { ResultPane } from "./result.tsx";
import { RunList } from "./runs.tsx";
import { SaveTest } from "./save.tsx";
import { ask, finished, labelOf, runs, start } from "./session.ts";
import { expand, variables } from "./template.ts";

export function ResourcePane({ bench, item, target, resources }: { bench: Bench; item: Item; target: string; resources: Item[] }) {
  const template: string | undefined = item.uriTemplate;
  const [values, setValues] = useState<Record<string, string>>({});
  const [runId, setRunId] = useState("");
  const [subscribed, setSubscribed] = useState(false);
  const [updates, setUpdates] = useState<{ at: string; lines: DiffLine[] }[]>([]);
  const uri = template ? expand(template, values) : String(item.uri);
  const ready = !template || variables(template).every((v) => values[v]);
  const last = useRef<string | undefined>(undefined);
  useEffect(() => { commandLine.value = command("read", target, uri); }, [uri]);
  const read = async () => {
    if (!ready) return;
    try {
      const run = await start(bench.id, "resources/read", JSON.stringify({ uri }));
      setRunId(run.id);
      const done = await finished(run);
      if (done.status === "ok") last.current = await textOf(bench, uri);
    } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  const follow = async (want: boolean) => {
    try {
      await ask(bench.id, want ? "resources/subscribe" : "resources/unsubscribe", JSON.stringify({ uri }));
      setSubscribed(want);
      if (want && last.current === undefined) last.current = await textOf(bench, uri);
    } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  useUpdates(bench, uri, subscribed, last, (lines) => setUpdates((u) => [{ at: new Date().toISOString(), lines }, ...u].slice(0, 20)));
  const latest = useRef(read);
  latest.current = read;
  useShortcuts([{ keys: "mod+Enter", label: "read", run: () => void latest.current(), inInput: true }]);
  const run = runs.value.get(runId);
  const caps = bench.info.capabilities?.resources ?? {};
  return <>
    <section class="pane form-pane" aria-label={uri}>
      <div class="pb"><h2><code>{item.title ?? item.name ?? uri}</code></h2>{item.mimeType && <span class="tag">{item.mimeType}</span>}{item.size !== undefined && <span class="tag">{item.size} B</span>}</div>
      <div class="pscroll">
        {item.description && <p class="description">{item.description}</p>}
        {template && <div class="form">{variables(template).map((v) => <VariableBox key={v} bench={bench} template={template} name={v} values={values} resources={resources} onChange={(x) => setValues({ ...values, [v]: x })} />)}</div>}
        <p class="pad"><code data-testid="uri">{uri}</code></p>
        <div class="run-bar"><button type="button" class="button primary" data-testid="read" disabled={!ready || !may("call")} onClick={() => void read()}>{t("read")} <kbd>{modName} ⏎</kbd></button>
          {caps.subscribe && <button type="button" class="button" aria-pressed={subscribed} disabled={!ready || !may("call")} onClick={() => void follow(!subscribed)}>{t(subscribed ? "unsubscribe" : "subscribe")}</button>}
          {subscribed && <Status tone="ok">{t("updatesN", updates.length)}</Status>}</div>
        {updates.map((u) => <section key={u.at} class="update" aria-label={t("update") + " " + clock(u.at)} data-testid="update"><h3>{clock(u.at)}</h3><DiffText lines={u.lines} label={clock(u.at)} /></section>)}
        <RunList target={labelOf(bench)} method="resources/read" name={uri} current={runId} onShow={setRunId} />
      </div>
    </section>
    <Gutter pane="form" label="resizeForm" />
    <ResultPane run={run} bench={bench} target={target} empty={t("notRead")} actions={run && <><SaveTest from={{ run: run.id }} name={run.target} /><CopyMenu bench={bench} method="resources/read" params={() => JSON.stringify({ uri })} /></>} />
  </>;
}

/** textOf reads a resource for a comparison, without a visible run. */
async function textOf(bench: Bench, uri: string): Promise<string> {
  const { text } = await ask(bench.id, "resources/read", JSON.stringify({ uri }));
  return (JSON.parse(member(text, "contents") ?? "[]") as any[]).map((c) => c.text ?? c.blob ?? "").join("\n");
}

function useUpdates(bench: Bench, uri: string, active: boolean, last: { current: string | undefined }, onDiff: (lines: DiffLine[]) => void): void {
  useEffect(() => {
    if (!active) return;
    let busy = false;
    return on("bench", async (e) => {
      if (e.bench !== bench.id || e.method !== "notifications/resources/updated" || e.params?.uri !== uri || busy) return;
      busy = true;
      try {
        const text = await textOf(bench, uri);
        onDiff(lineDiff(last.current ?? "", text));
        last.current = text;
      } catch (err) { toast(errorText(err), undefined, "err"); }
      busy = false;
    });
  }, [bench.id, uri, active]);
}

export function DiffText({ lines, label }: { lines: DiffLine[]; label: string }) {
  const near = (i: number) => lines.slice(Math.max(0, i - 2), i + 3).some((l) => l.kind !== " ");
  const shown = lines.map((l, i) => ({ l, i })).filter(({ i }) => near(i)).slice(0, 200);
  if (!shown.length) return <p class="mut">{t("noDifference")}</p>;
  return <pre class="code text difftext" tabIndex={0} role="group" aria-label={t("differences") + " " + label}>{shown.map(({ l, i }) => <span key={i} class={l.kind === "+" ? "plus" : l.kind === "-" ? "minus" : ""}>{l.kind} {l.text}{"\n"}</span>)}</pre>;
}

function VariableBox(p: { bench: Bench; template: string; name: string; values: Record<string, string>; resources: Item[]; onChange: (v: string) => void }) {
  const [options, setOptions] = useState<string[]>([]);
  const v = p.values[p.name] ?? "";
  const completes = !!p.bench.info.capabilities?.completions;
  useEffect(() => {
    if (!completes) return;
    let live = true;
    const timer = setTimeout(() => void complete(p.bench.id, { type: "ref/resource", uri: p.template }, p.name, v, p.values).then((o) => { if (live) setOptions(o); }), 150);
    return () => { live = false; clearTimeout(timer); };
  }, [v]);
  return <div class="node"><div class="node-label"><label for={"v-" + p.name}><code>{p.name}</code><span class="err">*</span></label></div>
    <input id={"v-" + p.name} value={v} list={"v-" + p.name + "-list"} onInput={(e) => p.onChange(e.currentTarget.value)} />
    <datalist id={"v-" + p.name + "-list"} data-testid="completions">{options.map((o) => <option key={o} value={o} />)}</datalist></div>;
}
