// The summary of a server: its capabilities, its speed, its tools, changes and last lines.
import { useEffect, useState } from "preact/hooks";
import { at, change, get, path, type CatalogPage, type CatalogRow, type Line, type Overview, type Past, type Pulse, type ServerDetail, type Stat, type Usage } from "../api.ts";
import { clock, count, date, ns, percent, short } from "../format.ts";
import { lang, t, type Key } from "../i18n/index.ts";
import { JsonView } from "../json/view.tsx";
import { Empty, Status, errorText, now, toast, useLoad } from "../parts/basics.tsx";
import { Bar, Fig, Latency, Strip, Took } from "../parts/chart.tsx";
import { Icon } from "../parts/icons.tsx";
import { Switch } from "../parts/switch.tsx";
import { go, href, setQuery } from "../router.ts";
import { may } from "../state.ts";
import { Effect } from "../bench/list.tsx";
import { Launch } from "./server_launch.tsx";
import { costByServer, usualDays } from "./overview_cost.tsx";
import { Change } from "./server_history.tsx";

const effects: Record<string, object> = { r: { readOnlyHint: true }, d: { destructiveHint: true }, w: {} };

export function StatusTab({ d }: { d: ServerDetail }) {
  const { value: data } = useLoad(() => get<Overview>(at("overview", d.replica)), [d.name, Math.floor(now.value / 10_000)]);
  const { value: past } = useLoad(() => get<Past>(at(`history?minutes=1440&server=${encodeURIComponent(d.name)}`, d.replica)), [d.name, Math.floor(now.value / 30_000)]);
  const whole = (data?.stats ?? []).find((s) => s.server === d.name && !s.name), listed = useListed(d);
  return <div class="scroll server-body"><div class="wide">
    {d.handshake && <Capabilities d={d} />}
    <div class="cols">
      {d.state === "pending" && d.entry && <div class="c12"><Launch entry={d.entry} whole={d.approval?.entry} /></div>}
      <div class="c8 main-col"><LatencyCard d={d} past={past} whole={whole} /><ToolTable d={d} listed={listed} limit={9} /></div>
      <div class="c4 side-col"><Connection d={d} page={listed.value} />
        {(d.changes?.length ?? 0) > 0 && <section class="card flush" aria-labelledby="h-changed"><header><h2 id="h-changed">{t("changesTab")}</h2><span class="tag warn">{t("toReview", d.changes!.length)}</span></header><div class="body change-box"><Change c={d.changes![0]!} /></div><footer><button type="button" class="link" onClick={() => setQuery({ tab: "history" })}>{t("review")}</button></footer></section>}
        <LogCard d={d} />
      </div>
    </div></div></div>;
}

/** known are the possible capabilities; missing ones are shown as missing. */
const known = ["tools", "resources", "prompts", "logging", "completions", "tasks"];
const capNames: Record<string, Key> = { tools: "cap_tools", resources: "cap_resources", prompts: "cap_prompts", logging: "cap_logging", completions: "cap_completions", tasks: "cap_tasks", listChanged: "cap_listChanged", subscribe: "cap_subscribe" };

function Capabilities({ d }: { d: ServerDetail }) {
  const caps = (d.handshake?.capabilities ?? {}) as Record<string, any>;
  const counts: Record<string, number> = { tools: d.tools, resources: d.resources, prompts: d.prompts };
  const all = [...known, ...Object.keys(caps).filter((k) => !known.includes(k))];
  const follows = ["tools", "resources", "prompts"].some((k) => caps[k]?.listChanged);
  const chip = (name: string, has: boolean, n?: number) => <li key={name} class={has ? "cap" : "cap no"}><Icon name={has ? "check" : "close"} />{capNames[name] ? t(capNames[name]!) : name}{has && n !== undefined && <b>{count(n)}</b>}<span class="hidden">{t(has ? "yes" : "no")}</span></li>;
  return <ul class="plain caps" aria-label={t("capabilities")} data-testid="capabilities">{all.map((k) => chip(k, k in caps, counts[k]))}{chip("listChanged", follows)}{chip("subscribe", !!caps.resources?.subscribe)}</ul>;
}

