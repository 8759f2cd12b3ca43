import { useEffect, useState } from "preact/hooks";
import { ApiError, get, path, type Line, type ServerDetail, type Stat } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { age, clock, count, ns } from "../format.ts";
import { lang, t } from "../i18n/index.ts";
import { on, servers } from "../live.ts";
import { CopyButton, Empty, Notice, Panel, Status, Tabs, now, useLoad } from "../parts/basics.tsx";
import { JsonView } from "../json/view.tsx";
import { href, query, setQuery } from "../router.ts";
import { may } from "../state.ts";
import { act, approve, remove, signIn } from "./servers.tsx";
import { History } from "./server_history.tsx";
import { Launch } from "./server_launch.tsx";
import { ServerEdit } from "./server_edit.tsx";
import { reasonOf, stateName, toneOf } from "./server_state.ts";

async function load(schema: string, name: string): Promise<ServerDetail> {
  try { return await get<ServerDetail>(path("servers", schema, name)); } catch (e) {
    throw e instanceof ApiError && e.status === 404 ? new Error(t("noServerNamed", name)) : e;
  }
}

export function ServerPage({ schema, name }: { schema: string; name: string }) {
  const state = servers.value.find((s) => s.schema === schema && s.name === name);
  const { value: d, error, reload } = useLoad(() => load(schema, name), [schema, name, JSON.stringify(state), lang.value]);
  const tab = query.value.get("tab") ?? "status";
  useEffect(() => { commandLine.value = command(tab === "logs" ? "logs" : tab === "history" ? "approve" : "inspect", name); }, [name, tab]);
  if (error && !d) return <div class="page"><div class="bar"><h1>{name}</h1><span class="space" /><a class="button" href="/ui/servers">{t("backToServers")}</a></div><Notice tone="err">{error}</Notice></div>;
  if (!d) return null;
  const off = d.state === "disabled", waits = d.state === "pending";
  const away = <button type="button" class="button danger" onClick={() => remove(d)}>{t("remove")}</button>;
  return <div class="page">
    <div class="bar wrap">
      <h1>{name}</h1><Status tone={toneOf(d)} state={d.state}>{stateName(d)}{d.since ? " " + age(d.since, now.value) : ""}</Status>
      <span class="mut">{d.transport} · {d.protocol ?? "–"}{d.pid ? ` · pid ${d.pid}` : ""}{d.sandbox ? ` · ${t("confined")}: ${d.sandbox}` : ""}{schema !== "default" ? ` · ${schema}` : ""}</span>
      <span class="space" />
      {waits && may("admin") && <><button type="button" class="button primary" disabled={!d.approval} onClick={() => void approve(d, reload)}>{t("approve")}</button>{away}</>}
      <a class={waits ? "button" : "button primary"} href={href(["bench", name])}>{t("bench")}</a>
      {may("admin") && <>
        {d.state === "auth" && <button type="button" class="button primary" onClick={() => void signIn(d)}>{t("signIn")}</button>}
        <button type="button" class="button" onClick={() => act(d, "restart")} disabled={off}>{t("restart")}</button>
        <button type="button" class="button" onClick={() => act(d, off ? "enable" : "disable")}>{t(off ? "enable" : "disable")}</button>
        {!waits && away}
      </>}
    </div>
    {d.state !== "up" && d.reason && <Notice tone={d.state === "down" || d.state === "auth" ? "err" : "warn"}>{reasonOf(d)}
      {d.withheld?.length ? <div>{t("withheld", d.withheld.join(", "))}</div> : null}</Notice>}
    <div class="bar"><Tabs name="server" label={name} selected={tab} onSelect={(id) => setQuery({ tab: id })}
      tabs={[{ id: "status", label: t("status") }, { id: "config", label: t("config") }, { id: "logs", label: t("logs") }, { id: "history", label: d.changes?.length ? `${t("changesTab")} ${d.changes.length}` : t("changesTab") }]} />
      <span class="space" /><a href={href(["doctor", schema, name])}>{t("doctor")}</a></div>
    <Panel name="server" selected={tab} class="fill">
      {tab === "status" && <StatusTab d={d} />}
      {tab === "config" && <ServerEdit detail={d} onSaved={reload} />}
      {tab === "history" && <History d={d} reload={reload} />}
      {tab === "logs" && <Logs name={name} stderr={d.stderr ?? []} />}
    </Panel>
  </div>;
}

