// All servers: which fail, why, and whether they have been stable.
import { useEffect, useState } from "preact/hooks";
import { change, get, path, type CatalogPage, type Overview, type Past, type Server, type ServerDetail, type Stat, type Uptime } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { age, count, ns, percent, short } from "../format.ts";
import { said, t } from "../i18n/index.ts";
import { loaded, servers } from "../live.ts";
import { Empty, Status, copyText, download, errorText, now, toast, useLoad, type Tone } from "../parts/basics.tsx";
import { Sparkline, Strip } from "../parts/chart.tsx";
import { Head, Skeleton } from "../parts/head.tsx";
import { Menu } from "../parts/menu.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, href, query, segments, setQuery } from "../router.ts";
import { may } from "../state.ts";
import { AddPage } from "./add.tsx";
import { ServerPage } from "./server.tsx";
import { costByServer } from "./overview_cost.tsx";
import { isOff, needy, reasonOf, stateName, toneOf, upOf } from "./server_state.ts";
import { ReplicaFilter, ReplicaServers, chosenReplica } from "./replicas.tsx";
import { ServerImport } from "./server_import.tsx";

export function Servers() {
  const [, first, second] = segments.value;
  if (first === "new") return <AddPage />;
  if (first === "import") return <ServerImport />;
  if (first && second) return <ServerPage schema={first} name={second} key={first + "/" + second} />;
  return <ServerList />;
}

/** act runs an action and reports the outcome. */
export async function act(s: { schema: string; name: string }, action: "enable" | "disable" | "restart" | "approve", body?: unknown): Promise<void> {
  try {
    await change("POST", path("servers", s.schema, s.name, action), body);
    toast(t(`did_${action}`, s.name));
  } catch (e) { toast(errorText(e), undefined, "err"); }
}

/** approve approves what the page shows. If that has changed in the meantime, it is not approved; the page shows the new state. */
export async function approve(d: ServerDetail, reload: () => void): Promise<void> {
  await act(d, "approve", { hash: d.approval?.hash ?? "" });
  reload();
}

/** signIn opens the page where a person signs in; the state of the server shows when it is done. */
export async function signIn(s: { schema: string; name: string }): Promise<void> {
  // Opened at once: browsers block a tab that opens later than the click.
  const tab = window.open("about:blank", "_blank");
  try {
    const { address } = await change<{ address: string }>("POST", path("servers", s.schema, s.name, "signin"));
    if (tab) { tab.opener = null; tab.location.href = address; } else location.href = address;
    toast(t("signInOpened", s.name));
  } catch (e) { tab?.close(); toast(errorText(e), undefined, "err"); }
}

/** remove removes a server, with undo. */
export async function remove(s: { schema: string; name: string }): Promise<void> {
  try {
    const { undo } = await change<{ undo: string }>("DELETE", path("servers", s.schema, s.name));
    if (segments.peek()[0] === "servers") go("/ui/servers");
    toast(t("removed", s.name), { label: "undo", run: () => void change("POST", path("undo", undo)).catch((e) => toast(errorText(e), undefined, "err")) });
  } catch (e) { toast(errorText(e), undefined, "err"); }
}

async function exportAll(list: Server[]): Promise<void> {
  const out: Record<string, unknown> = {};
  for (const s of list) out[s.name] = (await get<ServerDetail>(path("servers", s.schema, s.name))).entry;
  download("mcp-servers.json", JSON.stringify({ mcpServers: out }, null, 2) + "\n");
}

const kinds = { all: () => true, failing: (s: Server) => s.state === "down" || s.state === "auth", review: (s: Server) => s.state === "pending" || !!s.pending?.length, up: (s: Server) => s.state === "up" || s.state === "starting", off: (s: Server) => s.state === "idle" || s.state === "disabled" };
const kindTones: Record<keyof typeof kinds, Tone | undefined> = { all: undefined, failing: "err", review: "warn", up: "ok", off: "idle" };