function LatencyCard({ d, past, whole }: { d: ServerDetail; past?: Past; whole?: Stat }) {
  const up = past?.uptime.find((u) => u.schema === d.schema && u.name === d.name), hour = (l?: number[]) => (l ?? []).reduce((a, b) => a + b, 0);
  const calls = hour(whole?.perMinute), errors = hour(whole?.errorsPerMinute);
  return <section class="card flush" aria-labelledby="h-latency"><header><h2 id="h-latency">{t("latency")}</h2><span class="mut">{t("age_h", 24)}</span><span class="end legend"><span><i class="key line k-p95" />p95</span><span><i class="key line k-p50" />p50</span><span><i class="key k-err" />{t("call_error")}</span></span></header>
    <div class="body"><dl class="figs calls-figs"><Fig name="p95">{whole?.calls ? <Took ns={whole.p95} /> : "–"}</Fig><Fig name="p50">{whole?.calls ? <Took ns={whole.p50} /> : "–"}</Fig><Fig name={t("calls")} note={t("age_h", 1)}>{count(calls)}</Fig><Fig name={t("failedShare")}>{calls ? percent(errors, calls) : "–"}</Fig><Fig name={t("availabilityShort")} note={t("age_h", 24)}>{up?.share === undefined ? "–" : percent(up.share, 1)}</Fig></dl>
      {past && <Latency start={Date.parse(past.start)} step={past.step / 1e6} steps={past.steps} height={150} label={`${d.name} ${t("latency")}`} />}
      {up && <div class="latency-strip"><Strip strip={up.strip} label={`${d.name} ${t("availability")}`} /></div>}</div>
  </section>;
}

const host = (url: string) => (URL.canParse(url) ? new URL(url).host : url);

/** useListed reads the catalog of the server's schema. */
const useListed = (d: ServerDetail) => useLoad(() => get<CatalogPage>(at("catalog?schema=" + encodeURIComponent(d.schema), d.replica)), [d.schema, d.name, d.tools]);

