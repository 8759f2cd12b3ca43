// One server: its health and speed, its features, its changes.
import { useEffect, useState } from "preact/hooks";
import { ApiError, at, get, path, type Line, type ServerDetail } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { age, clock } from "../format.ts";
import { lang, t } from "../i18n/index.ts";
import { on, servers } from "../live.ts";
import { CopyButton, Empty, Notice, Panel, Status, Tabs, now, useLoad } from "../parts/basics.tsx";
import { Head, Skeleton } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { href, query, setQuery } from "../router.ts";
import { may } from "../state.ts";
import { ServerMenu, act, approve, remove, signIn } from "./servers.tsx";
import { History } from "./server_history.tsx";
import { ScriptsTab, scriptsOf } from "./server_scripts.tsx";
import { StatusTab, ToolsTab } from "./server_status.tsx";
import { ServerEdit } from "./server_edit.tsx";
import { reasonOf, stateName, toneOf } from "./server_state.ts";

async function load(schema: string, name: string, replica?: string): Promise<ServerDetail> {
  try { return { ...await get<ServerDetail>(at(path("servers", schema, name), replica)), replica }; } catch (e) {
    throw e instanceof ApiError && e.status === 404 ? new Error(t("noServerNamed", name)) : e;
  }
}

export function ServerPage({ schema, name }: { schema: string; name: string }) {
  // The events of another replica do not arrive here.
  const replica = query.value.get("replica") ?? undefined, admin = may("admin") && !replica;
  const state = replica ? Math.floor(now.value / 5_000) : servers.value.find((s) => s.schema === schema && s.name === name);
  const { value: d, error, reload } = useLoad(() => load(schema, name, replica), [schema, name, replica, JSON.stringify(state), lang.value]);
  const tab = query.value.get("tab") ?? "status";
  useEffect(() => { commandLine.value = command(tab === "logs" ? "logs" : tab === "history" || tab === "scripts" ? "approve" : "inspect", name); }, [name, tab]);
  const title = <><span class="hide-m"><a href={href(["servers"], { replica })}>{t("servers")}</a> / </span>{name}</>;
  if (error && !d) return <div class="page"><Head title={title}><a class="button" href="/ui/servers">{t("backToServers")}</a></Head><Notice tone="err">{error}</Notice></div>;
  if (!d) return <div class="page"><Head title={title} /><div class="scroll"><Skeleton /></div></div>;
  const words = new Set([d.reason, ...(d.stderr ?? [])].join(" ").split(/\W+/)), missed = (d.withheld ?? []).filter((n) => words.has(n));
  const waits = d.state === "pending", changes = d.changes?.length ?? 0, scripts = scriptsOf(d.entry);
  return <div class="page server-page">
    <Head title={title} what={<><Status tone={toneOf(d)} state={d.state}>{stateName(d)}{d.since ? " " + age(d.since, now.value) : ""}</Status> <span class="hide-m">{["", d.transport, d.protocol, [d.title, d.version].filter(Boolean).join(" "), d.sandbox ? `${t("confined")}: ${d.sandbox}` : "", schema !== "default" ? schema : ""].filter((x, i) => !i || x).join(" · ").trim()}</span></>}>
      {waits && admin && <button type="button" class="button primary" disabled={!d.approval} onClick={() => void approve(d, reload)}>{t("approve")}</button>}
      {waits && admin && <button type="button" class="button danger" onClick={() => void remove(d)}>{t("remove")}</button>}
      {d.state === "auth" && admin && <button type="button" class="button primary" onClick={() => void signIn(d)}>{t("signIn")}</button>}
      {replica ? <a class="button" href={href(["traffic"], { replica, q: "server:" + name })}><Icon name="traffic" />{t("showCallsOf")}</a>
        : <a class={waits || d.state === "auth" ? "button" : "button primary"} href={href(["bench", name])}><Icon name="bench" />{t("openInBench")}</a>}
      {admin && <button type="button" class="button" onClick={() => void act(d, d.state === "disabled" ? "enable" : "restart")}><Icon name={d.state === "disabled" ? "power" : "refresh"} />{t(d.state === "disabled" ? "enable" : "restart")}</button>}
      {!replica && <ServerMenu s={d} />}
    </Head>
    {replica && <Notice tone="info">{t("onReplica", replica)}</Notice>}
    {d.state !== "up" && d.reason && <Notice tone={d.state === "down" || d.state === "auth" ? "err" : "warn"}>{reasonOf(d)}
      {missed.length ? <div>{t("withheld", missed.join(", "))}</div> : null}</Notice>}
    <div class="tabline"><Tabs name="server" label={name} selected={tab} onSelect={(id) => setQuery({ tab: id })}
      tabs={[{ id: "status", label: t("summary") }, ...(scripts && !replica ? [{ id: "scripts", label: <>{t("scripts")} <span class="n">{Object.keys(scripts).length}</span></> }] : []), { id: "tools", label: <>{t("tools")} <span class="n">{d.tools}</span></> }, { id: "logs", label: t("log") }, { id: "history", label: <>{t("changesTab")}{changes > 0 && <span class="tag warn">{changes}</span>}</> }, ...(replica ? [] : [{ id: "config", label: t("config") }])]} /></div>
    <Panel name="server" selected={tab} class="fill">
      {tab === "status" && <StatusTab d={d} />}
      {tab === "tools" && <ToolsTab d={d} />}
      {tab === "scripts" && <ScriptsTab d={d} reload={reload} />}
      {tab === "config" && <ServerEdit detail={d} onSaved={reload} />}
      {tab === "history" && <History d={d} reload={reload} />}
      {tab === "logs" && <Logs name={name} replica={replica} stderr={d.stderr ?? []} />}
    </Panel>
  </div>;
}

function Logs({ name, replica, stderr }: { name: string; replica?: string; stderr: string[] }) {
  const [lines, setLines] = useState<Line[]>([]);
  const [filter, setFilter] = useState("");
  useEffect(() => {
    void get<Line[]>(at(path("logs", name), replica)).then(setLines, () => setLines([]));
    return replica ? undefined : on("logs", (more) => {
      const own = more.filter((l) => l.server === name);
      if (own.length) setLines((old) => [...old, ...own].slice(-2000));
    });
  }, [name, replica]);
  const shown = lines.filter((l) => l.text.toLowerCase().includes(filter.toLowerCase()));
  return <div class="fill logs">
    <div class="bar"><input type="search" data-filter value={filter} placeholder={t("filter")} aria-label={t("filter")} onInput={(e) => setFilter(e.currentTarget.value)} />
      <span class="space" /><CopyButton text={() => lines.map((l) => `${l.time} ${l.source} ${l.text}`).join("\n")} /></div>
    {shown.length ? <ol class="loglines" tabIndex={0} aria-label={t("logs")}>{shown.slice(-500).map((l) => <li key={l.id}><span class="mut">{clock(l.time)}</span> <span class={"level " + (l.level ?? "")}>{l.level ?? l.source}</span> <span>{l.text}</span></li>)}</ol>
      : stderr.length ? <pre class="code text" tabIndex={0} role="group" aria-label={t("logs")}>{stderr.join("\n")}</pre> : <Empty>{t("quietServer")}</Empty>}
  </div>;
}