function ServerList() {
  const filter = query.value.get("q") ?? "", kind = (query.value.get("state") ?? "all") as keyof typeof kinds;
  const [busy, setBusy] = useState(false);
  useEffect(() => { commandLine.value = command("list", "servers"); }, []);
  const { value: past } = useLoad(() => get<Past>("history?minutes=60"), [Math.floor(now.value / 30_000)]);
  const { value: data } = useLoad(() => get<Overview>("overview"), [Math.floor(now.value / 10_000)]);
  const { value: page } = useLoad(() => get<CatalogPage>("catalog"), [servers.value.length]);
  const stats = new Map((data?.stats ?? []).filter((s) => !s.name).map((s) => [s.server, s])), cost = new Map(page ? costByServer(page) : []);
  const uptime = new Map((past?.uptime ?? []).map((u) => [u.schema + "/" + u.name, u]));
  const busiest = (s: Server) => (stats.get(s.name)?.perMinute ?? []).reduce((a, b) => a + b, 0);
  const matching = servers.value.filter((s) => (s.name + " " + s.state + " " + s.transport + " " + s.schema + " " + (s.title ?? "")).toLowerCase().includes(filter.toLowerCase()));
  const list = matching.filter(kinds[kind] ?? kinds.all).sort((a, b) => Number(needy(b)) - Number(needy(a)) || busiest(b) - busiest(a));
  const bad = list.filter(needy), well = list.filter((s) => !needy(s) && !isOff(s)), off = list.filter((s) => !needy(s) && isOff(s));
  const save = async () => {
    setBusy(true);
    try { await exportAll(servers.value); } catch (e) { toast(errorText(e), undefined, "err"); }
    setBusy(false);
  };
  const row = (s: Server) => <ServerRow key={s.schema + "/" + s.name} s={s} stat={stats.get(s.name)} uptime={uptime.get(s.schema + "/" + s.name)} tokens={cost.get(s.name)} />;
  return <div class="page">
    <Head title={t("servers")} what={loaded.value && upOf(servers.value)}>
      <ReplicaFilter />
      <button type="button" class="button" onClick={save} disabled={busy}><Icon name="download" />{t("export")}</button>
      {may("admin") && <a class="button" href="/ui/servers/import"><Icon name="upload" />{t("import")}</a>}
      {may("admin") && <a class="button primary" href="/ui/servers/new"><Icon name="plus" />{t("addServer")}</a>}
    </Head>
    {!chosenReplica() && <div class="search-line"><label class="with-icon"><Icon name="search" /><input type="search" data-filter value={filter} placeholder={t("filterServers")} aria-label={t("filter")} onInput={(e) => setQuery({ q: e.currentTarget.value })} /><kbd aria-hidden="true">/</kbd></label>
      {(Object.keys(kinds) as (keyof typeof kinds)[]).map((k) => <button type="button" key={k} class="filter-chip" aria-pressed={kind === k} onClick={() => setQuery({ state: k === "all" ? undefined : k })}>{kindTones[k] ? <Status tone={kindTones[k]!}>{t(`servers_${k}`)}</Status> : t(`servers_${k}`)}<span class="n">{matching.filter(kinds[k]).length}</span></button>)}</div>}
    {chosenReplica() ? <ReplicaServers /> : <div class="scroll">{!loaded.value ? <Skeleton cards={["c12"]} rows={8} /> : list.length ? <section class="card flush wide" aria-label={t("servers")}><table class="fixed sv2">
      <colgroup><col class="w-name" /><col /><col class="w-avail" /><col class="w-calls" /><col class="w70" /><col class="w60" /><col class="w60" /><col class="w70" /><col class="w-acts" /></colgroup>
      <thead><tr><th>{t("server")}</th><th>{t("state")}</th><th>{t("availability")}</th><th class="r">{t("callsHour")}</th><th class="r">{t("p95Hour")}</th><th class="r">{t("failedShare")}</th><th class="r">{t("tools")}</th><th class="r">{t("tokens")}</th><th><span class="hidden">{t("actions")}</span></th></tr></thead>
      <tbody>{bad.map(row)}{bad.length > 0 && well.length > 0 && <tr class="group-row"><td colSpan={9}>{t("healthyFirst")}</td></tr>}{well.map(row)}{off.length > 0 && off.length < list.length && <tr class="group-row"><td colSpan={9}>{t("state_disabled")}</td></tr>}{off.map(row)}</tbody></table></section>
      : <Empty><b>{t(servers.value.length ? "nothingMatches" : "noServers")}</b><span>{t(servers.value.length ? "tryOther" : "stepServerText")}</span>{!servers.value.length && may("admin") && <a class="button" href="/ui/servers/new">{t("addServer")}</a>}</Empty>}</div>}
  </div>;
}