function Connection({ d, page }: { d: ServerDetail; page?: CatalogPage }) {
  const { value: usage } = useLoad(() => get<Usage>(at(`usage?by=client&days=${usualDays}&server=${encodeURIComponent(d.name)}`, d.replica)), [d.name]);
  const { value: pulse, error: silent, reload: ping } = useLoad(() => (d.state === "up" && may("admin") && !d.replica ? change<Pulse>("POST", path("servers", d.schema, d.name, "ping")) : Promise.resolve(undefined)), [d.schema, d.name, d.state, d.since]);
  const cert = pulse?.certificate, left = cert ? (Date.parse(cert.until) - now.value) / 86_400_000 : 0, accounts = (d.accounts ?? []).filter((a) => !a.revoked);
  const users = (usage?.rows ?? []).map((r) => r.client || t("unnamed"));
  const costs = page ? costByServer(page) : [], own = costs.find(([name]) => name === d.name)?.[1], sum = costs.reduce((n, [, v]) => n + v, 0);
  const e = (d.entry ?? {}) as Record<string, any>;
  const rows: [string, preact.ComponentChildren][] = [
    e.scripts ? [t("scripts"), <code>{Object.keys(e.scripts).join(", ")}</code>] : e.url ? ["URL", <code>{e.url}</code>] : [t("command"), <code>{[e.command, ...(e.args ?? [])].filter(Boolean).join(" ") || "–"}</code>],
    [t("transport"), [d.transport, d.protocol].filter(Boolean).join(" · ")], ...(d.pid ? [["PID", String(d.pid)] as [string, string]] : []),
    ...(cert ? [[t("certificate"), <span class="lines"><span class={left < 14 ? "warn" : ""}>{t("validUntil", date(cert.until))}</span><small title={cert.subject + ", " + cert.issuer}>{t("issuedBy", cert.subject, cert.issuer)}</small></span>] as [string, preact.ComponentChildren]] : []),
    ...(accounts.length ? [[t("signedInAs"), <>{accounts.map((a) => <span class="lines" key={a.issuer + a.user}>{[a.user, t("atIssuer", host(a.issuer))].filter(Boolean).join(" ")}<small>{[...(a.scopes ?? []), ...(a.expires && !a.renews ? [t("validUntil", date(a.expires))] : [])].join(", ")}</small></span>)}</>] as [string, preact.ComponentChildren]] : []),
    ...(users.length ? [[t("usedBy"), <a class="plain-link" title={users.join(", ")} href={href(["usage"], { by: "client", server: d.name })}>{users.join(", ")}</a>] as [string, preact.ComponentChildren]] : []),
    ...(own ? [[t("contextCost"), <>{t("tokensN", short(own))} <span class="mut">{t("ofTotal", percent(own, sum))}</span></>] as [string, preact.ComponentChildren]] : []),
    [t("restarts"), String(d.restarts)], [t("features"), [t("anyNumber", d.tools), t("resourcesCount", d.resources), t("promptsCount", d.prompts)].join(lang.value === "zh-CN" ? "、" : ", ")],
    ...(Object.keys(e.env ?? e.headers ?? {}).length ? [[t(e.env ? "environment" : "headers"), <code>{Object.keys(e.env ?? e.headers).join(", ")}</code>] as [string, preact.ComponentChildren]] : []),
    ...(d.source ? [[t("configFile"), <code>{d.source}</code>] as [string, preact.ComponentChildren]] : []),
  ];
  return <section class="card flush" aria-labelledby="h-connection"><header><h2 id="h-connection">{t("via")}</h2>{(pulse || silent) && <span class="end"><button type="button" class="plain-button" title={silent ?? t("pingAgain")} onClick={ping} data-testid="ping"><Status tone={silent ? "err" : "ok"}>ping {silent ? t("noAnswerShort") : ns(pulse!.took)}</Status></button></span>}</header><dl class="body kv">{rows.map(([k, v]) => [<dt key={k}>{k}</dt>, <dd key={k + "v"} title={typeof v === "string" ? v : undefined}>{v}</dd>])}</dl>
    {d.handshake && <footer><details><summary>{t("handshake")}</summary><div class="json-box"><JsonView fit text={JSON.stringify(d.handshake)} label={t("handshake")} /></div></details></footer>}</section>;
}

function LogCard({ d }: { d: ServerDetail }) {
  const { value } = useLoad(() => (may("admin") ? get<Line[]>(at(path("logs", d.name), d.replica)) : Promise.resolve([])), [d.name, Math.floor(now.value / 10_000)]);
  const lines = (value ?? []).slice(-8);
  return <section class="card flush" aria-labelledby="h-log"><header><h2 id="h-log">{t("log")}</h2><span class="end"><button type="button" class="link" onClick={() => setQuery({ tab: "logs" })}>{t("showLog")}</button></span></header>
    {lines.length ? <ol class="plain log">{lines.map((l) => <li key={l.id}><time>{clock(l.time).slice(0, 8)}</time><span class={"level " + (l.level ?? "")}>{l.level ?? l.source}</span><span class="cut" title={l.text}>{l.text}</span></li>)}</ol>
      : d.stderr?.length ? <pre class="log pad" tabIndex={0}>{d.stderr.slice(-8).join("\n")}</pre> : <p class="body mut">{t("quietServer")}</p>}
  </section>;
}

export const ToolsTab = ({ d }: { d: ServerDetail }) => <div class="scroll server-body"><ToolTable d={d} listed={useListed(d)} /></div>;

