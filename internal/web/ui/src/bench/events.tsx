// Notifications of a server during a call: progress, log messages, stderr.
import { useState } from "preact/hooks";
import type { Bench, Run } from "../api.ts";
import { clock, ns } from "../format.ts";
import { t } from "../i18n/index.ts";
import { IconButton, Panel, Tabs } from "../parts/basics.tsx";
import { remembered } from "../state.ts";
import { noteKind, noteText } from "../note.ts";
import { notes } from "./session.ts";

const shut = remembered("bench.dock", false);

export function Events({ bench, run }: { bench: Bench; run?: Run }) {
  const [tab, setTab] = useState("");
  const own = notes.value.filter((n) => n.bench === bench.id && (!run || n.run === run.id || !n.run && n.at >= run.start));
  if (!own.length) return null;
  const said = own.filter((n) => n.text === undefined), lines = own.filter((n) => n.text !== undefined);
  const tabs = [{ id: "events", label: <>{t("events")} <span class="n">{said.length}</span></>, hidden: !said.length }, { id: "stderr", label: <>{t("serverLog")} <span class="n">{lines.length}</span></>, hidden: !lines.length }];
  const selected = tabs.find((x) => x.id === tab && !x.hidden)?.id ?? tabs.find((x) => !x.hidden)!.id;
  return <section class="dock" aria-label={t("notifications")}>
    <div class="rt"><Tabs name="dock" label={t("notifications")} selected={selected} onSelect={(id) => { setTab(id); shut.value = false; }} tabs={tabs} /><span class="space" />
      <IconButton icon={shut.value ? "up" : "down"} label={t("toggle")} onClick={() => { shut.value = !shut.value; }} /></div>
    <Panel name="dock" selected={selected}>{!shut.value && <ol class="loglines" tabIndex={0} aria-label={t("notifications")}>
      {(selected === "events" ? said : lines).slice(-100).map((n, i) => <li key={i}><time>{run ? "+" + ns(Math.max(0, Date.parse(n.at) - Date.parse(run.start)) * 1e6) : clock(n.at)}</time><span class="lv">{noteKind(n.method, n.params)}</span><span>{n.text ?? noteText(n.method, n.params)}</span></li>)}</ol>}</Panel>
  </section>;
}