function ServerRow({ s, stat, uptime, tokens }: { s: Server; stat?: Stat; uptime?: Uptime; tokens?: number }) {
  const open = href(["servers", s.schema, s.name]), sum = (list?: number[]) => (list ?? []).reduce((a, b) => a + b, 0);
  const calls = sum(stat?.perMinute), errors = sum(stat?.errorsPerMinute), bad = needy(s);
  const first = bad && s.state === "up" ? t("changedTools", s.pending!.length) : stateName(s) + (s.state === "up" && s.since ? " " + age(s.since, now.value) : "");
  const second = bad ? s.state === "up" ? s.pending!.join(", ") : said(s.reason, s.reasonZH) : [s.transport, s.protocol].filter(Boolean).join(" · ");
  return <tr data-testid={"server-" + s.name} class="open-row" onClick={() => go(open)}>
    <td><div class="row"><Status tone={bad && s.state === "up" ? "warn" : toneOf(s)} state={s.state} /><span class="lines cut"><a class="name" href={open} title={s.name} onClick={(e) => e.stopPropagation()}>{s.name}</a><small>{[s.schema !== "default" ? s.schema : "", s.title, s.version].filter(Boolean).join(" ") || s.transport}</small></span></div></td>
    <td class="lines" title={reasonOf(s)}><span class={bad ? toneOf(s) === "ok" ? "warn" : toneOf(s) : s.state === "up" ? "" : "mut"}>{first}</span><small>{second}</small></td>
    <td><div class="row">{uptime && <Strip strip={uptime.strip} label={`${s.name} ${t("availability")}`} />}<span class="mut num share">{uptime?.share === undefined ? "–" : percent(uptime.share, 1)}</span></div></td>
    <td><div class="row">{calls > 0 && <Sparkline values={stat!.perMinute!} label={`${s.name} ${t("callsHour")}`} />}<span class="num end">{calls ? count(calls) : "–"}</span></div></td>
    <td class="r">{calls ? ns(stat!.p95) : "–"}</td><td class={"r " + (errors > 0.01 * calls ? "err" : "mut")}>{calls ? percent(errors, calls) : "–"}</td><td class="r">{count(s.tools)}</td><td class="r mut">{tokens ? short(tokens) : "–"}</td>
    <td class="actions vis" onClick={(e) => e.stopPropagation()}>{fixOf(s)}<ServerMenu s={s} /></td>
  </tr>;
}

/** fixOf returns the button that fixes the problem, if there is one. */
export function fixOf(s: Server) {
  if (!may("admin")) return null;
  if (s.state === "auth") return <button type="button" class="button small" onClick={() => void signIn(s)}>{t("signIn")}</button>;
  if (s.state === "pending" || s.pending?.length) return <a class="button small" href={href(["servers", s.schema, s.name], { tab: s.state === "pending" ? undefined : "history" })}>{t("review")}</a>;
  return s.state === "down" ? <a class="button small" href={href(["servers", s.schema, s.name], { tab: "logs" })}>{t("log")}</a> : null;
}

/** copyConfig copies the entry in the format of a client's file, with secrets hidden. */
async function copyConfig(s: Server): Promise<void> {
  try {
    const d = await get<ServerDetail>(path("servers", s.schema, s.name));
    await copyText(JSON.stringify({ mcpServers: { [s.name]: d.entry } }, null, 2));
    toast(t("copied", s.name));
  } catch (e) { toast(errorText(e), undefined, "err"); }
}

export function ServerMenu({ s }: { s: Server }) {
  const off = s.state === "disabled";
  return <Menu icon="more" label={`${t("actions")} ${s.name}`} testid={"menu-" + s.name}>
    <a href={href(["bench", s.name])}><Icon name="bench" />{t("openInBench")}</a>
    <a href={href(["traffic"], { q: "server:" + s.name })}><Icon name="traffic" />{t("showCallsOf")}</a>
    <a href={href(["servers", s.schema, s.name], { tab: "logs" })}><Icon name="log" />{t("showLog")}</a>
    <a href={href(["doctor", s.schema, s.name])}><Icon name="doctor" />{t("doctor")}</a>
    {may("admin") && <><hr />
      <button type="button" onClick={() => void act(s, "restart")} disabled={off}><Icon name="refresh" />{t("restart")}</button>
      <button type="button" onClick={() => void act(s, off ? "enable" : "disable")}><Icon name="power" />{t(off ? "enable" : "disable")}</button>
      <button type="button" onClick={() => void copyConfig(s)}><Icon name="copy" />{t("copySnippet")}</button><hr />
      <button type="button" class="danger" onClick={() => void remove(s)}><Icon name="trash" />{t("remove")}</button></>}
  </Menu>;
}