/** ToolTable shows the tools of a server, most used first, with a switch each. */
function ToolTable({ d, limit, listed: { value: page, reload } }: { d: ServerDetail; limit?: number; listed: ReturnType<typeof useListed> }) {
  const { value: data } = useLoad(() => get<Overview>(at("overview", d.replica)), [d.name]);
  const stats = new Map((data?.stats ?? []).filter((s) => s.server === d.name && s.name).map((s) => [s.name!, s]));
  const calls = (r: CatalogRow) => stats.get(r.own)?.calls ?? 0;
  const rows = (page?.rows ?? []).filter((r) => r.server === d.name && r.kind === "tool").sort((a, b) => calls(b) - calls(a));
  const most = Math.max(1, ...rows.map(calls)), shown = rows.slice(0, limit);
  return <section class="card flush" aria-labelledby="h-tools"><header><h2 id="h-tools">{t("tools")}</h2><span class="count">{rows.length}</span><span class="end">{t("mostUsed")}</span></header>
    {page && !rows.length ? <Empty>{t("catalogEmpty")}</Empty> : <table class="fixed tool-table"><colgroup><col class="w-tool" /><col /><col class="w60" /><col class="w120" /><col class="w70" /><col class="w60" /><col class="w60" /></colgroup>
      <thead><tr><th>{t("tool")}</th><th>{t("description")}</th><th class="r">{t("tokens")}</th><th class="r">{t("calls")}</th><th class="r">p95</th><th class="r">{t("failedShare")}</th><th class="r">{t("on")}</th></tr></thead>
      <tbody>{shown.map((r) => <ToolRow key={r.own} d={d} r={r} s={stats.get(r.own)} most={most} onChanged={reload} />)}</tbody></table>}
    {limit && rows.length > limit && <footer><button type="button" class="link" onClick={() => setQuery({ tab: "tools" })}>{t("allTools", rows.length)}</button></footer>}
  </section>;
}

function ToolRow({ d, r, s, most, onChanged }: { d: ServerDetail; r: CatalogRow; s?: Stat; most: number; onChanged: () => void }) {
  const open = d.replica ? href(["traffic"], { replica: d.replica, q: `tool:${d.name}.${r.own}` }) : href(["bench", d.name, "tools", r.own]);
  return <tr class={"open-row" + (r.on ? "" : " off")} onClick={() => go(open)}>
    <td title={r.own}><Effect tool={{ annotations: effects[r.effect ?? "w"] }} /> <a class="plain-link" href={open}><code>{r.own}</code></a></td><td class="mut" title={r.description}>{r.ask && <><span class="tag acc">{t("asksFirst")}</span> </>}{r.description}</td>
    <td class="r mut">{short(r.cost.tokens)}</td><td><span class="row calls-cell"><Bar part={(s?.calls ?? 0) / most} /><span class="num">{count(s?.calls ?? 0)}</span></span></td>
    <td class="r">{s?.calls ? ns(s.p95) : "–"}</td><td class={"r " + (s?.errors ? "err" : "mut")}>{s?.calls ? percent(s.errors, s.calls) : "–"}</td>
    <td class="r" onClick={(e) => e.stopPropagation()}><ToolSwitch schema={d.schema} r={r} fixed={!!d.replica} onChanged={onChanged} /></td></tr>;
}

/** ToolSwitch sets whether clients see a tool; it acts at once and can be undone. */
export function ToolSwitch({ schema, r, fixed, onChanged }: { schema: string; r: CatalogRow; fixed?: boolean; onChanged: () => void }) {
  // The requested state is shown until the gateway reports the new one.
  const [asked, setAsked] = useState<boolean>();
  useEffect(() => setAsked(undefined), [r]);
  const url = path("catalog", schema, r.server, r.kind, r.own);
  const flip = async (on: boolean) => {
    setAsked(on);
    try {
      await change("PUT", url, { on });
      toast(t(on ? "switchedOn" : "switchedOff", r.own), { label: "undo", run: () => void change("PUT", url, { on: !on }).then(onChanged, (e) => toast(errorText(e), undefined, "err")) });
      onChanged();
    } catch (e) { setAsked(undefined); toast(errorText(e), undefined, "err"); }
  };
  return <Switch on={asked ?? r.on} label={`${r.server} ${r.own}`} disabled={asked !== undefined || fixed || !may("admin")} onChange={(on) => void flip(on)} />;
}