function StatusTab({ d }: { d: ServerDetail }) {
  const { value } = useLoad(() => get<{ stats: Stat[] }>("overview"), [d.name]);
  const own = (value?.stats ?? []).filter((s) => s.server === d.name);
  const whole = own.find((s) => !s.name);
  const tools = own.filter((s) => s.name).sort((a, b) => b.p95 - a.p95).slice(0, 12);
  return <div class="status-grid">
    {d.state === "pending" && d.entry && <Launch entry={d.entry} whole={d.approval?.entry} />}
    <section class="card" aria-labelledby="h-counts"><h2 id="h-counts">{t("features")}</h2>
      <p>{t("tools")} <b>{d.tools}</b> · {t("resources")} <b>{d.resources}</b> · {t("prompts")} <b>{d.prompts}</b></p>
      <p class="mut">{t("restarts")} {d.restarts}{d.source ? ` · ${t("from", d.source)}` : ""}</p>
      {whole && <p>{t("callsCount", count(whole.calls))} · p50 {ns(whole.p50)} · p95 {ns(whole.p95)} · p99 {ns(whole.p99)}</p>}
    </section>
    {d.state !== "pending" && d.pending?.length ? <section class="card due" aria-labelledby="h-pending"><h2 id="h-pending">{t("pending")}</h2><ul>{d.pending.map((p) => <li key={p}><code>{p}</code></li>)}</ul></section> : null}
    <section class="card" aria-labelledby="h-slow"><h2 id="h-slow">{t("slowest")}</h2>
      {tools.length ? <table><thead><tr><th>{t("name")}</th><th class="r">{t("calls")}</th><th class="r">{t("errors")}</th><th class="r">p95</th></tr></thead>
        <tbody>{tools.map((s) => <tr key={s.name}><td><a href={href(["bench", d.name, "tools", s.name!])}><code>{s.name}</code></a></td><td class="r">{count(s.calls)}</td><td class={"r" + (s.errors ? " err" : "")}>{s.errors}</td><td class="r">{ns(s.p95)}</td></tr>)}</tbody></table>
        : <p class="mut">{t("noCalls")}</p>}
    </section>
    <section class="card wide" aria-labelledby="h-shake"><h2 id="h-shake">{t("handshake")}</h2>
      {d.handshake ? <div class="json-box"><JsonView fit text={JSON.stringify(d.handshake)} label={t("handshake")} /></div> : <p class="mut">{t("noHandshake")}</p>}
    </section>
    <section class="card wide" aria-labelledby="h-err"><h2 id="h-err">{t("lastStderr")}</h2>
      {d.stderr?.length ? <pre class="code text" tabIndex={0} role="group" aria-label={t("lastStderr")}>{d.stderr.slice(-20).join("\n")}</pre> : <p class="mut">{t("quietServer")}</p>}
    </section>
  </div>;
}

function Logs({ name, stderr }: { name: string; stderr: string[] }) {
  const [lines, setLines] = useState<Line[]>([]);
  const [filter, setFilter] = useState("");
  useEffect(() => {
    void get<Line[]>(path("logs", name)).then(setLines, () => setLines([]));
    return on("logs", (more) => {
      const own = more.filter((l) => l.server === name);
      if (own.length) setLines((old) => [...old, ...own].slice(-2000));
    });
  }, [name]);
  const shown = lines.filter((l) => l.text.toLowerCase().includes(filter.toLowerCase()));
  return <div class="page">
    <div class="bar"><input type="search" data-filter value={filter} placeholder={t("filter")} aria-label={t("filter")} onInput={(e) => setFilter(e.currentTarget.value)} />
      <span class="space" /><CopyButton text={() => lines.map((l) => `${l.time} ${l.source} ${l.text}`).join("\n")} /></div>
    {shown.length ? <ol class="loglines" tabIndex={0} aria-label={t("logs")}>{shown.slice(-500).map((l) => <li key={l.id}><span class="mut">{clock(l.time)}</span> <span class={"level " + (l.level ?? "")}>{l.level ?? l.source}</span> <span>{l.text}</span></li>)}</ol>
      : stderr.length ? <pre class="code text" tabIndex={0} role="group" aria-label={t("logs")}>{stderr.join("\n")}</pre> : <Empty>{t("quietServer")}</Empty>}
  </div>;
}
